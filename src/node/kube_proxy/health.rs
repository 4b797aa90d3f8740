//! kube-proxy's `/healthz` and `/livez` (pkg/proxy/healthcheck/proxy_health.go).

use crate::runtime::http::{HttpRequest, HttpResponse};
use api::core_v1::Node;
use client::{Informer, klog};
use sim::{Conn, Ctx, Duration, Instant};
use std::cell::Cell;
use std::rc::Rc;

/// Where it listens.
const PORT: u16 = 10_256;
/// How long an update may wait before the proxy counts as ill: twice the period of full updates.
const TIMEOUT: Duration = Duration::from_secs(60);
/// What a cluster autoscaler puts on nodes that it takes away.
const TO_BE_DELETED: &str = "ToBeDeletedByClusterAutoscaler";

/// When the rules were updated last, and since when an update waits.
pub struct Health {
    ctx: Ctx,
    updated: Cell<Option<Instant>>,
    queued: Cell<Option<Instant>>,
}

impl Health {
    /// Nothing was updated yet.
    pub fn new(ctx: &Ctx) -> Rc<Self> {
        Rc::new(Self { ctx: ctx.clone(), updated: Cell::new(None), queued: Cell::new(None) })
    }
    /// An update waits.
    pub fn queued(&self) {
        if self.queued.get().is_none() {
            self.queued.set(Some(self.ctx.now()));
        }
    }
    /// The rules are as they should be.
    pub fn updated(&self) {
        self.queued.set(None);
        self.updated.set(Some(self.ctx.now()));
    }
    fn is_healthy(&self) -> bool {
        self.updated.get().is_none() || self.queued.get().is_none_or(|since| self.ctx.now().since(since) < TIMEOUT)
    }
    /// A moment in RFC 3339, as Go's JSON has it.
    fn text(&self, at: Option<Instant>) -> String {
        let Some(at) = at else { return "0001-01-01T00:00:00Z".into() };
        let ago = i64::try_from(self.ctx.now().since(at).as_nanos()).unwrap_or(0);
        let nanos = self.ctx.unix_nanos().saturating_sub(ago);
        let seconds = api::Time::from_unix(nanos.div_euclid(1_000_000_000)).to_string();
        let fraction = format!(".{:09}", nanos.rem_euclid(1_000_000_000));
        let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
        format!("{}{fraction}Z", seconds.trim_end_matches('Z'))
    }
    /// The body of an answer; `eligible` only for `/healthz`.
    fn report(&self, healthy: bool, eligible: Option<bool>) -> String {
        let (now, last) = (self.text(Some(self.ctx.now())), self.text(self.updated.get()));
        let shown = if healthy { &now } else { &last };
        let well = self.is_healthy();
        let eligible = eligible.map_or(String::new(), |e| format!(",\"nodeEligible\":{e}"));
        let family = |name: &str| format!("\"{name}\":{{\"lastUpdated\":\"{last}\",\"healthy\":{well}}}");
        let status = match self.updated.get() {
            Some(_) => format!(",\"status\":{{{},{}}}", family("IPv4"), family("IPv6")),
            None => String::new(),
        };
        format!("{{\"lastUpdated\":\"{shown}\",\"currentTime\":\"{now}\"{eligible},\"healthy\":{well}{status}}}")
    }
}

/// Serves until the process ends.
pub async fn serve(ctx: Ctx, health: Rc<Health>, nodes: Informer<Node>) {
    let listener = match ctx.listen(PORT) {
        Ok(listener) => listener,
        Err(why) => {
            klog::error("Healthz server failed").err(format!("listen tcp :{PORT}: {why}")).log(&ctx, "server.go:480");
            return;
        }
    };
    while let Ok(conn) = listener.accept().await {
        ctx.spawn("http", answer(conn, health.clone(), nodes.clone()));
    }
}

async fn answer(conn: Conn, health: Rc<Health>, nodes: Informer<Node>) {
    while let Ok(request) = conn.recv::<HttpRequest>().await {
        let json = |healthy: bool, eligible| {
            let body = health.report(healthy, eligible);
            HttpResponse::new(if healthy { 200 } else { 503 }, "application/json", body.as_bytes())
        };
        let response = match request.file() {
            "/healthz" => {
                let eligible = nodes.lister().list().first().is_some_and(|n| {
                    n.metadata.deletion_timestamp.is_zero() && n.spec.taints.iter().all(|t| t.key != TO_BE_DELETED)
                });
                json(health.is_healthy() && eligible, Some(eligible))
            }
            "/livez" => json(health.is_healthy(), None),
            _ => HttpResponse::new(404, "text/plain; charset=utf-8", b"404 page not found\n"),
        };
        if conn.send(response).is_err() {
            return;
        }
    }
}
