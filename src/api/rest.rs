//! The wire of the API server: what clients in the world and the HTTP door both put on a connection. Plain data.
//!
//! One connection carries many requests at once, as HTTP/2 does: every request opens a stream with a number that its
//! client chose, and all answers name it. Objects travel as shared values; bytes only where somebody typed them.

use crate::core_v1;
use crate::meta_v1;
use crate::table::Table;
use crate::{AnyRev, Object, Rev, Status, Str};
use std::any::Any;
use std::rc::Rc;

/// What a request asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verb {
    /// One object, or a text subresource such as `log`.
    Get,
    /// A collection.
    List,
    /// A collection or an object, and what becomes of it.
    Watch,
    /// A new object, or a subresource's action (`binding`, `eviction`, `token`, `exec`).
    Create,
    /// A whole object in place of the stored one.
    Update,
    /// A change of the stored object.
    Patch(PatchType),
    /// The end of one object.
    Delete,
    /// The end of all objects of a collection that the selectors match.
    DeleteCollection,
}

impl Verb {
    /// The verb's name as authorization and audit spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch(_) => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }
}

/// How a patch's body is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PatchType {
    /// `application/json-patch+json`, RFC 6902.
    Json,
    /// `application/merge-patch+json`, RFC 7386.
    Merge,
    /// `application/strategic-merge-patch+json`.
    Strategic,
    /// `application/apply-patch+yaml`, server-side apply.
    Apply,
}

/// What a request is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// A resource of the API.
    Resource {
        /// The API group, empty for the core one.
        group: Str,
        /// The version, `v1`.
        version: Str,
        /// The plural name, `pods`.
        resource: Str,
        /// The subresource, empty for the object itself.
        subresource: Str,
        /// The namespace, empty for cluster-scoped resources and for all namespaces.
        namespace: Str,
        /// The object, empty for the collection.
        name: Str,
    },
    /// Anything else: `/version`, `/readyz`, `/apis`.
    Path(Str),
}

/// Who asks, as the connection proves it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Credential {
    /// Nothing was shown.
    #[default]
    Anonymous,
    /// A client certificate: its common name and organisations.
    Certificate {
        /// The user.
        user: Str,
        /// The groups.
        groups: Vec<Str>,
    },
    /// A bearer token.
    Token(Str),
}

/// A request's body.
#[derive(Clone, Default)]
pub enum Body {
    /// None.
    #[default]
    Empty,
    /// An object that needs no decoding.
    Object(Rc<dyn Object>),
    /// Bytes to be decoded as the verb says: an object in JSON or YAML, or a patch.
    Bytes(Rc<[u8]>),
}

/// How the answer's objects are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Accept {
    /// As they are.
    #[default]
    Object,
    /// As rows of a `meta.k8s.io/v1` Table.
    Table,
    /// Metadata alone, `PartialObjectMetadata`.
    Metadata,
}

/// What becomes of unknown and duplicate fields of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FieldValidation {
    /// They are dropped.
    Ignore,
    /// They are dropped with a warning; the API's default.
    #[default]
    Warn,
    /// They are an error; kubectl's default.
    Strict,
}

/// The query of get, list, watch and deletecollection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ListOptions {
    /// `labelSelector`
    pub label_selector: Str,
    /// `fieldSelector`
    pub field_selector: Str,
    /// `limit`, 0 for all.
    pub limit: i64,
    /// `continue`
    pub continue_: Str,
    /// `resourceVersion`, empty if not given.
    pub resource_version: Str,
    /// `resourceVersionMatch`
    pub resource_version_match: Str,
    /// `timeoutSeconds` of a watch.
    pub timeout_seconds: Option<i64>,
    /// `allowWatchBookmarks`
    pub allow_watch_bookmarks: bool,
    /// `sendInitialEvents`
    pub send_initial_events: Option<bool>,
}

/// The query of create, update and patch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WriteOptions {
    /// `dryRun=All`
    pub dry_run: bool,
    /// `fieldManager`, empty if not given.
    pub field_manager: Str,
    /// `fieldValidation`
    pub field_validation: FieldValidation,
    /// `force` of an apply.
    pub force: bool,
}

/// The query of a pod's `log`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LogOptions {
    /// `container`
    pub container: Str,
    /// `follow`
    pub follow: bool,
    /// `previous`
    pub previous: bool,
    /// `timestamps`
    pub timestamps: bool,
    /// `tailLines`
    pub tail_lines: Option<i64>,
    /// `sinceSeconds`
    pub since_seconds: Option<i64>,
    /// `sinceTime`, RFC 3339.
    pub since_time: Str,
    /// `limitBytes`
    pub limit_bytes: Option<i64>,
}

/// The query of a pod's `exec` and `attach`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExecOptions {
    /// `container`
    pub container: Str,
    /// `command`
    pub command: Vec<Str>,
    /// `stdin`
    pub stdin: bool,
    /// `tty`
    pub tty: bool,
}

/// A request's query.
#[derive(Clone, Debug, Default)]
pub enum Query {
    /// None.
    #[default]
    None,
    /// Of get, list, watch; of deletecollection its selectors.
    List(ListOptions),
    /// Of create, update, patch.
    Write(WriteOptions),
    /// Of `log`.
    Log(LogOptions),
    /// Of `exec` and `attach`.
    Exec(ExecOptions),
    /// Of `proxy`: what is asked there, path and query.
    Proxy(Str),
}

/// `Impersonate-User` and its kin.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Impersonation {
    /// The user to act as.
    pub user: Str,
    /// The groups to act in.
    pub groups: Vec<Str>,
    /// `Impersonate-Uid`
    pub uid: Str,
}

/// One request.
#[derive(Clone)]
pub struct Request {
    /// What to do.
    pub verb: Verb,
    /// To what.
    pub target: Target,
    /// With which options. A delete's are its body, as in the API.
    pub query: Query,
    /// `meta/v1 DeleteOptions` of delete and deletecollection.
    pub delete: Option<Rc<meta_v1::DeleteOptions>>,
    /// The body.
    pub body: Body,
    /// How objects are wanted.
    pub accept: Accept,
    /// Who asks.
    pub credential: Credential,
    /// In whose place.
    pub impersonate: Option<Impersonation>,
    /// `User-Agent`: its part before the first `/` is the default field manager.
    pub user_agent: Str,
    /// The revisions that led to this write, for "why".
    pub causes: Rc<[u64]>,
}

/// What happened to a watched object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventType {
    /// It is new, or new to the selector.
    Added,
    /// It changed.
    Modified,
    /// It is gone, or gone from the selector; its last state.
    Deleted,
    /// Nothing; the object carries a revision up to which all was sent.
    Bookmark,
    /// The watch failed; a Status says how.
    Error,
}

impl EventType {
    /// The word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
            Self::Bookmark => "BOOKMARK",
            Self::Error => "ERROR",
        }
    }
}

/// What a watch event carries.
#[derive(Clone)]
pub enum WatchBody {
    /// The object.
    Object(AnyRev),
    /// Its row, where a Table was asked for.
    Table(Rc<Table>),
    /// The revision of a bookmark; true if it ends the initial events.
    Bookmark(u64, bool),
    /// The failure.
    Status(Rc<Status>),
}

/// One event of a watch.
#[derive(Clone)]
pub struct WatchEvent {
    /// What happened.
    pub type_: EventType,
    /// To what.
    pub body: WatchBody,
}

/// A collection.
#[derive(Clone, Default)]
pub struct ObjectList {
    /// The objects.
    pub items: Vec<AnyRev>,
    /// The revision at which this was the state.
    pub revision: u64,
    /// The token for what follows, empty at the end.
    pub continue_: Str,
    /// How many follow, where known.
    pub remaining: Option<i64>,
}

/// A list of one type, as clients hand it out.
#[derive(Clone)]
pub struct TypedList<T> {
    /// The objects.
    pub items: Vec<Rev<T>>,
    /// The revision at which this was the state.
    pub revision: u64,
    /// The token for what follows, empty at the end.
    pub continue_: Str,
}

/// An answer's body.
#[derive(Clone)]
pub enum Answer {
    /// An object.
    Object(AnyRev),
    /// A collection; its kind and version are the resource's.
    List(ObjectList),
    /// Rows.
    Table(Rc<Table>),
    /// Success without an object, or a failure.
    Status(Rc<Status>),
    /// A text: a log, `/readyz`.
    Text(Str),
    /// A document that is no object: discovery, `/version`. JSON.
    Json(Rc<[u8]>),
    /// What was asked for follows as frames until [`ServerFrame::End`].
    Stream,
}

/// One answer.
#[derive(Clone)]
pub struct Response {
    /// The HTTP status code.
    pub code: u16,
    /// `Warning` headers, in order.
    pub warnings: Vec<Str>,
    /// `Retry-After` in seconds, 0 if not given.
    pub retry_after: u32,
    /// The body.
    pub answer: Answer,
}

/// Channels of a stream of bytes (Kubernetes' remote command protocol).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channel {
    /// To the program.
    Stdin,
    /// From the program, or a log.
    Stdout,
    /// From the program.
    Stderr,
}

/// From a client to a server.
pub enum ClientFrame {
    /// Opens a stream. Numbers are the client's and never used twice on a connection.
    Request {
        /// The stream's number.
        stream: u64,
        /// The request.
        request: Box<Request>,
    },
    /// Bytes for a stream; empty ends the channel.
    Data {
        /// The stream.
        stream: u64,
        /// The bytes.
        data: Rc<[u8]>,
    },
    /// A step of a connection that a stream of `portforward` carries.
    Forward {
        /// The stream.
        stream: u64,
        /// Which of its connections.
        connection: u64,
        /// What happens on it.
        step: Forwarded,
    },
    /// The client no longer wants the stream.
    Cancel {
        /// The stream.
        stream: u64,
    },
}

/// What happens on a connection that is forwarded to a port of a pod. Its number is the client's.
pub enum Forwarded {
    /// The client opens it to a port.
    Open(u16),
    /// One side says something, in whatever protocol they have.
    Message(Box<dyn Any>),
    /// One side says nothing more.
    End,
    /// Why the port could not be reached.
    Failed(Str),
}

/// From a server to a client.
pub enum ServerFrame {
    /// The answer to a request, the first frame of its stream; the last one too unless it says [`Answer::Stream`].
    Response {
        /// The stream.
        stream: u64,
        /// The answer.
        response: Response,
    },
    /// Events of a watch, oldest first.
    Events {
        /// The stream.
        stream: u64,
        /// The events.
        events: Vec<WatchEvent>,
    },
    /// Bytes.
    Data {
        /// The stream.
        stream: u64,
        /// Which channel.
        channel: Channel,
        /// The bytes.
        data: Rc<[u8]>,
    },
    /// A step of a connection that a stream of `portforward` carries.
    Forward {
        /// The stream.
        stream: u64,
        /// Which of its connections.
        connection: u64,
        /// What happens on it.
        step: Forwarded,
    },
    /// The stream is over; an exec's Status says how its program ended.
    End {
        /// The stream.
        stream: u64,
        /// The status, where there is one.
        status: Option<Rc<Status>>,
    },
}

/// The body of a pod's `binding`, without going through the generic codec.
pub type Binding = core_v1::Binding;
