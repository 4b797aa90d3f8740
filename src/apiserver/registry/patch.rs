//! patch: JSON, merge, strategic merge, and server-side apply (endpoints/handlers/patch.go).

use api::json::Value;
use api::rest::{Body, PatchType};
use api::{AnyRev, KindInfo, Object, Status};

use super::{Call, Face};

/// How often a patch is tried anew on the state that somebody else made.
const TRIES: usize = 5;

impl Call {
    /// Changes the request's object by its patch; whether it was created by that (apply).
    pub async fn patch(&self, patch: PatchType) -> Result<(AnyRev, bool), Status> {
        if patch == PatchType::Apply {
            return Err(Status::method_not_supported(self.kind, "apply"));
        }
        let face = self.face();
        let mut make = |old: &AnyRev| -> Result<Box<dyn Object>, Status> {
            let current = super::convert::outgoing(self.kind, old.clone());
            let patched = self.patched(patch, &*current.body, old.revision, self.kind)?;
            let mut new = super::convert::incoming(patched);
            if face != Face::Status {
                api::defaults::apply(&mut *new);
            }
            Ok(new)
        };
        let mut tries = 0;
        loop {
            match self.update_with(&mut make, true).await {
                // A patch that names a version fails with it; another is tried on the newer state.
                Err(status) if status.is_conflict() && tries < TRIES && !self.names_version() => tries += 1,
                other => return other.map(|object| (object, false)),
            }
        }
    }

    fn names_version(&self) -> bool {
        match &self.request.body {
            Body::Bytes(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                Value::parse(&text).is_ok_and(|value| value.at(&["metadata", "resourceVersion"]).is_some())
            }
            _ => false,
        }
    }

    /// The object with the request's patch applied.
    pub(super) fn patched(
        &self,
        patch: PatchType,
        object: &dyn Object,
        revision: u64,
        kind: &'static KindInfo,
    ) -> Result<Box<dyn Object>, Status> {
        let _ = (patch, object, revision);
        Err(Status::method_not_supported(kind, "patch"))
    }
}
