use super::*;
use crate::rpc::{
    Compare, CompareResult, CompareTarget, DeleteRangeRequest, Op, OpResponse, Operation, PutRequest, RangeRequest,
    Response, Span, TxnRequest,
};
use sim::Rng;

type S = Store<Rc<str>>;
/// Revision, key, whether it was deleted.
type Seen = (u64, String, bool);

fn store() -> S {
    Store::new(64 << 20, vec![1])
}
fn put(key: &str, value: &str) -> PutRequest<Rc<str>> {
    PutRequest { key: key.into(), value: value.into(), lease: 0, prev_kv: true }
}
fn delete(key: &str, span: Span) -> DeleteRangeRequest {
    DeleteRangeRequest { key: key.into(), span, prev_kv: true }
}
fn do_put(s: &mut S, key: &str, value: &str) -> u64 {
    match s.apply(&Operation::Put(put(key, value))).unwrap() {
        Response::Put { revision, .. } => revision,
        other => panic!("{other:?}"),
    }
}
fn keys(s: &S, request: &RangeRequest) -> Vec<String> {
    s.range(request).unwrap().kvs.iter().map(|kv| format!("{}={}", kv.key, kv.value.as_deref().unwrap_or(""))).collect()
}

#[test]
fn revisions_and_versions() {
    let mut s = store();
    assert_eq!(s.revision(), 1);
    assert_eq!(do_put(&mut s, "a", "1"), 2);
    assert_eq!(do_put(&mut s, "a", "2"), 3);
    let kv = s.get("a").unwrap();
    assert_eq!((kv.create_revision, kv.mod_revision, kv.version), (2, 3, 2));
    let gone = s.apply(&Operation::DeleteRange(delete("a", Span::Key))).unwrap();
    assert!(matches!(gone, Response::DeleteRange { revision: 4, deleted: 1, .. }));
    // Nothing deleted: no revision.
    let none = s.apply(&Operation::DeleteRange(delete("a", Span::Key))).unwrap();
    assert!(matches!(none, Response::DeleteRange { revision: 4, deleted: 0, .. }));
    do_put(&mut s, "a", "3");
    let kv = s.get("a").unwrap();
    assert_eq!((kv.create_revision, kv.mod_revision, kv.version), (5, 5, 1));
}

#[test]
fn pages_at_a_revision() {
    let mut s = store();
    for key in ["p/a", "p/b", "p/c", "p/d", "q"] {
        do_put(&mut s, key, "1");
    }
    let revision = s.revision();
    s.apply(&Operation::DeleteRange(delete("p/c", Span::Key))).unwrap();
    do_put(&mut s, "p/b", "2");
    do_put(&mut s, "p/bb", "2");
    let first = RangeRequest { limit: 2, revision, ..RangeRequest::prefix("p/") };
    let got = s.range(&first).unwrap();
    assert_eq!(keys(&s, &first), ["p/a=1", "p/b=1"]);
    assert!(got.more);
    assert_eq!(got.count, 4);
    let second = RangeRequest { after: Some("p/b".into()), ..first };
    assert_eq!(keys(&s, &second), ["p/c=1", "p/d=1"]);
    assert!(!s.range(&second).unwrap().more);
    assert_eq!(keys(&s, &RangeRequest::prefix("p/")), ["p/a=1", "p/b=2", "p/bb=2", "p/d=1"]);
    let count = s.range(&RangeRequest { count_only: true, ..RangeRequest::prefix("p/") }).unwrap();
    assert_eq!((count.count, count.kvs.len(), count.more), (4, 0, false));
    assert_eq!(keys(&s, &RangeRequest { keys_only: true, ..RangeRequest::key("q") }), ["q="]);
    assert_eq!(keys(&s, &RangeRequest { span: Span::Until("p/bb".into()), ..RangeRequest::key("p/a") }).len(), 2);
    assert_eq!(keys(&s, &RangeRequest { span: Span::From, ..RangeRequest::key("p/d") }), ["p/d=1", "q=1"]);
}

#[test]
fn compaction_and_its_errors() {
    let mut s = store();
    for i in 0..10 {
        do_put(&mut s, "k", &i.to_string());
    }
    assert_eq!(
        s.range(&RangeRequest { revision: 99, ..RangeRequest::key("k") }).unwrap_err(),
        Error::FutureRevision(11)
    );
    s.compact(6).unwrap();
    assert_eq!(s.compact(6).unwrap_err(), Error::Compacted(6));
    assert_eq!(s.compact(99).unwrap_err(), Error::FutureRevision(11));
    let gone = s.range(&RangeRequest { revision: 5, ..RangeRequest::key("k") }).unwrap_err();
    assert_eq!(gone.to_string(), "etcdserver: mvcc: required revision has been compacted");
    assert_eq!(keys(&s, &RangeRequest { revision: 6, ..RangeRequest::key("k") }), ["k=4"]);
    assert_eq!(keys(&s, &RangeRequest::key("k")), ["k=9"]);
}

#[test]
fn transactions() {
    let mut s = store();
    let create = |value: &str| {
        Operation::Txn(TxnRequest {
            compare: vec![Compare::mod_revision("k", 0)],
            success: vec![Op::Put(put("k", value)), Op::Put(put("l", value))],
            failure: vec![Op::Range(RangeRequest::key("k"))],
        })
    };
    let Response::Txn(done) = s.apply(&create("1")).unwrap() else { panic!() };
    assert!(done.succeeded);
    assert_eq!(done.revision, 2);
    assert_eq!(s.get("k").unwrap().mod_revision, s.get("l").unwrap().mod_revision);
    let Response::Txn(done) = s.apply(&create("2")).unwrap() else { panic!() };
    assert!(!done.succeeded);
    assert_eq!(done.revision, 2);
    assert!(matches!(&done.responses[..], [OpResponse::Range(r)] if r.kvs[0].value.as_deref() == Some("1")));
    for (target, result, value, holds) in [
        (CompareTarget::Version, CompareResult::Equal, 1, true),
        (CompareTarget::Create, CompareResult::Greater, 2, false),
        (CompareTarget::Mod, CompareResult::Less, 3, true),
        (CompareTarget::Version, CompareResult::NotEqual, 1, false),
    ] {
        let compare = vec![Compare { key: "k".into(), target, result, value }];
        let Response::Txn(done) =
            s.apply(&Operation::Txn(TxnRequest { compare, success: vec![], failure: vec![] })).unwrap()
        else {
            panic!()
        };
        assert_eq!(done.succeeded, holds, "{target:?} {result:?} {value}");
    }
    let twice =
        TxnRequest { compare: vec![], success: vec![Op::Put(put("k", "1")), Op::Put(put("k", "2"))], failure: vec![] };
    assert_eq!(S::check(&Operation::Txn(twice)).unwrap_err(), Error::DuplicateKey);
    let covered = TxnRequest {
        compare: vec![],
        success: vec![Op::Put(put("k", "1")), Op::DeleteRange(delete("", Span::Prefix))],
        failure: vec![],
    };
    assert_eq!(S::check(&Operation::Txn(covered)).unwrap_err(), Error::DuplicateKey);
    let many = TxnRequest {
        compare: vec![],
        success: (0..129).map(|i| Op::Put(put(&i.to_string(), ""))).collect(),
        failure: vec![],
    };
    assert_eq!(S::check(&Operation::Txn(many)).unwrap_err(), Error::TooManyOperations);
    assert_eq!(S::check(&Operation::Put(put("", "1"))).unwrap_err(), Error::EmptyKey);
}

#[test]
fn leases_take_their_keys_along() {
    let mut s = store();
    let attach = |key: &str, lease| Operation::Put(PutRequest { lease, ..put(key, "1") });
    assert_eq!(s.apply(&attach("a", 7)).unwrap_err(), Error::LeaseNotFound);
    s.apply(&Operation::LeaseGrant { id: 7, ttl: 60 }).unwrap();
    assert_eq!(s.apply(&Operation::LeaseGrant { id: 7, ttl: 60 }).unwrap_err(), Error::LeaseExists);
    for key in ["a", "b", "c"] {
        s.apply(&attach(key, 7)).unwrap();
    }
    // Written without the lease, a key leaves it.
    s.apply(&attach("b", 0)).unwrap();
    let before = s.revision();
    s.apply(&Operation::LeaseRevoke { id: 7 }).unwrap();
    assert_eq!(s.revision(), before + 1, "one revision for all its keys");
    assert_eq!(keys(&s, &RangeRequest::prefix("")), ["b=1"]);
    assert_eq!(s.apply(&Operation::LeaseRevoke { id: 7 }).unwrap_err(), Error::LeaseNotFound);
    assert_eq!(s.apply(&Operation::LeaseKeepAlive { id: 7 }).unwrap_err(), Error::LeaseNotFound);
}

#[test]
fn no_space_refuses_growth_only() {
    let mut s = store();
    do_put(&mut s, "a", "1");
    s.apply(&Operation::Alarm { member: 1, alarm: Alarm::NoSpace, active: true }).unwrap();
    let refused = s.apply(&Operation::Put(put("b", "1"))).unwrap_err();
    assert_eq!(refused.to_string(), "etcdserver: mvcc: database space exceeded");
    s.apply(&Operation::DeleteRange(delete("a", Span::Key))).unwrap();
    s.apply(&Operation::Alarm { member: 0, alarm: Alarm::NoSpace, active: false }).unwrap();
    do_put(&mut s, "b", "1");
}

#[test]
fn history_is_bounded() {
    let mut s: S = Store::new(1 << 20, vec![1]);
    let value = "x".repeat(1000);
    for i in 0..5000 {
        do_put(&mut s, &format!("k{}", i % 10), &value);
        assert!(s.history_bytes <= 1 << 20);
    }
    assert!(s.compact_revision() > 3000);
    assert!(s.history_bytes > 900 << 10);
    assert_eq!(s.live_size(), 10 * (2 + 1000 + OVERHEAD));
    assert_eq!(s.history_bytes, s.history.iter().map(|e| event_size(e)).sum::<u64>());
}

/// Random operations against a copy of all states: ranges at every revision left, and watches of several spans that
/// see each change exactly once and in order, whatever the pace at which they are polled.
#[test]
fn model() {
    for seed in 0..60 {
        let mut rng = Rng::split(seed, "model");
        let mut s = store();
        let mut hub = Hub::new();
        let mut states: Vec<BTreeMap<String, String>> = vec![BTreeMap::new(), BTreeMap::new()];
        let mut log: Vec<Seen> = Vec::new();
        let mut watches: Vec<(WatchId, String, Span, u64, Vec<Seen>)> = Vec::new();
        let name = |rng: &mut Rng| format!("{}{}", ["a/", "a/b/", "b/", "", "é/"][rng.index(5)], rng.below(6));
        for _ in 0..400 {
            let before = s.revision();
            let mut state = states.last().unwrap().clone();
            match rng.below(10) {
                0..6 => {
                    let (key, value) = (name(&mut rng), rng.below(1000).to_string());
                    s.apply(&Operation::Put(put(&key, &value))).map(|_| ()).unwrap_or(());
                    if s.revision() > before {
                        state.insert(key, value);
                    }
                }
                6 => {
                    let (key, span) = (name(&mut rng), if rng.chance(0.2) { Span::Prefix } else { Span::Key });
                    s.apply(&Operation::DeleteRange(delete(&key, span.clone()))).unwrap();
                    state.retain(|k, _| !span.contains(&key, k));
                }
                7 => {
                    let (key, other) = (name(&mut rng), name(&mut rng));
                    if key != other {
                        let txn = TxnRequest {
                            compare: vec![Compare::mod_revision(key.as_str(), 0)],
                            success: vec![Op::Put(put(&key, "t")), Op::DeleteRange(delete(&other, Span::Key))],
                            failure: vec![Op::Put(put(&other, "f"))],
                        };
                        s.apply(&Operation::Txn(txn)).unwrap();
                        if state.contains_key(&key) {
                            state.insert(other, "f".into());
                        } else {
                            state.insert(key, "t".into());
                            state.remove(&other);
                        }
                    }
                }
                8 if rng.chance(0.2) => {
                    let to = s.compact_revision() + u64::from(rng.below(20));
                    let _ = s.compact(to);
                    hub.advance_idle(&s);
                }
                _ => {
                    let spans = [Span::Prefix, Span::Prefix, Span::Key, Span::From, Span::Until("b/3".into())];
                    let span = spans[rng.index(5)].clone();
                    let key =
                        if span == Span::Key { name(&mut rng) } else { ["", "a/", "a/b/", "b/"][rng.index(4)].into() };
                    let from =
                        if rng.chance(0.5) { 0 } else { s.revision().saturating_sub(u64::from(rng.below(20))).max(1) };
                    let id = hub.open(&s, key.as_str().into(), span.clone(), from);
                    let first = if from == 0 { s.revision() + 1 } else { from };
                    watches.push((id, key, span, first, Vec::new()));
                }
            }
            assert!(s.revision() <= before + 1);
            if s.revision() > before {
                states.push(state);
                for event in s.events_from(before + 1).unwrap() {
                    log.push((event.revision(), event.kv.key.to_string(), event.is_delete()));
                    hub.notice(event);
                }
            }
            let pace = rng.f64();
            watches.retain_mut(|(id, _, _, first, got)| {
                if !rng.chance(pace) {
                    return true;
                }
                match hub.poll(&s, *id, 1 + rng.index(4)) {
                    Poll::Events(events, _) => {
                        got.extend(events.iter().map(|e| (e.revision(), e.kv.key.to_string(), e.is_delete())));
                        true
                    }
                    Poll::Nothing => true,
                    Poll::Compacted(error) => {
                        let next = got.last().map_or(*first, |g| g.0 + 1);
                        assert_eq!(error, Error::Compacted(s.compact_revision()));
                        assert!(next < s.compact_revision() || *first < s.compact_revision());
                        false
                    }
                }
            });
            let revision = s.compact_revision().max(1) + u64::from(rng.below(30));
            if revision <= s.revision() {
                let prefix = ["", "a/", "b/"][rng.index(3)];
                let want: Vec<String> = states[revision as usize]
                    .iter()
                    .filter(|(k, _)| k.starts_with(prefix))
                    .map(|(k, v)| format!("{k}={v}"))
                    .collect();
                assert_eq!(keys(&s, &RangeRequest { revision, ..RangeRequest::prefix(prefix) }), want, "seed {seed}");
            }
        }
        for (id, key, span, first, mut got) in watches {
            loop {
                match hub.poll(&s, id, 3) {
                    Poll::Events(events, _) => {
                        got.extend(events.iter().map(|e| (e.revision(), e.kv.key.to_string(), e.is_delete())));
                    }
                    Poll::Nothing => break,
                    Poll::Compacted(_) => {
                        got = log.iter().filter(|e| e.0 >= first && span.contains(&key, &e.1)).cloned().collect();
                        break;
                    }
                }
            }
            let want: Vec<_> = log.iter().filter(|e| e.0 >= first && span.contains(&key, &e.1)).cloned().collect();
            assert_eq!(got, want, "seed {seed} watch {key} {span:?} from {first}");
            hub.close(id);
        }
        assert!(hub.is_empty() && hub.by_prefix.is_empty() && hub.others.is_empty() && hub.is_settled());
    }
}
