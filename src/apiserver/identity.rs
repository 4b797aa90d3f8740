//! The server's identity: a Lease in kube-system that says it is alive
//! (apiserver's reconciler of `apiserver.kubernetes.io/identity`).

use std::rc::Rc;

use api::coordination_v1::{Lease, LeaseSpec};
use api::rest::{Body, Verb};
use api::{AnyRev, MicroTime, Object, Resource, Str};
use sim::Duration;

use crate::Inner;
use crate::bootstrap::own_call;

const NAMESPACE: &str = "kube-system";
/// How long the lease holds, in seconds.
const LEASE_SECONDS: i32 = 3600;
/// How often it is renewed.
const RENEW: Duration = Duration::from_secs(10);

fn name(server: &Inner) -> Str {
    // The real name is a hash of the host name in base 32.
    let digest = crate::sha256::sha256(server.ctx.host_name().as_bytes());
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut text = String::from("apiserver-");
    let mut word: u32 = 0;
    let mut bits = 0;
    for byte in digest.iter().take(16) {
        word = word << 8 | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            let index = (word >> bits & 31) as usize;
            text.push(char::from(LETTERS.get(index).copied().unwrap_or(b'a')));
        }
    }
    text.push(char::from(LETTERS.get((word << (5 - bits) & 31) as usize).copied().unwrap_or(b'a')));
    Str::from(text)
}

fn now(server: &Inner) -> MicroTime {
    MicroTime::from_unix_nanos(server.ctx.unix_nanos())
}

/// Creates the lease and renews it for ever.
pub async fn keep(server: Rc<Inner>) {
    let name = name(&server);
    let holder = Str::from(format!("{name}_{}", server.uid()));
    loop {
        renew(&server, &name, &holder).await;
        server.ctx.sleep(RENEW).await;
    }
}

async fn renew(server: &Rc<Inner>, name: &Str, holder: &Str) {
    let Some(call) = own_call(server, Verb::Update, Lease::KIND, NAMESPACE, name, Body::Empty) else { return };
    let mut make = |old: &AnyRev| -> Result<Box<dyn Object>, api::Status> {
        let mut new = old.body.boxed();
        if let Some(lease) = new.downcast_mut::<Lease>() {
            let spec = lease.spec.make();
            spec.holder_identity = (&**holder).into();
            spec.renew_time = now(server);
        }
        Ok(new)
    };
    match call.update_with(&mut make, false).await {
        Err(status) if status.is_not_found() => {
            let mut lease = Lease::default();
            lease.metadata.name = name.clone();
            lease.metadata.namespace = NAMESPACE.into();
            lease.metadata.labels = [
                ("apiserver.kubernetes.io/identity", "kube-apiserver"),
                ("kubernetes.io/hostname", &*server.ctx.host_name()),
            ]
            .into_iter()
            .map(|(key, value)| (Str::from(key), Str::from(value)))
            .collect();
            lease.spec = LeaseSpec {
                holder_identity: (&**holder).into(),
                lease_duration_seconds: Some(LEASE_SECONDS),
                renew_time: now(server),
                ..Default::default()
            }
            .into();
            // It is tried again in ten seconds.
            let _ = call.create_object(Box::new(lease)).await;
        }
        _ => {}
    }
}

/// What a server that stops does last: it takes its address out of the Service `kubernetes`, if it has peers.
pub async fn stop(server: &Rc<Inner>) {
    server.ready.set(false);
}
