//! What the world sends.

use crate::{EventRow, Frame, Inspector, LogLines, ManifestResult, RequestRow};
use serde::{Deserialize, Serialize};

/// One message of the world.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToPage {
    /// The world stands (its boot goes on in view). Comes before the first frame.
    Ready(Ready),
    /// What the map, the time bar and the trip show.
    Frame(Box<Frame>),
    /// Part of the output of a terminal command, in order.
    Output {
        /// Of the command.
        id: u32,
        /// Where it was written.
        stream: Stream,
        /// UTF-8, any number of lines, possibly ending inside one.
        text: String,
    },
    /// A terminal command ended.
    Exit {
        /// Of the command.
        id: u32,
        /// Its exit code, 0 to 255.
        code: u8,
    },
    /// The command needs more lines: the page shows `> ` and sends the whole text again with the next line.
    Incomplete {
        /// Of the command.
        id: u32,
    },
    /// The running command opens a file in the reader's editor (`vi`, `kubectl edit`) and waits for
    /// [`crate::ToWorld::Edited`]. The command's [`ToPage::Exit`] closes the editor too.
    Edit {
        /// Of the running command.
        id: u32,
        /// The file.
        path: String,
        /// What is in it.
        text: String,
    },
    /// The running command begins or ceases to wait for what the reader types. What is typed while nobody waits stays
    /// with the page until somebody does.
    Reading {
        /// Of the running command.
        id: u32,
        /// It waits.
        waits: bool,
    },
    /// What was sent to a command that ended without reading it: the next who reads gets it.
    Unread {
        /// Of the command that ended.
        id: u32,
        /// UTF-8 text.
        text: String,
    },
    /// Answer to [`crate::ToWorld::Complete`].
    Completions(Completions),
    /// Answer to [`crate::ToWorld::Manifest`].
    Manifest(ManifestResult),
    /// What the selected thing's open tab shows.
    Inspector(Box<Inspector>),
    /// New lines of the controller logs.
    Logs(LogLines),
    /// All events, newest last, at most 500: sent when they changed while the panel is open.
    Events(Vec<EventRow>),
    /// New requests since those sent before, newest last, at most 200 a message.
    Requests(Vec<RequestRow>),
    /// A sentence for the reader about something that was asked and refused, in the words of the component that
    /// refused.
    Notice {
        /// The text.
        text: String,
    },
    /// The world panicked; it answers nothing more. (A trap that leaves no room for this message reaches the page as
    /// the worker's error event.)
    Crashed(CrashReport),
}

/// First word of a world.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ready {
    /// [`crate::VERSION`] of the world.
    pub version: u32,
    /// `v1.37.2`.
    pub kubernetes_version: String,
    /// Wall time of the cluster at its start.
    pub epoch_unix_nanos: i64,
    /// What was built, after bounds were kept: nodes, zones, control planes.
    pub nodes: u16,
    /// Zones.
    pub zones: u8,
    /// Members of the control plane.
    pub control_planes: u8,
}

/// Of a command's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// What could stand at the cursor.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Completions {
    /// Of the question.
    pub id: u32,
    /// Byte offset in the line from which a candidate replaces what stands before the cursor.
    pub from: u32,
    /// At most 200, sorted.
    pub candidates: Vec<Candidate>,
}

/// One completion.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Candidate {
    /// The whole word.
    pub text: String,
    /// What it is, kubectl's own short text; may be empty.
    pub description: String,
    /// The word is complete: a space follows it. False for `deployment/` or `--namespace=`.
    pub closed: bool,
}

/// What is known about a world's end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CrashReport {
    /// The panic's message.
    pub message: String,
    /// `file:line:column`.
    pub location: String,
    /// Virtual time.
    pub at: u64,
    /// Build of the world.
    pub build: String,
    /// Seed and sizes, and the inputs with their times: what replays it. Newest last, at most 200 lines.
    pub inputs: Vec<String>,
    /// The last lines of the trace, at most 50.
    pub trace: Vec<String>,
}
