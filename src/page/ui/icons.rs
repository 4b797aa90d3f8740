//! Icons and shapes, drawn in one size of box: 16 by 16.

use view::PodState;
use yew::prelude::*;

const PATHS: &[(&str, &str)] = &[
    ("down", "m4.5 6.5 3.5 3.5 3.5-3.5"),
    (
        "book",
        "M8 4.2C6.6 3.1 4.6 2.9 2.25 3v9.5c2.3-.1 4.3.2 5.75 1.2 1.45-1 3.45-1.3 5.75-1.2V3C11.4 2.9 9.4 3.1 8 4.2zM8 4.2v9.4",
    ),
    (
        "sun",
        "M10.75 8a2.75 2.75 0 1 1-5.5 0 2.75 2.75 0 0 1 5.5 0zM8 1.75v1.5M8 12.75v1.5M1.75 8h1.5M12.75 8h1.5M3.6 3.6l1 1M11.4 11.4l1 1M12.4 3.6l-1 1M4.6 11.4l-1 1",
    ),
    ("moon", "M13.25 9.6A5.75 5.75 0 0 1 6.4 2.75 5.75 5.75 0 1 0 13.25 9.6z"),
    ("auto", "M14.25 8a6.25 6.25 0 1 1-12.5 0 6.25 6.25 0 0 1 12.5 0zM8 1.75v12.5M8 4.5h4.9M8 8h6.25M8 11.5h4.9"),
    (
        "help",
        "M14.25 8a6.25 6.25 0 1 1-12.5 0 6.25 6.25 0 0 1 12.5 0zM6.3 6.4A1.75 1.75 0 1 1 8.6 8c-.4.2-.6.5-.6 1M8 11.2v.1",
    ),
    ("folder", "M2 12.5v-9h4l1.5 2H14v7z"),
    ("check", "m3.5 8.5 3 3 6-7"),
    ("warn", "M8 2.5 14.5 13.5h-13zM8 6.5v3.25M8 11.6v.1"),
    ("x", "m4.5 4.5 7 7m0-7-7 7"),
    ("loop", "M13 8a5 5 0 1 1-1.5-3.6M13 2.5v2.4h-2.4"),
    ("bolt", "M9 1.75 3.5 9H8l-1 5.25L12.5 7H8z"),
    (
        "grid",
        "M3.5 2.5h2.5a1 1 0 0 1 1 1V6a1 1 0 0 1-1 1H3.5a1 1 0 0 1-1-1V3.5a1 1 0 0 1 1-1zM10 2.5h2.5a1 1 0 0 1 1 1V6a1 1 0 0 1-1 1H10a1 1 0 0 1-1-1V3.5a1 1 0 0 1 1-1zM3.5 9h2.5a1 1 0 0 1 1 1v2.5a1 1 0 0 1-1 1H3.5a1 1 0 0 1-1-1V10a1 1 0 0 1 1-1zM10 9h2.5a1 1 0 0 1 1 1v2.5a1 1 0 0 1-1 1H10a1 1 0 0 1-1-1V10a1 1 0 0 1 1-1z",
    ),
    (
        "node",
        "M3.25 3h9.5a1 1 0 0 1 1 1v2.25a1 1 0 0 1-1 1h-9.5a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM3.25 8.75h9.5a1 1 0 0 1 1 1V12a1 1 0 0 1-1 1h-9.5a1 1 0 0 1-1-1V9.75a1 1 0 0 1 1-1zM4.75 5.1v.1M4.75 10.9v.1",
    ),
    ("beat", "M1.5 8h3l1.5-4 3 8 1.75-4h3.75"),
    ("search", "M11.25 7a4.25 4.25 0 1 1-8.5 0 4.25 4.25 0 0 1 8.5 0zM10.25 10.25l3.25 3.25"),
    ("follow", "M8 3v9M4.5 8.75 8 12.25l3.5-3.5"),
    ("pause", "M5.75 3.5v9M10.25 3.5v9"),
    ("play", "M5 3.25 12.5 8 5 12.75z"),
    ("step", "M4 3.5 9.5 8 4 12.5zM12 3.5v9"),
    ("timer", "M13 9a5 5 0 1 1-10 0 5 5 0 0 1 10 0zM8 6.25V9l1.75 1M6.5 1.75h3"),
    ("settle", "M2 8h1.5l1.5-4 2 8 1.5-5.5L10 9l1-1h3"),
    ("object", "m8 1.75 5.5 3v6.5l-5.5 3-5.5-3v-6.5zM2.5 4.75 8 7.75l5.5-3M8 7.75v6.5"),
    (
        "memory",
        "M3 4.5h10a1 1 0 0 1 1 1v5a1 1 0 0 1-1 1H3a1 1 0 0 1-1-1v-5a1 1 0 0 1 1-1zM5 7v2M8 7v2M11 7v2M4.5 11.5v2M8 11.5v2M11.5 11.5v2",
    ),
    (
        "disk",
        "M2.5 4.25c0-1 2.5-1.75 5.5-1.75s5.5.75 5.5 1.75v7.5c0 1-2.5 1.75-5.5 1.75s-5.5-.75-5.5-1.75zM2.5 4.25C2.5 5.25 5 6 8 6s5.5-.75 5.5-1.75M2.5 8c0 1 2.5 1.75 5.5 1.75S13.5 9 13.5 8",
    ),
    ("label", "M2.5 2.5h5l6 6-5 5-6-6zM5.25 5.25v.1"),
    ("power", "M8 2v5.5M4.5 4.2a5.25 5.25 0 1 0 7 0"),
    (
        "cut",
        "M5.9 4a1.9 1.9 0 1 1-3.8 0 1.9 1.9 0 0 1 3.8 0zM5.9 12a1.9 1.9 0 1 1-3.8 0 1.9 1.9 0 0 1 3.8 0zM5.6 5.1l8 6.4M5.6 10.9l8-6.4",
    ),
    ("slow", "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0zM8 4.5V8H5.5"),
    ("cordon", "M14.25 8a6.25 6.25 0 1 1-12.5 0 6.25 6.25 0 0 1 12.5 0zM3.6 3.6l8.8 8.8"),
    ("uncordon", "M14.25 8a6.25 6.25 0 1 1-12.5 0 6.25 6.25 0 0 1 12.5 0zM8 5v6M5 8h6"),
    ("drain", "M2.5 2.5h11v4h-11zM5 9v4M3.5 11.5 5 13l1.5-1.5M11 9v4M9.5 11.5 11 13l1.5-1.5"),
    ("wrap", "M2.5 3.5h11M2.5 7.5h9a2.25 2.25 0 0 1 0 4.5H8M9.75 10.25 8 12l1.75 1.75M2.5 12h2.5"),
    ("filter", "M2.5 4h11M4.5 8h7M6.5 12h3"),
    ("file", "M3.5 1.75h6l3 3v9.5h-9zM9.5 1.75v3h3M5.5 8h5M5.5 10.75h5"),
    ("terminal", "m3 4.5 3.5 3.5L3 11.5M8 12h5"),
    ("list", "M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4v.1M2.5 8v.1M2.5 12v.1"),
    ("open", "M9.5 2.5h4v4M13.5 2.5 8 8M11.5 9v4.5h-9v-9H7"),
    ("copy", "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z"),
    ("link", "M6.5 9.5l3-3M7 5l1.8-1.8a2.8 2.8 0 0 1 4 4L11 9M9 11l-1.8 1.8a2.8 2.8 0 0 1-4-4L5 7"),
    ("arrow", "M3 8h9.5M9 4.5 12.5 8 9 11.5"),
    ("story", "M2.25 3.25h11.5v7.5H7.5L4.5 13.5v-2.75H2.25zM5 6h6M5 8.25h4"),
];

/// An icon without a name of its own: what it means stands beside it or on its button.
pub fn icon(name: &'static str) -> Html {
    sized(name, "")
}

/// An icon of 12 or 14 pixels (`s12`, `s14`).
pub fn sized(name: &'static str, size: &'static str) -> Html {
    let d = PATHS.iter().find(|(n, _)| *n == name).map_or("", |(_, d)| *d);
    let fill = if name == "play" { "currentColor" } else { "none" };
    let width = if name == "pause" { "2.25" } else { "1.5" };
    html! {
        <svg class={classes!("i", size)} viewBox="0 0 16 16" aria-hidden="true">
            <path {d} {fill} stroke-width={width} />
        </svg>
    }
}

/// The class of a pod's state, as in the tokens.
pub fn state_name(state: PodState) -> &'static str {
    match state {
        PodState::Pending => "pending",
        PodState::Creating => "creating",
        PodState::Running => "running",
        PodState::Ready => "ready",
        PodState::Terminating => "terminating",
        PodState::Failed => "failed",
        PodState::CrashLoop => "crashloop",
        PodState::Succeeded => "succeeded",
        PodState::Unknown => "unknown",
    }
}

/// The shape of a pod's state. What turns is the whole picture: that the browser does by itself, where a part of it would
/// be drawn anew for every picture of the screen.
pub fn shape(state: PodState) -> Html {
    let spin = (state == PodState::Creating).then_some("spin");
    html! {
        <svg class={classes!("g", spin)} viewBox="0 0 16 16" aria-hidden="true"><use href={format!("#s-{}", state_name(state))} /></svg>
    }
}

/// The symbols that [`shape`] uses, and the hatches.
#[component]
pub fn Symbols() -> Html {
    html! {
        <svg width="0" height="0" class="defs" aria-hidden="true"><defs>
            <symbol id="s-pending" viewBox="0 0 16 16"><circle cx="8" cy="8" r="5.75" fill="none" stroke="currentColor" stroke-width="1.75" stroke-dasharray="2.5 2.02"/></symbol>
            <symbol id="s-creating" viewBox="0 0 16 16"><circle cx="8" cy="8" r="5.75" fill="none" stroke="currentColor" stroke-width="1.75" opacity=".3"/><path d="M8 2.25A5.75 5.75 0 0 1 13.75 8" fill="none" stroke="currentColor" stroke-width="2.25" stroke-linecap="round"/></symbol>
            <symbol id="s-running" viewBox="0 0 16 16"><circle cx="8" cy="8" r="5.75" fill="none" stroke="currentColor" stroke-width="1.75"/><path d="M8 4.6v6.8a3.4 3.4 0 0 1 0-6.8z" fill="currentColor"/></symbol>
            <symbol id="s-ready" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6.75" fill="currentColor"/><path d="m5 8.3 2.1 2.1L11 6.1" fill="none" stroke="var(--surface-card)" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round"/></symbol>
            <symbol id="s-terminating" viewBox="0 0 16 16"><circle cx="8" cy="8" r="5.75" fill="none" stroke="currentColor" stroke-width="1.75"/><path d="M5 8h6" stroke="currentColor" stroke-width="2" stroke-linecap="round"/></symbol>
            <symbol id="s-failed" viewBox="0 0 16 16"><path d="M5.2 1.25h5.6l3.95 3.95v5.6l-3.95 3.95H5.2L1.25 10.8V5.2z" fill="currentColor"/><path d="m5.6 5.6 4.8 4.8m0-4.8-4.8 4.8" stroke="var(--surface-card)" stroke-width="1.75" stroke-linecap="round"/></symbol>
            <symbol id="s-crashloop" viewBox="0 0 16 16"><path d="M8 1.6 15.2 14.2H.8z" fill="currentColor"/><path d="M8 6v3.9M8 12v.1" stroke="var(--surface-card)" stroke-width="1.9" stroke-linecap="round"/></symbol>
            <symbol id="s-succeeded" viewBox="0 0 16 16"><rect x="2.4" y="2.4" width="11.2" height="11.2" rx="2.5" fill="none" stroke="currentColor" stroke-width="1.75"/><path d="m5.2 8.3 2 2 3.6-4.3" fill="none" stroke="currentColor" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round"/></symbol>
            <symbol id="s-unknown" viewBox="0 0 16 16"><path d="M8 1.2 14.8 8 8 14.8 1.2 8z" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linejoin="round"/><path d="M6.4 6.7A1.65 1.65 0 1 1 8.6 8.2c-.4.2-.6.4-.6.9M8 11.1v.1" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round"/></symbol>
            <pattern id="hatch-bad" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="5" height="5" fill="var(--bad-fill)"/><path d="M0 0v5" stroke="var(--state-failed-line)" stroke-width="1.5" opacity=".55"/></pattern>
        </defs></svg>
    }
}

/// The brand's mark.
pub fn brand() -> Html {
    html! {
        <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.75" stroke-linejoin="round" aria-hidden="true"><path d="M1.5 20.5h2V7A2.5 2.5 0 0 1 6 4.5h12A2.5 2.5 0 0 1 20.5 7v13.5h2" stroke-linecap="round"/><path d="M12 12.5V8M12 12.5l4.2 3.2M12 12.5l-4.2 3.2" stroke-linecap="round"/><circle cx="12" cy="12.5" r="2.6" fill="var(--accent)" stroke="none"/></svg>
    }
}
