//! Programs on the reader's machine: one writes, others watch, all go on through every failure.

use crate::invariants::Witness;
use api::coordination_v1::Lease;
use api::core_v1::{ConfigMap, Pod};
use api::rest::{EventType, ListOptions, WatchBody};
use api::{Resource, Rev};
use client::Client;
use sim::{Ctx, Duration};
use std::cell::RefCell;
use std::rc::Rc;

/// What all programs tell.
pub type Shared = Rc<RefCell<Witness>>;

/// Creates a ConfigMap every now and then and tells of those that the server acknowledged.
pub async fn write(ctx: Ctx, client: Client, witness: Shared) {
    let mut rng = ctx.rng("pauses");
    let client = client.with_timeout(Duration::from_secs(5));
    for n in 0_u32.. {
        ctx.sleep(Duration::from_millis(u64::from(100 + rng.below(900)))).await;
        let mut object = ConfigMap::default();
        object.metadata.name = format!("written-{n}").into();
        object.data.insert("number", n.to_string().into());
        if let Ok(stored) = client.create("default", object).await {
            witness.borrow_mut().acknowledged(&stored);
        }
    }
}

/// Lists a kind (`seen` hears of no event then) and watches it from there; begins again where the stream ended, or anew where that is gone.
pub async fn watch<T: Resource>(
    ctx: Ctx,
    client: Client,
    witness: Shared,
    seen: fn(&mut Witness, Option<EventType>, &Rev<T>),
) {
    loop {
        let Ok(list) = client.list::<T>("", &ListOptions::default()).await else {
            ctx.sleep(Duration::from_millis(800)).await;
            continue;
        };
        let mut revision = list.revision;
        for item in &list.items {
            seen(&mut witness.borrow_mut(), None, item);
        }
        'resume: loop {
            let options = ListOptions { resource_version: revision.to_string().into(), ..ListOptions::default() };
            let Ok(mut stream) = client.watch::<T>("", options).await else {
                ctx.sleep(Duration::from_millis(800)).await;
                if client.list::<T>("", &ListOptions { limit: 1, ..ListOptions::default() }).await.is_ok() {
                    // The server is there and doesn't take the revision, or took too long: look again from the start.
                    break 'resume;
                }
                continue;
            };
            while let Some(event) = stream.next().await {
                let Ok(event) = event else { break };
                let WatchBody::Object(object) = event.body else { continue };
                let Some(object) = object.downcast::<T>() else { continue };
                if object.revision <= revision {
                    let text = format!(
                        "{} {}: revision {} after {revision}",
                        T::KIND.kind,
                        object.metadata().name,
                        object.revision
                    );
                    witness.borrow_mut().complain(text);
                }
                revision = object.revision;
                seen(&mut witness.borrow_mut(), Some(event.type_), &object);
            }
            ctx.sleep(Duration::from_millis(100)).await;
        }
    }
}

/// Watches pods.
pub async fn watch_pods(ctx: Ctx, client: Client, witness: Shared) {
    watch::<Pod>(ctx, client, witness, |witness, type_, pod| witness.pod(type_, pod)).await;
}

/// Watches leases.
pub async fn watch_leases(ctx: Ctx, client: Client, witness: Shared) {
    watch::<Lease>(ctx, client, witness, |witness, type_, lease| witness.lease(type_.is_some(), lease)).await;
}

/// Watches what [`write`] writes.
pub async fn watch_written(ctx: Ctx, client: Client, witness: Shared) {
    watch::<ConfigMap>(ctx, client, witness, |witness, _, object| witness.written(object)).await;
}
