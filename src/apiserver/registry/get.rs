//! get: one object.

use api::{AnyRev, Status};

use super::{Call, read};

impl Call {
    /// The stored object that the request names, as it is now. With `resourceVersion=0` the cache may answer.
    pub async fn get(&self) -> Result<AnyRev, Status> {
        let resource = self.resource();
        if let api::rest::Query::List(options) = &self.request.query
            && &*options.resource_version == "0"
            && let Some(found) =
                self.server.cache.resource(resource.index).get(&resource.short_key(&self.namespace, &self.name))
        {
            return Ok(found);
        }
        let found = read(&self.server, &self.key()).await?;
        found.ok_or_else(|| Status::not_found(resource.kind, &self.name))
    }
}
