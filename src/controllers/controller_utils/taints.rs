//! Taints and labels that controllers put on nodes (`pkg/controller/controller_utils.go`, `pkg/util/taints`).

use std::time::Duration;

use api::core_v1::{Node, Taint};
use api::rest::PatchType;
use api::{Rev, Status, Time};
use client::{Client, klog};
use sim::Ctx;

/// Tries on conflict (`UpdateTaintBackoff`).
const TRIES: u32 = 5;
const BACKOFF: Duration = Duration::from_millis(100);

/// Whether a taint of this key and effect is there.
pub fn taint_exists(taints: &[Taint], key: &str, effect: &str) -> bool {
    taints.iter().any(|t| t.key == key && t.effect == effect)
}

fn json_of(taints: &[Taint]) -> String {
    if taints.is_empty() {
        return "null".into();
    }
    let items: Vec<String> =
        taints.iter().map(|t| String::from_utf8_lossy(&api::json::encode_bare(t)).into_owned()).collect();
    format!("[{}]", items.join(","))
}

/// Changes a node's taints, reading afresh after a conflict. `change` says whether there is anything to do.
async fn patch_taints(
    ctx: &Ctx,
    client: &Client,
    name: &str,
    change: impl Fn(&mut Vec<Taint>) -> bool,
) -> Result<(), Status> {
    let mut rng = None;
    for attempt in 0..TRIES {
        let node: Rev<Node> = client.get("", name).await?;
        let mut taints: Vec<Taint> = node.spec.taints.to_vec();
        if !change(&mut taints) {
            return Ok(());
        }
        let body = format!(
            r#"{{"metadata":{{"resourceVersion":"{}"}},"spec":{{"taints":{}}}}}"#,
            node.revision,
            json_of(&taints)
        );
        match client.patch::<Node>("", name, PatchType::Strategic, body, "").await {
            Ok(_) => return Ok(()),
            Err(err) if err.is_conflict() && attempt + 1 < TRIES => {
                let rng = rng.get_or_insert_with(|| ctx.rng("taint back-off"));
                ctx.sleep(BACKOFF.mul_f64(1.0 + rng.f64())).await;
            }
            Err(err) => return Err(err),
        }
    }
    Ok(())
}

/// Adds taints, or brings them up to date where key and effect are there already (`AddOrUpdateTaintOnNode`).
async fn add_taints(ctx: &Ctx, client: &Client, name: &str, add: &[Taint]) -> Result<(), Status> {
    if add.is_empty() {
        return Ok(());
    }
    patch_taints(ctx, client, name, |taints| {
        let mut changed = false;
        for taint in add {
            match taints.iter_mut().find(|t| t.key == taint.key && t.effect == taint.effect) {
                Some(old) if old.value == taint.value && old.time_added == taint.time_added => {}
                Some(old) => {
                    *old = taint.clone();
                    changed = true;
                }
                None => {
                    taints.push(taint.clone());
                    changed = true;
                }
            }
        }
        changed
    })
    .await
}

/// Takes taints off; asks nobody when the node as known has none of them (`RemoveTaintOffNode`).
pub async fn remove_taints(ctx: &Ctx, client: &Client, node: &Node, remove: &[Taint]) -> Result<(), Status> {
    if !remove.iter().any(|t| taint_exists(&node.spec.taints, &t.key, &t.effect)) {
        return Ok(());
    }
    patch_taints(ctx, client, &node.metadata.name, |taints| {
        let before = taints.len();
        taints.retain(|t| !remove.iter().any(|r| r.key == t.key && r.effect == t.effect));
        taints.len() != before
    })
    .await
}

/// Adds some taints and removes others (`SwapNodeControllerTaint`); says whether all of it succeeded.
pub async fn swap_taints(ctx: &Ctx, client: &Client, node: &Node, mut add: Vec<Taint>, remove: &[Taint]) -> bool {
    let now = Time::from_unix(ctx.unix_nanos().div_euclid(1_000_000_000));
    add.iter_mut().for_each(|t| t.time_added = now);
    let name = &node.metadata.name;
    if let Err(err) = add_taints(ctx, client, name, &add).await {
        klog::unhandled(format!("unable to taint {} unresponsive Node \"{name}\": {err}", json_of(&add)))
            .log(ctx, "controller_utils.go:212");
        return false;
    }
    klog::info("Added taint to node")
        .raw("taint", json_of(&add))
        .obj("node", "", name)
        .log(ctx, "controller_utils.go:219");
    if let Err(err) = remove_taints(ctx, client, node, remove).await {
        klog::unhandled(format!(
            "unable to remove {} unneeded taint from unresponsive Node \"{name}\": {err}",
            json_of(remove)
        ))
        .log(ctx, "controller_utils.go:223");
        return false;
    }
    klog::info("Made sure that node has no taint")
        .obj("node", "", name)
        .raw("taint", json_of(remove))
        .log(ctx, "controller_utils.go:231");
    true
}

/// Sets labels on a node (`AddOrUpdateLabelsOnNode`).
pub async fn add_or_update_labels(client: &Client, name: &str, labels: &[(&str, &str)]) -> Result<(), Status> {
    let items: Vec<String> = labels.iter().map(|(k, v)| format!(r#""{k}":"{v}""#)).collect();
    let body = format!(r#"{{"metadata":{{"labels":{{{}}}}}}}"#, items.join(","));
    client.patch::<Node>("", name, PatchType::Strategic, body, "").await.map(drop)
}
