//! The node IPAM controller (`pkg/controller/nodeipam`): every node gets a range of pod addresses.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use api::core_v1::Node;
use api::rest::PatchType;
use api::{Rev, Str};
use client::{Client, Delta, EventRecorder, Key, Lister, Work, WorkQueue, klog};

use crate::context::ControllerContext;
use crate::controller_utils::{self as utils, SyncError};
use crate::worker::{Reconcile, Worker};

const LOGGER: &str = "node-ipam-controller";
/// Tries to write a node's range.
const UPDATE_RETRIES: u32 = 3;

struct RangeAllocator {
    ctx: sim::Ctx,
    client: Client,
    recorder: EventRecorder,
    nodes: Lister<Node>,
    queue: WorkQueue<Key>,
    cidrs: RefCell<CidrSet>,
    observed: crate::observed::Handle,
}

/// The ranges of one size within a cluster's, and which are taken.
struct CidrSet {
    base: u32,
    node_bits: u32,
    count: u32,
    /// Where to look first: after the one given out last, so that a freed range is not reused at once.
    next: u32,
    used: BTreeSet<u32>,
    by_node: BTreeMap<Str, u32>,
}

impl CidrSet {
    /// `cluster` as `10.244.0.0/16`; `mask` the length of a node's prefix.
    fn parse(cluster: &str, mask: u32) -> Option<CidrSet> {
        let (ip, length) = cluster.split_once('/')?;
        let length: u32 = length.parse().ok().filter(|l| *l <= mask)?;
        let ip: std::net::Ipv4Addr = ip.parse().ok()?;
        let node_bits = 32u32.checked_sub(mask)?;
        let count = 1u32.checked_shl(mask - length)?;
        Some(CidrSet { base: ip.to_bits(), node_bits, count, next: 0, used: BTreeSet::new(), by_node: BTreeMap::new() })
    }

    fn text(&self, index: u32) -> String {
        let ip = std::net::Ipv4Addr::from_bits(self.base.wrapping_add(index << self.node_bits));
        format!("{ip}/{}", 32 - self.node_bits)
    }

    fn index(&self, cidr: &str) -> Option<u32> {
        let ip: std::net::Ipv4Addr = cidr.split_once('/')?.0.parse().ok()?;
        let index = ip.to_bits().checked_sub(self.base)? >> self.node_bits;
        (index < self.count).then_some(index)
    }

    fn occupy(&mut self, node: &Str, index: u32) {
        self.used.insert(index);
        self.by_node.insert(node.clone(), index);
    }

    fn allocate(&mut self, node: &Str) -> Option<u32> {
        let free = (0..self.count).map(|i| (self.next + i) % self.count).find(|i| !self.used.contains(i))?;
        self.next = (free + 1) % self.count;
        self.occupy(node, free);
        Some(free)
    }

    fn release(&mut self, node: &str) {
        if let Some(index) = self.by_node.remove(node) {
            self.used.remove(&index);
        }
    }
}

/// Starts the controller, unless the cluster allocates no ranges.
pub async fn start(cc: ControllerContext) {
    let Some(cluster) = cc.config.cluster_cidr.clone() else { return };
    let Some(cidrs) = CidrSet::parse(&cluster, cc.config.node_cidr_mask) else { return };
    let client = cc.client("node-controller");
    let recorder = cc.recorder(&client, "cidrAllocator", LOGGER);
    let nodes = cc.informer::<Node>();
    let ra = Rc::new(RangeAllocator {
        ctx: cc.ctx.clone(),
        client,
        recorder,
        nodes: nodes.lister(),
        queue: WorkQueue::new(&cc.ctx, "range_allocator"),
        cidrs: RefCell::new(cidrs),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&ra.queue);
    nodes.synced().await;
    for node in ra.nodes.list() {
        ra.take_known(&node);
    }
    klog::info("Starting range CIDR allocator").str("logger", LOGGER).log(&cc.ctx, "range_allocator.go:159");
    let this = ra.clone();
    nodes.on(move |delta| {
        let node = delta.object();
        if let Delta::Updated { old, new } = delta {
            // Only a node without a range is of interest.
            if !new.spec.pod_cidrs.is_empty() && old.spec.pod_cidrs == new.spec.pod_cidrs {
                return;
            }
        }
        this.queue.add_caused(Key::of(&node.metadata), node.revision);
    });
    Worker::spawn(&cc.ctx, 30, ra.queue.clone(), ra);
}

impl RangeAllocator {
    /// Marks the range that a node has already.
    fn take_known(&self, node: &Node) -> bool {
        let Some(cidr) = node.spec.pod_cidrs.first() else { return false };
        let mut cidrs = self.cidrs.borrow_mut();
        match cidrs.index(cidr) {
            Some(index) => cidrs.occupy(&node.metadata.name, index),
            None => drop(cidrs),
        }
        true
    }

    async fn sync_node(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let name = &work.key.name;
        let Some(node) = self.nodes.by_key(&work.key) else {
            klog::info("node has been deleted")
                .str("logger", LOGGER)
                .obj("node", "", name)
                .log(&self.ctx, "range_allocator.go:275");
            self.cidrs.borrow_mut().release(name);
            return Ok(());
        };
        if node.metadata.deletion_timestamp.unix().is_some() {
            self.cidrs.borrow_mut().release(name);
            return Ok(());
        }
        if self.take_known(&node) {
            return Ok(());
        }
        let held = self.cidrs.borrow().by_node.get(name).copied();
        let index = held.or_else(|| self.cidrs.borrow_mut().allocate(name));
        let Some(index) = index else {
            self.event(&node, "Normal", "CIDRNotAvailable");
            return Err("CIDR allocation failed; there are no remaining CIDRs left to allocate in the accepted range"
                .to_string()
                .into());
        };
        let cidr = self.cidrs.borrow().text(index);
        klog::info("Putting node with CIDR into the work queue")
            .str("logger", LOGGER)
            .obj("node", "", name)
            .raw("CIDRs", format!("[\"{cidr}\"]"))
            .log(&self.ctx, "range_allocator.go:363");
        self.write(&work.causes, &node, &cidr).await
    }

    async fn write(&self, causes: &client::Causes, node: &Rev<Node>, cidr: &str) -> Result<(), SyncError> {
        let name = &node.metadata.name;
        let client = self.client.caused_by(causes);
        let body = format!(r#"{{"spec":{{"podCIDR":"{cidr}","podCIDRs":["{cidr}"]}}}}"#);
        let mut last = None;
        for _ in 0..UPDATE_RETRIES {
            match client.patch::<Node>("", name, PatchType::Strategic, &body, "").await {
                Ok(_) => {
                    klog::info("Set node PodCIDR")
                        .str("logger", LOGGER)
                        .obj("node", "", name)
                        .raw("podCIDRs", format!("[\"{cidr}\"]"))
                        .log(&self.ctx, "range_allocator.go:428");
                    self.observed.action(&Key::new("", name), format!("podCIDR {cidr}"));
                    return Ok(());
                }
                Err(err) => last = Some(err),
            }
        }
        self.event(node, "Normal", "CIDRAssignmentFailed");
        let Some(err) = last else { return Ok(()) };
        // Unless the write may have arrived all the same, the range is free again.
        if !err.is_timeout() && !err.is_transport() {
            self.cidrs.borrow_mut().release(name);
        }
        Err(err.into())
    }

    fn event(&self, node: &Rev<Node>, type_: &str, status: &str) {
        let mut about = utils::object_ref::<Node>(&node.metadata, 0);
        about.uid = node.metadata.name.clone();
        let message = format!("Node {} status is now: {status}", node.metadata.name);
        self.recorder.event(&about, type_, status, &message);
    }
}

impl Reconcile<Key> for RangeAllocator {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let started = self.ctx.now();
        let result = self.sync_node(work).await;
        klog::info("Finished syncing Node request")
            .obj("node", "", &work.key.name)
            .duration("elapsed", self.ctx.now().since(started))
            .log(&self.ctx, "range_allocator.go:268");
        result
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        match result {
            Ok(()) => {
                klog::info("Successfully synced").str("key", &work.key.name).log(&self.ctx, "range_allocator.go:252");
                self.queue.forget(&work.key);
            }
            Err(err) => {
                klog::unhandled(format!("error syncing '{}': {err}, requeuing", work.key.name))
                    .log(&self.ctx, "range_allocator.go:246");
                self.queue.retry(work);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_follow_one_another() {
        let mut set = CidrSet::parse("10.244.0.0/16", 24).unwrap();
        let mut give = |node: &str| set.allocate(&node.into()).map(|i| set.text(i));
        assert_eq!(give("a").as_deref(), Some("10.244.0.0/24"));
        assert_eq!(give("b").as_deref(), Some("10.244.1.0/24"));
        set.release("a");
        assert_eq!(set.allocate(&"c".into()).map(|i| set.text(i)).as_deref(), Some("10.244.2.0/24"));
        assert_eq!(set.index("10.244.255.0/24"), Some(255));
        assert_eq!(set.index("10.245.0.0/24"), None);
        for i in 0..254 {
            assert!(set.allocate(&format!("n{i}").into()).is_some());
        }
        assert_eq!(set.allocate(&"full".into()), None);
    }
}
