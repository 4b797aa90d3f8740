//! Failures in Kubernetes' words, where more than one place of the server says them.

use api::Status;

use crate::storage::StoreError;

/// 500 or 504, as client-go's callers see a store that doesn't answer; 410 for a compacted revision.
pub fn store(error: StoreError) -> Status {
    match error {
        StoreError::Compacted(_) => Status::expired(error.to_string()),
        _ => plain(error.to_string()),
    }
}

/// 500 for an error that is no Status of its own: it is passed on as it is.
pub fn plain(message: String) -> Status {
    Status::from_object(api::meta_v1::Status {
        status: "Failure".into(),
        code: 500,
        message: message.into(),
        ..Default::default()
    })
}

/// 504: the cache doesn't know that revision in time.
pub fn too_large_resource_version(asked: u64, current: u64) -> Status {
    Status::timeout(&format!("Too large resource version: {asked}, current: {current}"), 1).with_cause(
        "ResourceVersionTooLarge",
        "Too large resource version",
        "",
    )
}
