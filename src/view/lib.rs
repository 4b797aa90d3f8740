//! Plain data that passes between the page (main thread) and the world (worker): the only thing the two share.
//!
//! The page sends [`ToWorld`], the world answers with [`ToPage`]; each travels as one postcard message
//! ([`encode`], [`decode`]). Nothing here is translated: words are Kubernetes' own or are typed facts from which the
//! page writes its sentences in the reader's language.
//!
//! # Rules of the conversation
//! - The page sends [`ToWorld::Start`] once; the world answers [`ToPage::Ready`] and its first [`Frame`], which is
//!   complete ([`Frame::full`]). Every later frame carries only what changed since the frame before.
//! - One frame is on its way at a time: after frame `n` the world waits for [`ToWorld::FrameSeen`] with `n`, and lets
//!   at least 32 ms pass, before it sends the next. A slow page so gets fewer frames, never a backlog. A world in
//!   which nothing changed but the clock sends a frame about four times a second while its clock runs, none when it
//!   stands.
//! - Looking changes nothing: [`ToWorld::Select`], [`ToWorld::Subscribe`], [`ToWorld::Complete`] and
//!   [`ManifestAction::Check`] are answered by observing the world between polls. Everything else is an input and is
//!   recorded with its virtual time.
//! - Times named `at` are nanoseconds of virtual time since the world's start; durations are nanoseconds too, unless
//!   their name says otherwise. The wall time of the cluster is [`Ready::epoch_unix_nanos`] plus `at`.

use serde::{Serialize, de::DeserializeOwned};

mod cluster;
mod dock;
mod frame;
mod inspector;
mod manifest;
mod story;
mod to_page;
mod to_world;

pub use cluster::*;
pub use dock::*;
pub use frame::*;
pub use inspector::*;
pub use manifest::*;
pub use story::*;
pub use to_page::*;
pub use to_world::*;

/// Number of this contract. It rises with any change of meaning, so that a page and a world from two builds that
/// meet (a stale cache) say so instead of misreading each other.
pub const VERSION: u32 = 4;

/// Why a message could not be read. The bytes came from another build, or were cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError(String);

impl std::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "unreadable message between page and world: {}", self.0)
    }
}

impl std::error::Error for DecodeError {}

/// Bytes of a message. Writing into memory can't fail for these types; were it to, the empty message comes out,
/// which [`decode`] refuses.
pub fn encode<T: Serialize>(message: &T) -> Vec<u8> {
    postcard::to_allocvec(message).unwrap_or_default()
}

/// A message from its bytes.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    postcard::from_bytes(bytes).map_err(|e| DecodeError(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_way() {
        let line = "kubectl get pods -w\n".to_string();
        let sent = ToWorld::Command { id: 7, text: line };
        assert_eq!(decode::<ToWorld>(&encode(&sent)), Ok(sent));
        let frame = Frame {
            number: 3,
            pods: vec![PodView { id: 1, name: "web-1".into(), state: PodState::Ready, ..PodView::default() }],
            ..Frame::default()
        };
        let sent = ToPage::Frame(Box::new(frame));
        assert_eq!(decode::<ToPage>(&encode(&sent)), Ok(sent));
    }

    #[test]
    fn a_cut_message_is_refused() {
        let bytes = encode(&ToWorld::Command { id: 7, text: "ls".into() });
        assert!(decode::<ToWorld>(&bytes[..bytes.len() - 1]).is_err());
        assert!(decode::<ToWorld>(&[]).is_err());
    }
}
