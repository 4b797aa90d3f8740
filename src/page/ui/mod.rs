//! The components. They hold no logic worth a test: that stands in the plain modules.

mod app;
mod controls;
mod dialogs;
mod dock;
mod editor;
mod flow;
mod header;
mod icons;
mod inspector;
mod lights;
mod manifest;
mod map;
mod map_cards;
mod map_dense;
mod map_nodes;
mod menus;
mod story;
mod terminal;
mod timebar;
mod timeline;
mod views;
mod why;

pub use app::App;

use crate::lang::{Lang, Text};
use crate::query::Panel;
use std::rc::Rc;
use view::{InspectorTab, LogFilter, ManifestAction, Pace, StoryCommand, Subject};
use yew::prelude::*;

/// A counted reference as a property: equal when it is the same one, so that unchanged parts of the page are not
/// drawn again.
pub struct Held<T: ?Sized>(pub Rc<T>);

impl<T: ?Sized> Clone for Held<T> {
    fn clone(&self) -> Self {
        Held(self.0.clone())
    }
}
impl<T: ?Sized> PartialEq for Held<T> {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}
impl<T: ?Sized> std::ops::Deref for Held<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}
impl<T: ?Sized> From<&Rc<T>> for Held<T> {
    fn from(rc: &Rc<T>) -> Self {
        Held(rc.clone())
    }
}

/// What every component may know and do.
#[derive(Clone, PartialEq)]
pub struct Page {
    /// The language.
    pub lang: Lang,
    /// Nothing can be changed.
    pub readonly: bool,
    /// The form for an iframe.
    pub embed: bool,
    /// Wall time of the cluster at its start.
    pub epoch: i64,
    /// What the reader does.
    pub act: Callback<Action>,
}

impl Page {
    /// A text in the reader's language.
    pub fn t(&self, text: Text) -> &'static str {
        self.lang.of(text)
    }
    /// A callback that does this.
    pub fn does<E>(&self, action: Action) -> Callback<E> {
        self.act.reform(move |_| action.clone())
    }
}

/// The page from the context. It is always there: the application provides it.
#[hook]
pub fn use_page() -> Page {
    use_context::<Page>().unwrap_or(Page {
        lang: Lang::En,
        readonly: true,
        embed: false,
        epoch: 0,
        act: Callback::noop(),
    })
}

/// What the reader does.
#[derive(Clone, PartialEq)]
pub enum Action {
    /// Shows a panel (a tab of the side or the dock, or on a phone the panel).
    Show(Panel),
    /// Opens or closes the side panel where it is folded.
    Unfold(bool),
    /// Selects a thing.
    Inspect(Subject),
    /// Opens a tab of the inspector.
    InspectTab(InspectorTab),
    /// Closes the inspector.
    CloseInspector,
    /// Chooses the language.
    Lang(Lang),
    /// Goes through auto, light, dark.
    NextTheme,
    /// Opens a menu at a button.
    OpenMenu(menus::Menu),
    /// Closes it.
    CloseMenu,
    /// Opens a dialog, or closes it.
    Dialog(Option<dialogs::Dialog>),
    /// The editor's text changed.
    Edited(String),
    /// Puts a text into the editor.
    Load(String),
    /// Apply, diff, delete.
    Manifest(ManifestAction),
    /// Closes the answer to it.
    CloseAnswer,
    /// A `cluster` line.
    Fault(String),
    /// A command for the terminal, shown there.
    Run(String),
    /// A key in the terminal.
    Term(TermKey),
    /// Filters the log.
    Filter(LogFilter),
    /// Follows the log's end.
    Follow(bool),
    /// How time goes.
    Pace(Pace),
    /// Pauses a clock that goes, and lets one that stands go on.
    PauseOrPlay,
    /// Story mode.
    Story(StoryCommand),
    /// Whether the next change is told as a story.
    Arm(bool),
    /// A fresh world.
    Restart,
    /// Starts the world where it waits for a click.
    StartWorld,
    /// Puts a notice away.
    Dismiss(usize),
    /// Copies a text.
    Copy(String),
}

/// Keys of the terminal.
#[derive(Debug, Clone, PartialEq)]
pub enum TermKey {
    /// The line is now this, with the cursor there.
    Edit(String, usize),
    /// Enter.
    Submit,
    /// Pasted at the cursor.
    Paste(String),
    /// A key of the line editor.
    Read(crate::readline::ReadKey),
    /// Ctrl+R.
    Search,
    /// A character for the search, or none: the last one is taken back.
    LookFor(Option<char>),
    /// Ends the search, with the line found or without.
    EndSearch(bool),
    /// Ctrl+C.
    Interrupt,
    /// Ctrl+L.
    Clear,
    /// Ctrl+D.
    End,
    /// Up.
    Older,
    /// Down.
    Newer,
    /// Tab.
    Tab,
    /// Moves the choice.
    Choose(bool),
    /// Takes a candidate by number.
    Take(usize),
    /// Closes the completions.
    Close,
    /// The text of the file in the editor.
    ChangeFile(String),
    /// Closes the file in the editor; saved or not.
    LeaveFile(bool),
}
