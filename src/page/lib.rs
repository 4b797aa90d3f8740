//! The page: what a visitor sees and touches. Pure logic (state, layout, formatting, editing) stands in plain modules
//! with tests that run natively; `ui` holds the thin components, and only `ui` and `link` speak to the browser.

pub mod cluster;
pub mod dense;
pub mod examples;
pub mod faults;
pub mod format;
pub mod intake;
pub mod klog;
pub mod lanes;
pub mod lang;
pub mod layout;
pub mod link;
pub mod model;
pub mod query;
pub mod readline;
pub mod standing;
pub mod term;
pub mod ui;
pub mod watch;
pub mod words;
pub mod yaml;

/// Mounts the page on the element with id `app`.
pub fn mount() {
    console_error_panic_hook::set_once();
    let root = web_sys::window().and_then(|w| w.document()).and_then(|d| d.get_element_by_id("app"));
    if let Some(root) = root {
        root.set_inner_html("");
        yew::Renderer::<ui::App>::with_root(root).render();
    }
}
