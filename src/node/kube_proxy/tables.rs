//! The rules at work: what becomes of each connection.

use super::rules::{Rules, Way};
use sim::{Addr, Ctx, Duration, Instant, Ip, Rng, Verdict};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Clients whose endpoint is remembered at most (the kernel's sets are bounded too).
const AFFINITIES: usize = 65_535;

/// A node's tables. They stay when kube-proxy ends.
pub struct Tables {
    rules: RefCell<Rc<Rules>>,
    /// Which endpoint a client had at a Service's address, and when last.
    affinity: RefCell<BTreeMap<(Ip, Addr), (Addr, Instant)>>,
    rng: RefCell<Rng>,
    node: Ip,
    ctx: Ctx,
}

impl Tables {
    /// Empty tables of the machine that `ctx` is on.
    pub fn new(ctx: &Ctx) -> Rc<Self> {
        Rc::new(Self {
            rules: RefCell::default(),
            affinity: RefCell::default(),
            rng: RefCell::new(ctx.rng("endpoints")),
            node: ctx.host_ip(),
            ctx: ctx.clone(),
        })
    }

    /// Takes new rules, all at once.
    pub fn replace(&self, rules: Rc<Rules>) {
        self.rules.replace(rules);
    }

    /// What becomes of a connection from `source` to `addr`.
    pub fn decide(&self, source: Ip, addr: Addr) -> Verdict {
        let rules = self.rules.borrow().clone();
        let node_port = || (addr.ip == self.node).then(|| rules.node_ports.get(&addr.port)).flatten();
        match rules.services.get(&addr).or_else(node_port) {
            Some(Way::Endpoints(endpoints, affinity)) => self.choose(source, addr, endpoints, *affinity),
            Some(Way::Refuse) => Verdict::Refuse,
            Some(Way::Drop) => Verdict::Drop,
            None if rules.addresses.contains(&addr.ip) => Verdict::Refuse,
            None if rules.ranges.iter().any(|(first, last)| (*first..=*last).contains(&addr.ip)) => Verdict::Drop,
            None => Verdict::Pass,
        }
    }

    fn choose(&self, source: Ip, addr: Addr, endpoints: &[Addr], affinity: Option<Duration>) -> Verdict {
        let now = self.ctx.now();
        let mut known = self.affinity.borrow_mut();
        let key = (source, addr);
        if let Some(time) = affinity
            && let Some((endpoint, last)) = known.get_mut(&key)
            && now.since(*last) < time
            && endpoints.contains(endpoint)
        {
            *last = now;
            return Verdict::To(*endpoint);
        }
        let count = u32::try_from(endpoints.len()).unwrap_or(u32::MAX).max(1);
        let at = usize::try_from(self.rng.borrow_mut().below(count)).unwrap_or(0);
        let Some(endpoint) = endpoints.get(at).copied() else { return Verdict::Refuse };
        if affinity.is_some() {
            if known.len() >= AFFINITIES {
                known.pop_first();
            }
            known.insert(key, (endpoint, now));
        }
        Verdict::To(endpoint)
    }
}
