//! What the store and a member cost: `cargo bench -p tabernetes-etcd`. Each figure is in nanoseconds of wall time per
//! operation, and as a multiple of a plain `BTreeMap` insertion of the same keys in the same run.
#![allow(clippy::disallowed_types, reason = "a bench measures the wall clock")]

use etcd::store::{Hub, Poll};
use etcd::{Client, Compare, Member, MemberConfig, Op, PutRequest, RangeRequest, Span, Store, TxnRequest};
use sim::{Addr, Duration, Ip, Options, Sim};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::rc::Rc;
use std::time::Instant;

type V = Rc<str>;
const KEYS: usize = 10_000;

/// The best of several rounds, so that what else the machine does counts little.
fn time<S>(name: &str, unit: f64, count: usize, mut set_up: impl FnMut() -> S, mut work: impl FnMut(&mut S)) -> f64 {
    let mut best = u128::MAX;
    for _ in 0..7 {
        let mut state = set_up();
        let begun = Instant::now();
        work(&mut state);
        best = best.min(begun.elapsed().as_nanos());
    }
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a bench")]
    let each = best as f64 / count as f64;
    println!("{name:<58} {each:>9.0} ns  {:>7.1} x", if unit > 0.0 { each / unit } else { 1.0 });
    each
}

fn put(key: &Rc<str>, value: &V) -> etcd::rpc::Operation<V> {
    etcd::rpc::Operation::Put(PutRequest { key: key.clone(), value: value.clone(), lease: 0, prev_kv: false })
}

fn main() {
    let keys: Vec<Rc<str>> =
        (0..KEYS).map(|i| format!("/registry/pods/ns-{}/web-{:05}", i % 20, i * 7919 % KEYS).into()).collect();
    let value: V = "x".repeat(800).into();

    let unit = time("BTreeMap insertion", 0.0, KEYS, BTreeMap::new, |map| {
        for key in &keys {
            map.insert(key.clone(), value.clone());
        }
    });

    let empty = || Store::<V>::new(64 << 20, vec![1]);
    time("store: put of a new key", unit, KEYS, empty, |store| {
        for key in &keys {
            let _ = black_box(store.apply(&put(key, &value)));
        }
    });
    // History at its bound of 64 MiB.
    let mut full = empty();
    for _ in 0..8 {
        for key in &keys {
            let _ = full.apply(&put(key, &value));
        }
    }
    let full = RefCell::new(full);
    let store = || full.borrow_mut();
    time("store: put of an old key, history at its bound", unit, KEYS, store, |store| {
        for key in &keys {
            let _ = black_box(store.apply(&put(key, &value)));
        }
    });
    time("store: compare and put", unit, KEYS, store, |store| {
        for key in &keys {
            let at = store.get(key).map_or(0, |kv| kv.mod_revision);
            let put = PutRequest { key: key.clone(), value: value.clone(), lease: 0, prev_kv: false };
            let txn = TxnRequest {
                compare: vec![Compare::mod_revision(key.clone(), at)],
                success: vec![Op::Put(put)],
                failure: vec![Op::Range(RangeRequest::key(key.clone()))],
            };
            let _ = black_box(store.apply(&etcd::rpc::Operation::Txn(txn)));
        }
    });
    time("store: get", unit, KEYS, store, |store| {
        for key in &keys {
            let _ = black_box(store.range(&RangeRequest::key(key.clone())));
        }
    });
    time("store: range, per key of 10,000", unit, KEYS, store, |store| {
        let _ = black_box(store.range(&RangeRequest::prefix("/registry/pods/")));
    });
    time("store: range 5,000 revisions ago, per key of 10,000", unit, KEYS, store, |store| {
        let revision = store.revision() - 5_000;
        let _ = black_box(store.range(&RangeRequest { revision, ..RangeRequest::prefix("/registry/pods/") }));
    });
    let mut hub = Hub::new();
    for i in 0..60 {
        hub.open(&store(), format!("/registry/kind-{i}/").into(), Span::Prefix, 0);
    }
    let pods = hub.open(&store(), "/registry/pods/".into(), Span::Prefix, 0);
    time("store: put with 61 watches, one concerned", unit, KEYS, store, |store| {
        for key in &keys {
            let before = store.revision();
            let _ = store.apply(&put(key, &value));
            if let Ok(events) = store.events_from(before + 1) {
                events.for_each(|e| hub.notice(e));
            }
            assert!(matches!(hub.poll(store, pods, 1000), Poll::Events(..)));
        }
    });
    time("store: clone (a snapshot), per key of 10,000", unit, KEYS, store, |store| {
        black_box(store.clone());
    });

    member(unit, &keys, &value);
}

fn member(unit: f64, keys: &[Rc<str>], value: &V) {
    for (name, callers, watchers, members) in [
        ("member: write, one caller", 1, 0, 1u8),
        ("member: write, 50 callers", 50, 0, 1),
        ("member: write, 50 callers, 3 watches", 50, 3, 1),
        ("three members: write, 50 callers", 50, 0, 3),
    ] {
        let sim = Sim::new(Options::default());
        let ip = |n: u8| Ip::new(10, 0, 0, n);
        let infos: Vec<etcd::MemberInfo> = (1..=members)
            .map(|n| etcd::MemberInfo {
                id: u64::from(n),
                name: format!("cp-{n}").into(),
                peer: Addr { ip: ip(n), port: 2380 },
                client: Addr { ip: ip(n), port: 2379 },
            })
            .collect();
        let hosts: Vec<_> = (1..=members).map(|n| sim.add_host(&format!("cp-{n}"), ip(n))).collect();
        let slot: Rc<RefCell<Vec<Member<V>>>> = Rc::default();
        for (n, host) in hosts.iter().enumerate() {
            let (slot, infos) = (slot.clone(), infos.clone());
            sim.start(*host, &format!("etcd-{n}"), |ctx| async move {
                slot.borrow_mut().push(Member::start(&ctx, MemberConfig::new(n as u64 + 1, infos)));
                std::future::pending::<()>().await;
            });
        }
        sim.run_for(Duration::from_secs(5)).expect("no livelock");
        let (left, seen) = (Rc::new(Cell::new(KEYS)), Rc::new(Cell::new(0)));
        let (todo, value) = (Rc::new(RefCell::new(keys.to_vec())), value.clone());
        let (count, events) = (left.clone(), seen.clone());
        sim.start(hosts[0], "apiserver", |ctx| async move {
            let client = Client::<V>::new(&ctx, vec![Addr { ip: ip(1), port: 2379 }]);
            for _ in 0..watchers {
                let (mut watch, events) = (client.watch("/registry/", Span::Prefix, 0), events.clone());
                ctx.spawn("watch", async move {
                    while let Ok(batch) = watch.next().await {
                        events.set(events.get() + batch.events.len());
                    }
                });
            }
            for _ in 0..callers {
                let (client, todo, value, left) = (client.clone(), todo.clone(), value.clone(), count.clone());
                ctx.spawn("caller", async move {
                    loop {
                        let Some(key) = todo.borrow_mut().pop() else { return };
                        client.put(key, value.clone()).await.expect("no fault");
                        left.set(left.get() - 1);
                    }
                });
            }
            std::future::pending::<()>().await;
        });
        let (polls, virtual_time) = (sim.polls(), sim.now());
        let begun = Instant::now();
        sim.run_while(sim::Instant::FAR, || left.get() > 0).expect("no livelock");
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a bench")]
        let each = begun.elapsed().as_nanos() as f64 / KEYS as f64;
        println!("{name:<58} {each:>9.0} ns  {:>7.1} x", each / unit);
        sim.run_for(Duration::from_secs(1)).expect("no livelock");
        assert_eq!(seen.get(), watchers * KEYS);
        let polls = (sim.polls() - polls) / KEYS as u64;
        println!("    {polls} polls a write; {:?} of virtual time in all", sim.now().since(virtual_time));
        let (before, begun) = (sim.polls(), Instant::now());
        sim.run_for(Duration::from_secs(600)).expect("no livelock");
        println!(
            "    then idle: {} polls a second, {:.0} x real time",
            (sim.polls() - before) / 600,
            600.0 / begun.elapsed().as_secs_f64().max(1e-9)
        );
    }
}
