//! Leader election on a Lease (client-go `tools/leaderelection`): at most one of several replicas works.

use std::time::Duration;

use api::coordination_v1::Lease;
use api::core_v1::ObjectReference;
use api::{MicroTime, OStr, Rev, Status, Str};
use sim::{Ctx, Instant};

use crate::{Client, EventRecorder, klog};

/// How a lease is held.
#[derive(Debug, Clone)]
pub struct LeaderElectionConfig {
    /// Namespace of the Lease.
    pub namespace: Str,
    /// Name of the Lease.
    pub name: Str,
    /// Who we are: `<host>_<uuid>`.
    pub identity: Str,
    /// How long others wait after the last renewal they saw.
    pub lease_duration: Duration,
    /// How long the leader tries to renew before it gives up.
    pub renew_deadline: Duration,
    /// Pause between tries.
    pub retry_period: Duration,
}

impl LeaderElectionConfig {
    /// The components' defaults, 15, 10 and 2 seconds, for the Lease `kube-system/<name>`.
    pub fn new(name: &str, identity: &str) -> LeaderElectionConfig {
        LeaderElectionConfig {
            namespace: "kube-system".into(),
            name: name.into(),
            identity: identity.into(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

/// Retries while not leading wait up to this much longer, drawn at random (`JitterFactor`).
const JITTER: f64 = 1.2;

/// What the Lease says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Record {
    holder: Str,
    duration: i32,
    acquire: MicroTime,
    renew: MicroTime,
    transitions: i32,
}

/// One candidate.
pub struct LeaderElector {
    ctx: Ctx,
    client: Client,
    recorder: EventRecorder,
    config: LeaderElectionConfig,
    rng: sim::Rng,
    lease: Option<Rev<Lease>>,
    observed: Record,
    observed_at: Instant,
    /// The record as read last, to notice changes.
    read: Option<Record>,
}

impl LeaderElector {
    /// A candidate that knows nothing yet. `client` should give up on requests after half the renew deadline.
    pub fn new(ctx: &Ctx, client: Client, recorder: EventRecorder, config: LeaderElectionConfig) -> LeaderElector {
        LeaderElector {
            ctx: ctx.clone(),
            client: client.with_timeout(config.renew_deadline / 2),
            recorder,
            config,
            rng: ctx.rng("leader election"),
            lease: None,
            observed: Record::default(),
            observed_at: Instant::ZERO,
            read: None,
        }
    }

    /// Who leads, as far as this candidate knows; empty for nobody.
    pub fn leader(&self) -> &str {
        &self.observed.holder
    }

    /// Waits until this candidate leads.
    pub async fn acquire(&mut self) {
        let lock = self.describe();
        klog::info("Attempting to acquire leader lease...").str("lock", &lock).log(&self.ctx, "leaderelection.go:258");
        loop {
            if self.try_acquire_or_renew().await {
                self.event("became leader");
                klog::info("Successfully acquired lease").str("lock", &lock).log(&self.ctx, "leaderelection.go:272");
                return;
            }
            klog::info("Failed to acquire lease").str("lock", &lock).log(&self.ctx, "leaderelection.go:267");
            let jitter = 1.0 + self.rng.f64() * JITTER;
            self.ctx.sleep(self.config.retry_period.mul_f64(jitter)).named(self.retry()).await;
        }
    }

    /// Renews until that fails for longer than the deadline. Call it once [`acquire`](Self::acquire) returned; when it
    /// returns, this candidate must stop working.
    pub async fn renew(&mut self) {
        let ctx = self.ctx.clone();
        loop {
            let deadline = self.config.renew_deadline;
            let renewed = ctx.timeout(deadline, self.renew_once()).await;
            if renewed.is_err() {
                klog::info("Failed to renew lease")
                    .str("lock", &self.describe())
                    .err("context deadline exceeded")
                    .log(&ctx, "leaderelection.go:304");
                self.event("stopped leading");
                return;
            }
            ctx.sleep(self.config.retry_period).await;
        }
    }

    async fn renew_once(&mut self) {
        while !self.try_acquire_or_renew().await {
            self.ctx.sleep(self.config.retry_period).named(self.retry()).await;
        }
    }

    /// What the wait for another try is called.
    fn retry(&self) -> String {
        format!("lease {}", self.config.name)
    }

    /// Gives the lease up, so that another need not wait for it to expire (`ReleaseOnCancel`).
    pub async fn release(&mut self) {
        if !self.is_leader() {
            return;
        }
        if let Err(err) = self.read().await {
            klog::error("error retrieving resource lock")
                .err(&err)
                .str("lock", &self.describe())
                .log(&self.ctx, "leaderelection.go:331");
            return;
        }
        let now = self.micro_now();
        let record = Record {
            holder: Str::default(),
            duration: 1,
            acquire: now,
            renew: now,
            transitions: self.observed.transitions,
        };
        if let Err(err) = self.update(&record).await {
            klog::error("Failed to release lease")
                .err(&err)
                .str("lock", &self.describe())
                .log(&self.ctx, "leaderelection.go:358");
        }
    }

    fn describe(&self) -> String {
        format!("{}/{}", self.config.namespace, self.config.name)
    }

    fn is_leader(&self) -> bool {
        self.observed.holder == self.config.identity
    }

    /// Whether the lease that was observed held at `time`, when an attempt began: what comes in late is judged by then.
    fn is_valid(&self, time: Instant) -> bool {
        let duration = Duration::from_secs(u64::try_from(self.observed.duration).unwrap_or(0));
        self.observed_at + duration > time
    }

    fn micro_now(&self) -> MicroTime {
        MicroTime::from_unix_nanos(self.ctx.unix_nanos())
    }

    fn observe(&mut self, record: Record) {
        self.observed = record;
        self.observed_at = self.ctx.now();
    }

    async fn try_acquire_or_renew(&mut self) -> bool {
        let begin = self.ctx.now();
        let now = self.micro_now();
        let mut record = Record {
            holder: self.config.identity.clone(),
            duration: i32::try_from(self.config.lease_duration.as_secs()).unwrap_or(i32::MAX),
            acquire: now,
            renew: now,
            transitions: 0,
        };
        let lock = self.describe();
        // The leader's usual case: what it wrote last is still there.
        if self.is_leader() && self.is_valid(begin) {
            record.acquire = self.observed.acquire;
            record.transitions = self.observed.transitions;
            match self.update(&record).await {
                Ok(()) => {
                    self.observe(record);
                    return true;
                }
                Err(err) => {
                    klog::info("Failed to update lease optimistically, falling back to slow path")
                        .str("lock", &lock)
                        .err(&err)
                        .log(&self.ctx, "leaderelection.go:464");
                }
            }
        }
        let read = match self.read().await {
            Ok(read) => read,
            Err(err) if err.is_not_found() => {
                record.acquire = now;
                record.transitions = 0;
                return match self.create(&record).await {
                    Ok(()) => {
                        self.observe(record);
                        true
                    }
                    Err(err) => {
                        klog::error("Error initially creating lease lock")
                            .err(&err)
                            .str("lock", &lock)
                            .log(&self.ctx, "leaderelection.go:477");
                        false
                    }
                };
            }
            Err(err) => {
                klog::error("Error retrieving lease lock")
                    .err(&err)
                    .str("lock", &lock)
                    .log(&self.ctx, "leaderelection.go:473");
                return false;
            }
        };
        if self.read.as_ref() != Some(&read) {
            self.observe(read.clone());
            self.read = Some(read.clone());
        }
        if !read.holder.is_empty() && self.is_valid(begin) && !self.is_leader() {
            klog::info("Lease is held by and has not yet expired")
                .str("lock", &lock)
                .str("holder", &read.holder)
                .log(&self.ctx, "leaderelection.go:494");
            return false;
        }
        if self.is_leader() {
            record.acquire = read.acquire;
            record.transitions = read.transitions;
        } else {
            record.acquire = now;
            record.transitions = read.transitions.saturating_add(1);
        }
        match self.update(&record).await {
            Ok(()) => {
                self.observe(record);
                true
            }
            Err(err) => {
                klog::error("Failed to update lease")
                    .err(&err)
                    .str("lock", &lock)
                    .log(&self.ctx, "leaderelection.go:511");
                false
            }
        }
    }

    async fn read(&mut self) -> Result<Record, Status> {
        let lease: Rev<Lease> = self.client.get(&self.config.namespace, &self.config.name).await?;
        let spec = &lease.spec;
        let record = Record {
            holder: spec.holder_identity.or_empty().into(),
            duration: spec.lease_duration_seconds.unwrap_or(0),
            acquire: spec.acquire_time,
            renew: spec.renew_time,
            transitions: spec.lease_transitions.unwrap_or(0),
        };
        self.lease = Some(lease);
        Ok(record)
    }

    async fn create(&mut self, record: &Record) -> Result<(), Status> {
        let mut lease = Lease::default();
        lease.metadata.name = self.config.name.clone();
        lease.metadata.namespace = self.config.namespace.clone();
        fill(&mut lease, record);
        self.lease = Some(self.client.create(&self.config.namespace, lease).await?);
        Ok(())
    }

    async fn update(&mut self, record: &Record) -> Result<(), Status> {
        let Some(lease) = &self.lease else {
            return Err(Status::transport("lease not initialized, call get or create first"));
        };
        let mut body = (**lease).clone();
        fill(&mut body, record);
        let revision = lease.revision;
        self.lease = Some(self.client.update(body, revision).await?);
        Ok(())
    }

    fn event(&self, what: &str) {
        let meta = self.lease.as_ref().map(|l| (l.revision, l.metadata.uid.clone())).unwrap_or_default();
        let about = ObjectReference {
            kind: "Lease".into(),
            api_version: "coordination.k8s.io/v1".into(),
            namespace: self.config.namespace.clone(),
            name: self.config.name.clone(),
            uid: meta.1,
            resource_version: if meta.0 == 0 { Str::default() } else { meta.0.to_string().into() },
            field_path: Str::default(),
        };
        let message = format!("{} {what}", self.config.identity);
        self.recorder.event(&about, "Normal", "LeaderElection", &message);
    }
}

fn fill(lease: &mut Lease, record: &Record) {
    let spec = lease.spec.make();
    spec.holder_identity = OStr::some(record.holder.clone());
    spec.lease_duration_seconds = Some(record.duration);
    spec.acquire_time = record.acquire;
    spec.renew_time = record.renew;
    spec.lease_transitions = Some(record.transitions);
}
