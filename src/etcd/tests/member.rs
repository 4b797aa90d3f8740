//! One member and its client: writes, reads, watches, leases, restarts, power-offs, full disks, idleness.

use etcd::{Client, Compare, Error, Member, MemberConfig, Op, PutRequest, RangeRequest, Span, TxnRequest, WatchBatch};
use sim::{Addr, Ctx, Duration, HostId, Instant, Ip, Options, ProcessId, Sim};
use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

type V = Rc<str>;
const IP: Ip = Ip::new(10, 0, 0, 1);
const CLIENT: Addr = Addr { ip: IP, port: 2379 };

struct World {
    sim: Sim,
    host: HostId,
    member: Rc<RefCell<Option<Member<V>>>>,
    process: ProcessId,
    config: MemberConfig,
    clients: u32,
}

impl World {
    fn new(seed: u64) -> Self {
        Self::with(seed, MemberConfig::single("cp-1", IP))
    }
    fn with(seed: u64, config: MemberConfig) -> Self {
        let sim = Sim::new(Options { seed, ..Options::default() });
        let host = sim.add_host("cp-1", IP);
        sim.add_host("client", Ip::new(10, 0, 0, 9));
        let member = Rc::default();
        let process = start(&sim, host, &config, &member);
        Self { sim, host, member, process, config, clients: 0 }
    }
    fn member(&self) -> Member<V> {
        self.member.borrow().clone().unwrap()
    }
    fn restart(&mut self) {
        self.process = start(&self.sim, self.host, &self.config, &self.member);
    }
    /// Runs a program of the client's machine to its end.
    fn run<T: 'static, F: Future<Output = T> + 'static>(&mut self, f: impl FnOnce(Ctx, Client<V>) -> F) -> T {
        self.clients += 1;
        let out = Rc::new(RefCell::new(None));
        let result = out.clone();
        let host = self.sim.host("client").unwrap();
        self.sim.start(host, &format!("client-{}", self.clients), |ctx| {
            let work = f(ctx.clone(), Client::new(&ctx, vec![CLIENT]));
            async move {
                let done = work.await;
                *result.borrow_mut() = Some(done);
            }
        });
        let limit = self.sim.now() + Duration::from_secs(600);
        assert!(self.sim.run_while(limit, || out.borrow().is_none()).unwrap(), "no answer in 600 s");
        out.borrow_mut().take().unwrap()
    }
    fn seconds(&self, n: u64) {
        self.sim.run_for(Duration::from_secs(n)).unwrap();
    }
    fn logs(&self) -> Vec<String> {
        self.sim.trace(|t| t.logs.since(0).map(|l| l.text.to_string()).collect())
    }
}

fn start(sim: &Sim, host: HostId, config: &MemberConfig, slot: &Rc<RefCell<Option<Member<V>>>>) -> ProcessId {
    let (config, slot) = (config.clone(), slot.clone());
    sim.start(host, "etcd", |ctx| async move {
        *slot.borrow_mut() = Some(Member::start(&ctx, config));
        std::future::pending::<()>().await;
    })
}

async fn eventually_put(ctx: &Ctx, client: &Client<V>, key: &str, value: &str) -> u64 {
    loop {
        match client.put(key, value.into()).await {
            Ok(revision) => return revision,
            Err(_) => ctx.sleep(Duration::from_millis(200)).await,
        }
    }
}

#[test]
fn writes_reads_and_transactions() {
    let mut w = World::new(1);
    w.run(|ctx, client| async move {
        assert_eq!(eventually_put(&ctx, &client, "a", "1").await, 2);
        let begun = ctx.now();
        assert_eq!(client.put("b", "2".into()).await.unwrap(), 3);
        // The way there and back and one fsync.
        let took = ctx.now().since(begun);
        assert!(took >= Duration::from_millis(1) && took < Duration::from_millis(2), "{took:?}");
        let (kv, revision) = client.get("a").await.unwrap();
        assert_eq!((kv.unwrap().value.as_deref(), revision), (Some("1"), 3));
        let update = |at| TxnRequest {
            compare: vec![Compare::mod_revision("a", at)],
            success: vec![Op::Put(PutRequest { key: "a".into(), value: "3".into(), lease: 0, prev_kv: false })],
            failure: vec![Op::Range(RangeRequest::key("a"))],
        };
        assert!(client.txn(update(2)).await.unwrap().succeeded);
        let stale = client.txn(update(2)).await.unwrap();
        assert!(!stale.succeeded);
        assert_eq!(stale.revision, 4);
        let all = client.range(RangeRequest { limit: 1, ..RangeRequest::prefix("") }).await.unwrap();
        assert_eq!((all.kvs.len(), all.more, all.count, all.revision), (1, true, 2, 4));
        assert_eq!(client.delete_range("", Span::Prefix).await.unwrap(), (2, 5));
        client.compact(4).await.unwrap();
        let gone = client.range(RangeRequest { revision: 3, ..RangeRequest::prefix("") }).await.unwrap_err();
        assert_eq!(gone, Error::Compacted(4));
        let future = client.range(RangeRequest { revision: 30, ..RangeRequest::prefix("") }).await.unwrap_err();
        assert_eq!(future, Error::FutureRevision(5));
        let large: Rc<str> = "x".repeat(2 << 20).into();
        assert_eq!(client.put("large", large).await.unwrap_err(), Error::RequestTooLarge);
        let status = client.status().await.unwrap();
        assert_eq!((status.leader, status.revision, status.compact_revision, status.keys), (1, 5, 4, 0));
        assert_eq!(client.member_list().await.unwrap().len(), 1);
    });
    let status = w.member().status().unwrap();
    assert_eq!(status.commit_index, status.applied_index);
}

#[test]
fn an_idle_member_does_nothing() {
    let mut w = World::new(2);
    w.run(|ctx, client| async move {
        eventually_put(&ctx, &client, "a", "1").await;
    });
    w.seconds(10);
    let before = w.sim.polls();
    w.seconds(3600);
    assert_eq!(w.sim.polls() - before, 0, "polls in an idle hour");
}

#[test]
fn watches_see_every_change_once_and_in_order_over_restarts() {
    for seed in 0..10 {
        let mut w = World::new(seed);
        let seen: Rc<RefCell<Vec<(u64, String)>>> = Rc::default();
        let host = w.sim.host("client").unwrap();
        let log = seen.clone();
        w.sim.start(host, "watcher", |ctx| async move {
            let client = Client::<V>::new(&ctx, vec![CLIENT]);
            let mut watch = client.watch("k/", Span::Prefix, 1);
            loop {
                let WatchBatch { events, revision } = watch.next().await.unwrap();
                for e in &events {
                    log.borrow_mut().push((e.revision(), e.kv.key.to_string()));
                    assert!(e.revision() <= revision);
                }
            }
        });
        let mut acknowledged = Vec::new();
        for round in 0..5u64 {
            let wrote = w.run(move |ctx, client| async move {
                let mut wrote = Vec::new();
                for i in 0..40 {
                    let key = format!("{}/{round}-{i}", if i % 4 == 3 { "other" } else { "k" });
                    wrote.push((eventually_put(&ctx, &client, &key, "v").await, key));
                }
                wrote
            });
            acknowledged.extend(wrote);
            if round % 2 == 0 {
                w.sim.kill(w.process);
            } else {
                w.sim.power_off(w.host);
                w.seconds(1);
                w.sim.power_on(w.host);
            }
            w.seconds(round);
            w.restart();
        }
        w.seconds(60);
        let want: Vec<_> = acknowledged.into_iter().filter(|(_, k)| k.starts_with("k/")).collect();
        let got = seen.borrow().clone();
        let mut sorted = got.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted, got, "in order, none twice");
        // A write whose answer was lost may be there beside those acknowledged.
        assert!(want.iter().all(|e| got.contains(e)), "seed {seed}: {:?}", want.iter().find(|e| !got.contains(e)));
    }
}

#[test]
fn a_watch_that_fell_behind_is_told() {
    let mut w = World::new(3);
    w.run(|ctx, client| async move {
        for i in 0..20 {
            eventually_put(&ctx, &client, "k", &i.to_string()).await;
        }
        client.compact(15).await.unwrap();
        let mut old = client.watch("k", Span::Key, 5);
        assert_eq!(old.next().await.unwrap_err(), Error::Compacted(15));
        // The oldest revision left can be watched from.
        let mut edge = client.watch("k", Span::Key, 15);
        let batch = edge.next().await.unwrap();
        assert_eq!(batch.events.first().map(|e| e.revision()), Some(15));
        assert_eq!(batch.revision, 21);
        // A watch that waits for something else is not touched by compaction.
        let mut idle = client.watch("other", Span::Key, 0);
        assert!(ctx.timeout(Duration::from_secs(1), idle.next()).await.is_err());
        client.put("k", "x".into()).await.unwrap();
        client.compact(22).await.unwrap();
        client.put("other", "x".into()).await.unwrap();
        assert_eq!(idle.next().await.unwrap().events.len(), 1);
        // Progress: nothing to see up to here.
        client.put("k", "y".into()).await.unwrap();
        client.request_progress();
        let notice = idle.next().await.unwrap();
        assert_eq!((notice.events.len(), notice.revision), (0, 24));
    });
}

#[test]
fn leases_expire() {
    let mut w = World::new(4);
    w.run(|ctx, client| async move {
        eventually_put(&ctx, &client, "x", "1").await;
        let lease = client.lease_grant(10).await.unwrap();
        let put = |key: &str| TxnRequest {
            compare: vec![],
            success: vec![Op::Put(PutRequest { key: key.into(), value: "v".into(), lease, prev_kv: false })],
            failure: vec![],
        };
        client.txn(put("event")).await.unwrap();
        let mut watch = client.watch("event", Span::Key, 0);
        assert!(ctx.timeout(Duration::from_secs(9), watch.next()).await.is_err());
        client.lease_keep_alive(lease).await.unwrap();
        let (left, granted, keys) = client.lease_time_to_live(lease).await.unwrap();
        assert_eq!((left, granted, keys.len()), (9, 10, 1));
        assert!(ctx.timeout(Duration::from_secs(9), watch.next()).await.is_err());
        let begun = ctx.now();
        let batch = watch.next().await.unwrap();
        assert!(batch.events[0].is_delete());
        assert!(ctx.now().since(begun) < Duration::from_millis(1200));
        assert_eq!(client.lease_time_to_live(lease).await.unwrap().0, -1);
        assert_eq!(client.txn(put("event")).await.unwrap_err(), Error::LeaseNotFound);
        // A short one gets the least time.
        let short = client.lease_grant(1).await.unwrap();
        assert_eq!(client.lease_time_to_live(short).await.unwrap().1, 2);
    });
}

#[test]
fn the_database_is_written_and_the_log_cut() {
    let mut config = MemberConfig::single("cp-1", IP);
    config.snapshot_count = 100;
    let mut w = World::with(5, config);
    w.run(|ctx, client| async move {
        eventually_put(&ctx, &client, "first", "1").await;
        for i in 0..1000 {
            client.put(format!("k{}", i % 7), i.to_string().as_str().into()).await.unwrap();
        }
    });
    w.seconds(1);
    assert!(w.logs().iter().filter(|l| l.starts_with("saved snapshot to disk")).count() >= 9);
    let before = w.member().with_store(|s| (s.revision(), s.size(), s.len())).unwrap();
    w.sim.power_off(w.host);
    w.sim.power_on(w.host);
    w.restart();
    w.seconds(5);
    assert_eq!(w.member().with_store(|s| (s.revision(), s.size(), s.len())).unwrap(), before);
    w.run(|_, client| async move {
        assert_eq!(client.get("first").await.unwrap().0.unwrap().mod_revision, 2);
        // History survived: what the keys were long ago can be read.
        let old = client.range(RangeRequest { revision: 500, ..RangeRequest::prefix("k") }).await.unwrap();
        assert_eq!(old.kvs.len(), 7);
    });
}

#[test]
fn a_full_disk_ends_the_process() {
    let mut w = World::new(6);
    w.run(|ctx, client| async move {
        eventually_put(&ctx, &client, "a", "1").await;
    });
    w.sim.set_disk(w.host, 100 << 30, 100 << 30);
    let failed = w.run(|_, client| async move { client.put("b", "1".into()).await.unwrap_err() });
    assert_eq!(failed.to_string(), "rpc error: code = Unavailable desc = error reading from server: EOF");
    assert!(w.logs().iter().any(|l| l.contains("no space left on device")));
    let refused = w.run(|ctx, client| async move {
        ctx.sleep(Duration::from_secs(1)).await;
        client.put("b", "1".into()).await.unwrap_err()
    });
    assert_eq!(
        refused.to_string(),
        "rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing: dial tcp 10.0.0.1:2379: connect: connection refused\""
    );
    w.sim.set_disk(w.host, 100 << 30, 0);
    w.restart();
    w.run(|ctx, client| async move {
        eventually_put(&ctx, &client, "b", "1").await;
    });
}

#[test]
fn the_quota_refuses_writes_until_disarmed() {
    let mut config = MemberConfig::single("cp-1", IP);
    config.quota = 100_000;
    let mut w = World::with(7, config);
    w.run(|ctx, client| async move {
        eventually_put(&ctx, &client, "a", "1").await;
        let value: Rc<str> = "x".repeat(10_000).into();
        let mut error = None;
        for _ in 0..20 {
            if let Err(e) = client.put("k", value.clone()).await {
                error = Some(e);
                break;
            }
        }
        assert_eq!(error.unwrap().to_string(), "etcdserver: mvcc: database space exceeded");
        ctx.sleep(Duration::from_millis(100)).await;
        assert_eq!(client.alarms().await.unwrap().len(), 1);
        let (_, revision) = client.get("a").await.unwrap();
        client.compact(revision).await.unwrap();
        assert_eq!(client.put("k", value.clone()).await.unwrap_err(), Error::NoSpace);
        client.disarm().await.unwrap();
        client.put("k", value).await.unwrap();
    });
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let run = |seed| {
        let mut w = World::new(seed);
        w.run(|ctx, client| async move {
            for i in 0..50 {
                eventually_put(&ctx, &client, &format!("k{}", i % 5), "v").await;
            }
        });
        w.sim.kill(w.process);
        w.restart();
        w.seconds(5);
        w.sim.trace(|t| t.fingerprint())
    };
    assert_eq!(run(8), run(8));
    assert_ne!(run(8), run(9));
}

#[test]
fn slow_fsync_delays_writes() {
    let mut w = World::new(10);
    w.run(|ctx, client| async move {
        eventually_put(&ctx, &client, "a", "1").await;
    });
    w.sim.set_fsync(w.host, Duration::from_millis(300));
    w.run(|ctx, client| async move {
        client.get("a").await.unwrap();
        let begun = ctx.now();
        client.put("a", "2".into()).await.unwrap();
        assert!(ctx.now().since(begun) >= Duration::from_millis(300));
        assert!(ctx.now() > Instant::ZERO);
    });
}
