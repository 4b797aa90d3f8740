//! What the page sends.

use crate::{LogFilter, ManifestAction, Subject};
use serde::{Deserialize, Serialize};

/// One message of the page. Numbers named `id` are chosen by the page, rise, and come back in the answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToWorld {
    /// Build the cluster and boot it. Sent once, first.
    Start(Start),
    /// Run a command in the page's terminal: one line, or several when the shell said [`crate::ToPage::Incomplete`]
    /// (here-documents, open quotes, loops) or the reader pasted many. Ends with a newline. Answered by
    /// [`crate::ToPage::Output`] chunks and one [`crate::ToPage::Exit`], or by `Incomplete`. One runs at a time.
    Command {
        /// Of this command.
        id: u32,
        /// What was typed, lines separated by `\n`.
        text: String,
    },
    /// Keys for the running command's standard input (`kubectl exec -it`, `read`). A closed input is sent as no bytes.
    Stdin {
        /// Of the running command.
        id: u32,
        /// UTF-8 text.
        text: String,
    },
    /// The reader leaves the editor that [`crate::ToPage::Edit`] opened.
    Edited {
        /// Of the running command.
        id: u32,
        /// The file's new text; `None` leaves it as it was.
        text: Option<String>,
    },
    /// Ctrl+C: the running command gets SIGINT and ends with 130.
    Interrupt {
        /// Of the running command.
        id: u32,
    },
    /// Tab: what could stand at the cursor. Answered by [`crate::ToPage::Completions`]. Changes nothing.
    Complete {
        /// Of this question; an answer to an older one is dropped by the page.
        id: u32,
        /// The line so far.
        line: String,
        /// Byte offset of the cursor in it, at a character's border.
        cursor: u32,
    },
    /// Apply, diff, delete or check the editor's text, as `kubectl apply -f -` would. Answered by
    /// [`crate::ToPage::Manifest`].
    Manifest {
        /// Of this request.
        id: u32,
        /// What to do.
        action: ManifestAction,
        /// The whole text: YAML (several documents) or JSON.
        text: String,
        /// Play what follows as a story: slow down and hold at each of the six steps ([`crate::StoryHold`]).
        story: bool,
    },
    /// A `cluster ...` line of the faults' grammar, from a click where the thing stands. Recorded like a typed one;
    /// a refused one is answered by [`crate::ToPage::Notice`].
    Fault {
        /// For example `cluster stop kube-scheduler-1`.
        line: String,
    },
    /// How time goes.
    Pace(Pace),
    /// The inspector looks at this, through this tab; `None` closes it. The world answers at once and again whenever
    /// the answer changed, at most four times a second.
    Select(Option<Selection>),
    /// Which of the dock's panels are open, and the filter of the log. The world sends rows for open panels only.
    /// A changed log filter begins with the newest matching lines of the trace ([`crate::LogLines::reset`]).
    Subscribe(Subscription),
    /// Story mode.
    Story(StoryCommand),
    /// The page has taken in frame `number`; the next may come.
    FrameSeen {
        /// [`crate::Frame::number`].
        number: u64,
    },
}

/// The cluster to build.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// [`crate::VERSION`] of the page.
    pub version: u32,
    /// Of all randomness.
    pub seed: u64,
    /// Worker nodes, 1 to 1,000.
    pub nodes: u16,
    /// Zones over which they are spread, 1 to 26 (`za`, `zb`, ...).
    pub zones: u8,
    /// Members of the control plane: 1, 3 or 5.
    pub control_planes: u8,
    /// Wall time of the cluster at its start, nanoseconds since 1970; `None` leaves it to the blueprint.
    pub epoch_unix_nanos: Option<i64>,
    /// Speed from the start, as in [`Pace::Speed`].
    pub speed_milli: u32,
    /// Stand still once booted.
    pub paused: bool,
}

impl Default for Start {
    fn default() -> Self {
        Start {
            version: crate::VERSION,
            seed: 1,
            nodes: 3,
            zones: 3,
            control_planes: 1,
            epoch_unix_nanos: None,
            speed_milli: 1000,
            paused: false,
        }
    }
}

/// How time goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pace {
    /// On, at the speed last set.
    Run,
    /// Stand still.
    Pause,
    /// Virtual time per real time, in thousandths: 1000 is x1, 10 is x0.01, 1,000,000 is x1000. Does not start a
    /// paused clock.
    Speed(u32),
    /// To the next event that the page would show (a message, a write, a state), then pause.
    Step,
    /// As fast as it goes until nothing more happens but heartbeats and renewals, then back to the pace before.
    UntilSettled,
    /// As fast as it goes until the first timer of [`crate::Frame::timers`] has fired, then back to the pace before.
    NextTimer,
}

/// What the inspector shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// The thing.
    pub subject: Subject,
    /// The tab that is open: only its body is worked out.
    pub tab: InspectorTab,
}

/// The inspector's tabs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum InspectorTab {
    /// Causes, the scheduler's table, loops, timers.
    #[default]
    Why,
    /// The few facts that matter.
    Summary,
    /// `kubectl describe`.
    Describe,
    /// `kubectl get -o yaml --show-managed-fields`.
    Yaml,
    /// The object's events.
    Events,
    /// A pod's containers' logs, a component's log.
    Logs,
}

/// What the dock wants to hear.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Subscription {
    /// Controller logs are open.
    pub logs: bool,
    /// Which of their lines.
    pub log_filter: LogFilter,
    /// The table of events is open.
    pub events: bool,
    /// The table of requests is open.
    pub requests: bool,
}

/// Keys of story mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoryCommand {
    /// Go on to the next step.
    Next,
    /// Leave the story: time goes on at the set speed.
    Skip,
    /// Play the next change as a story.
    Arm,
    /// Don't.
    Disarm,
}
