//! ClusterRole aggregation (`pkg/controller/clusterroleaggregation`): a ClusterRole with an aggregation rule has the rules
//! of all that its selectors choose. `admin`, `edit` and `view` grow so.

use std::rc::Rc;

use api::SortSmall;
use api::json::Value;
use api::rbac_v1::{ClusterRole, PolicyRule};
use api::rest::{Body, PatchType, Query, Verb, WriteOptions};
use api::selector::LabelSelector;
use api::{Resource, Rev};
use client::{Client, Key, Lister, Work, WorkQueue, klog};

use crate::context::ControllerContext;
use crate::controller_utils::{SyncError, equal};
use crate::worker::{Reconcile, Worker};

const MANAGER: &str = "clusterrole-aggregation-controller";

struct Aggregation {
    client: Client,
    ctx: sim::Ctx,
    roles: Lister<ClusterRole>,
    queue: WorkQueue<Key>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting ClusterRoleAggregator controller")
        .str("logger", MANAGER)
        .log(&cc.ctx, "clusterroleaggregation_controller.go:191");
    let roles = cc.informer::<ClusterRole>();
    let aggregation = Rc::new(Aggregation {
        client: cc.client(MANAGER),
        ctx: cc.ctx.clone(),
        roles: roles.lister(),
        queue: WorkQueue::new(&cc.ctx, "ClusterRoleAggregator"),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&aggregation.queue);
    roles.synced().await;
    let this = aggregation.clone();
    // Whichever role changes, any of those that aggregate may be about it.
    roles.on(move |delta| {
        for role in this.roles.list().iter().filter(|role| role.aggregation_rule.is_some()) {
            this.queue.add_caused(Key::of(&role.metadata), delta.revision());
        }
    });
    Worker::spawn(&cc.ctx, 5, aggregation.queue.clone(), aggregation);
}

/// The rules of the roles that the selectors choose, each once: selector by selector, role by role in order of name.
fn aggregated(role: &ClusterRole, all: &[Rev<ClusterRole>]) -> Result<Vec<PolicyRule>, String> {
    let mut rules: Vec<PolicyRule> = Vec::new();
    let selectors = role.aggregation_rule.get().map(|r| r.cluster_role_selectors.to_vec()).unwrap_or_default();
    for selector in selectors {
        let selector = LabelSelector::from_api(Some(&selector))?;
        let mut chosen: Vec<&Rev<ClusterRole>> = all.iter().filter(|r| selector.matches(&r.metadata.labels)).collect();
        chosen.sort_small_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        for other in chosen.into_iter().filter(|r| r.metadata.name != role.metadata.name) {
            for rule in other.rules.iter() {
                if !rules.iter().any(|known| equal(known, rule)) {
                    rules.push(rule.clone());
                }
            }
        }
    }
    Ok(rules)
}

impl Reconcile<Key> for Aggregation {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let Some(role) = self.roles.by_key(&work.key).filter(|r| r.aggregation_rule.is_some()) else { return Ok(()) };
        let rules = aggregated(&role, &self.roles.list())?;
        if rules.len() == role.rules.len() && rules.iter().zip(role.rules.iter()).all(|(a, b)| equal(a, b)) {
            return Ok(());
        }
        let name = &work.key.name;
        let mut metadata = Value::object();
        metadata.set("name", Value::Str(name.clone()));
        let mut body = Value::object();
        body.set("apiVersion", Value::Str(ClusterRole::KIND.api_version.into()));
        body.set("kind", Value::Str(ClusterRole::KIND.kind.into()));
        body.set("metadata", metadata);
        let rules = rules.iter().map(|rule| {
            let json = String::from_utf8_lossy(&api::json::encode_bare(rule)).into_owned();
            Value::parse(&json).unwrap_or_else(|_| Value::object())
        });
        body.set("rules", Value::Array(rules.collect()));
        let client = self.client.caused_by(&work.causes);
        let mut request = client.prepare(Verb::Patch(PatchType::Apply), ClusterRole::KIND, "", name, "");
        let options = WriteOptions { field_manager: MANAGER.into(), force: true, ..Default::default() };
        request.query = Query::Write(options);
        request.body = Body::Bytes(body.to_json().as_bytes().into());
        self.observed.action(&work.key, "write the aggregated rules".to_string());
        client.request(request).await?;
        Ok(())
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        match result {
            Ok(()) => self.queue.forget(&work.key),
            Err(err) => {
                klog::unhandled(format!("{} failed with : {err}", work.key.name))
                    .log(&self.ctx, "clusterroleaggregation_controller.go:225");
                self.queue.retry(work);
            }
        }
    }
}
