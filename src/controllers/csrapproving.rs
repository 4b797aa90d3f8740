//! The approver of kubelets' certificate signing requests (`pkg/controller/certificates/approver`): approves those
//! whose requester may have them approved, as a SubjectAccessReview says.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use api::authorization_v1::{ResourceAttributes, SubjectAccessReview};
use api::certificate_request::{self, Subject};
use api::json::Value;
use api::{List, Ptr, Resource, Str};
use client::{Client, DynInformer, Key, RateLimiter, Work, WorkQueue, klog};

use crate::context::ControllerContext;
use crate::controller_utils::SyncError;
use crate::worker::{Reconcile, Worker};

const LOGGER: &str = "certificatesigningrequest-approving-controller";
const SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const RETRY: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(1000));

/// What a recognized request must be allowed to create, and what its approval says.
const RECOGNIZERS: [(&str, &str); 2] = [
    ("selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview."),
    ("nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview."),
];

struct Approver {
    ctx: sim::Ctx,
    client: Client,
    requests: DynInformer,
    queue: WorkQueue<Key>,
    observed: crate::observed::Handle,
}

/// The informer of certificate signing requests.
pub(crate) fn informer(cc: &ControllerContext) -> Option<DynInformer> {
    let kind = api::scheme::by_api_version("certificates.k8s.io/v1", "CertificateSigningRequest")?;
    Some(cc.informers.of_kind(kind))
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting certificate controller")
        .str("logger", LOGGER)
        .str("name", "csrapproving")
        .log(&cc.ctx, "certificate_controller.go:120");
    let Some(requests) = informer(&cc) else { return };
    let limiter = RateLimiter::exponential_with_bucket(RETRY.0, RETRY.1);
    let controller = Rc::new(Approver {
        ctx: cc.ctx.clone(),
        client: cc.client("certificate-controller"),
        requests: requests.clone(),
        queue: WorkQueue::with_limiter(&cc.ctx, "certificate", limiter),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&controller.queue);
    let queue = controller.queue.clone();
    requests.on(move |delta| {
        if let Some(metadata) = delta.object().body.metadata() {
            queue.add_caused(Key::of(metadata), delta.revision());
        }
    });
    requests.synced().await;
    Worker::spawn(&cc.ctx, 5, controller.queue.clone(), controller);
}

/// Whether a kubelet asks for its client certificate (`IsKubeletClientCSR`).
fn is_kubelets(request: &Value, subject: &Subject) -> bool {
    let usages = request.at(&["spec", "usages"]).and_then(Value::as_array);
    let mut usages: BTreeSet<&str> =
        usages.into_iter().flat_map(|list| list.iter()).filter_map(Value::as_str).collect();
    usages.remove("key encipherment");
    request.str_at(&["spec", "signerName"]) == SIGNER
        && subject.organisations == ["system:nodes"]
        && !subject.other_names
        && subject.common_name.starts_with("system:node:")
        && usages.into_iter().eq(["client auth", "digital signature"])
}

/// Who asked, as the server noted it.
fn review(request: &Value, subresource: &str) -> SubjectAccessReview {
    let texts = |value: Option<&Value>| -> List<Str> {
        let list = value.and_then(Value::as_array).into_iter().flat_map(|list| list.iter());
        List::from(list.filter_map(Value::as_str).map(Str::from).collect::<Vec<_>>())
    };
    let mut review = SubjectAccessReview::default();
    let spec = review.spec.make();
    spec.user = request.str_at(&["spec", "username"]).into();
    spec.uid = request.str_at(&["spec", "uid"]).into();
    spec.groups = texts(request.at(&["spec", "groups"]));
    if let Some(Value::Object(extra)) = request.at(&["spec", "extra"]) {
        spec.extra = extra.iter().map(|(key, values)| (key.clone(), texts(Some(values)))).collect();
    }
    spec.resource_attributes = Ptr::some(ResourceAttributes {
        group: "certificates.k8s.io".into(),
        resource: "certificatesigningrequests".into(),
        verb: "create".into(),
        subresource: subresource.into(),
        version: "*".into(),
        ..ResourceAttributes::default()
    });
    review
}

impl Approver {
    /// Approves a request, or says as what it was recognized in vain.
    async fn approve(&self, work: &Work<Key>) -> Result<Vec<&'static str>, SyncError> {
        let mut tried = Vec::new();
        let Some(found) = self.requests.get(&work.key) else { return Ok(tried) };
        let mut request = api::json::to_value_bare(&*found.body);
        let conditions = request.at(&["status", "conditions"]).and_then(Value::as_array);
        let mut conditions: Vec<Value> = conditions.map(|list| list.to_vec()).unwrap_or_default();
        let decided = conditions.iter().any(|c| matches!(c.str_at(&["type"]), "Approved" | "Denied"));
        if decided || !request.str_at(&["status", "certificate"]).is_empty() {
            return Ok(tried);
        }
        let name = &work.key.name;
        let pem = api::value::unbase64(request.str_at(&["spec", "request"]).as_bytes()).unwrap_or_default();
        let subject = certificate_request::parse(&pem)
            .map_err(|err| SyncError::Other(format!("unable to parse csr {}: {err}", api::go::quote(name))))?;
        let own = subject.common_name == request.str_at(&["spec", "username"]);
        if !is_kubelets(&request, &subject) {
            return Ok(tried);
        }
        let client = self.client.caused_by(&work.causes);
        for (subresource, message) in RECOGNIZERS.into_iter().filter(|(name, _)| own || *name == "nodeclient") {
            tried.push(subresource);
            let review = Rc::new(review(&request, subresource));
            let answer = client.create_kind(SubjectAccessReview::KIND, "", "", "", review).await?;
            if !answer.body.downcast_ref::<SubjectAccessReview>().is_some_and(|review| review.status.allowed) {
                continue;
            }
            let fields = [("type", "Approved"), ("status", "True"), ("reason", "AutoApproved"), ("message", message)];
            conditions.push(fields.into_iter().map(|(field, text)| (field, Value::from(text))).collect());
            request.set_at(&["status", "conditions"], Value::from(conditions));
            let mut approved = found.body.boxed();
            api::json::from_value(&request, &mut *approved, false).map_err(|err| SyncError::Other(err.to_string()))?;
            self.observed.action(&work.key, "approve the request".to_string());
            let updated = client.update_kind(self.requests.kind(), "approval", approved, found.revision).await;
            updated.map_err(|err| SyncError::Other(format!("error updating approval for csr: {err}")))?;
            return Ok(Vec::new());
        }
        Ok(tried)
    }
}

impl Reconcile<Key> for Approver {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let tried = self.approve(work).await?;
        match tried.is_empty() {
            true => self.queue.forget(&work.key),
            // It is tried again without a word.
            false => self.queue.add_rate_limited(work.key.clone()),
        }
        Ok(())
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        let Err(err) = result else { return };
        klog::unhandled(format!("Sync {} failed with : {err}", work.key.name))
            .log(&self.ctx, "certificate_controller.go:158");
        self.queue.retry(work);
    }
}
