//! Menus: faults where the thing stands, examples, legend.

use super::controls::{closest, rich};
use super::{Action, Held, Page, icons, use_page};
use crate::cluster::{Cluster, NodeHealth, health};
use crate::examples::EXAMPLES;
use crate::faults::{self, Entry};
use crate::lang::{self, Lang, Text};
use view::{PodState, ProcessState, Subject};
use wasm_bindgen::JsCast;
use yew::prelude::*;

/// Which menu, and where its button is.
#[derive(Debug, Clone, PartialEq)]
pub struct Menu {
    kind: Kind,
    /// The button's rectangle in the window: left, top, right, bottom.
    anchor: (f64, f64, f64, f64),
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Examples,
    Legend,
    Faults,
    Loops,
    Card(String),
    Node(String),
    More,
}

impl Menu {
    fn of(kind: Kind) -> Menu {
        Menu { kind, anchor: (0.0, 0.0, 0.0, 0.0) }
    }
    /// Examples for the editor.
    pub fn examples() -> Menu {
        Menu::of(Kind::Examples)
    }
    /// What shapes and colours mean.
    pub fn legend() -> Menu {
        Menu::of(Kind::Legend)
    }
    /// Faults that stand, and how to end them.
    pub fn faults() -> Menu {
        Menu::of(Kind::Faults)
    }
    /// All loops of the controller manager.
    pub fn loops() -> Menu {
        Menu::of(Kind::Loops)
    }
    /// Faults of a card or a process.
    pub fn card(name: &str) -> Menu {
        Menu::of(Kind::Card(name.to_string()))
    }
    /// Faults of a node.
    pub fn node(name: &str) -> Menu {
        Menu::of(Kind::Node(name.to_string()))
    }
    /// What a phone's header has no room for.
    pub fn more() -> Menu {
        Menu::of(Kind::More)
    }
    /// At the button that was pressed.
    pub fn at(mut self, event: &MouseEvent) -> Menu {
        if let Some(button) = closest(event, "button") {
            let r = button.get_bounding_client_rect();
            self.anchor = (r.left(), r.top(), r.right(), r.bottom());
        }
        self
    }
}

/// Props of [`MenuBox`].
#[derive(Properties, PartialEq)]
pub struct MenuProps {
    /// The menu.
    pub menu: Menu,
    /// What it is about.
    pub cluster: Held<Cluster>,
    /// Virtual time in seconds.
    pub seconds: u64,
    /// The window.
    pub window: (f64, f64),
}

/// Where a box of this size goes: under its button if there is room, else above, and inside the window.
fn place(anchor: (f64, f64, f64, f64), size: (f64, f64), window: (f64, f64)) -> (f64, f64) {
    let (left, top, right, bottom) = anchor;
    let x = if left + size.0 <= window.0 - 8.0 { left } else { (right - size.0).max(8.0) };
    let x = x.min(window.0 - size.0 - 8.0).max(8.0);
    let below = bottom + 6.0;
    let y = if below + size.1 <= window.1 - 8.0 {
        below
    } else if top - 6.0 - size.1 >= 8.0 {
        top - 6.0 - size.1
    } else {
        (window.1 - size.1 - 8.0).max(8.0)
    };
    (x.round(), y.round())
}

/// An open menu. Arrow keys walk, Esc and a click outside close.
#[component]
pub fn MenuBox(props: &MenuProps) -> Html {
    let page = use_page();
    let node = use_node_ref();
    let at = use_state(|| None::<(f64, f64)>);
    {
        let (node, at, anchor, window) = (node.clone(), at.clone(), props.menu.anchor, props.window);
        use_effect_with(props.menu.clone(), move |_| {
            if let Some(element) = node.cast::<web_sys::HtmlElement>() {
                let size = (f64::from(element.offset_width()), f64::from(element.offset_height()));
                at.set(Some(place(anchor, size, window)));
                focus(&element, 0);
            }
        });
    }
    let onkeydown = {
        let (node, act) = (node.clone(), page.act.clone());
        Callback::from(move |event: KeyboardEvent| {
            let Some(element) = node.cast::<web_sys::HtmlElement>() else { return };
            match event.key().as_str() {
                "Escape" | "Tab" => {
                    event.prevent_default();
                    event.stop_propagation();
                    act.emit(Action::CloseMenu);
                }
                "ArrowDown" => {
                    event.prevent_default();
                    focus(&element, 1);
                }
                "ArrowUp" => {
                    event.prevent_default();
                    focus(&element, -1);
                }
                _ => {}
            }
        })
    };
    let style = match *at {
        Some((x, y)) => format!("left:{x}px;top:{y}px"),
        // What is hidden by `visibility` could not take the focus.
        None => "left:0;top:0;opacity:0".to_string(),
    };
    let (label, body) = body(&page, props);
    html! {
        <div class="shade" onmousedown={page.does(Action::CloseMenu)}>
            <div class="menu" role="menu" aria-label={label} {style} ref={node} {onkeydown} tabindex="-1"
                onmousedown={Callback::from(|e: MouseEvent| e.stop_propagation())}>{ body }</div>
        </div>
    }
}

/// Moves the focus among the items; 0 goes to the first.
fn focus(menu: &web_sys::HtmlElement, step: i32) {
    let Ok(items) = menu.query_selector_all("[role=menuitem], [role=menuitemradio]") else { return };
    let items: Vec<web_sys::HtmlElement> = (0..items.length()).filter_map(|i| items.item(i)?.dyn_into().ok()).collect();
    let active = web_sys::window().and_then(|w| w.document()).and_then(|d| d.active_element());
    let here = items.iter().position(|i| active.as_ref().is_some_and(|a| a.is_same_node(Some(i))));
    let count = items.len() as i32;
    let next = match here {
        Some(at) if step != 0 => (at as i32 + step).rem_euclid(count.max(1)),
        _ => 0,
    };
    match items.get(next as usize) {
        Some(item) => drop(item.focus()),
        None => drop(menu.focus()),
    }
}

fn item(page: &Page, icon: &'static str, label: String, code: String, action: Action) -> Html {
    let act = page.act.clone();
    let onclick = Callback::from(move |_: MouseEvent| {
        act.emit(Action::CloseMenu);
        act.emit(action.clone());
    });
    html! {
        <button type="button" role="menuitem" tabindex="-1" {onclick}>
            { icons::sized(icon, "s14") }<span>{ label }</span>if !code.is_empty() { <code>{ code }</code> }
        </button>
    }
}

fn entries(page: &Page, entries: Vec<Entry>) -> Html {
    entries
        .into_iter()
        .map(|e| {
            let action = if e.terminal { Action::Run(e.line.clone()) } else { Action::Fault(e.line.clone()) };
            html! { <>if e.apart { <hr/> }{ item(page, e.icon, e.label, e.line, action) }</> }
        })
        .collect()
}

fn body(page: &Page, props: &MenuProps) -> (String, Html) {
    let lang = page.lang;
    let cluster = &props.cluster;
    let plane = &cluster.control_plane;
    match &props.menu.kind {
        Kind::Examples => {
            let items = EXAMPLES
                .iter()
                .map(|e| item(page, "file", e.title.en_or(lang), String::new(), Action::Load(e.text.to_string())));
            (page.t(lang::EXAMPLES).to_string(), html! { <>{ for items }</> })
        }
        Kind::More => {
            let other = lang.pick((Lang::Ko, "한국어"), (Lang::En, "English"));
            (
                page.t(lang::MENU).to_string(),
                html! { <>
                    { item(page, "file", other.1.to_string(), String::new(), Action::Lang(other.0)) }
                    { item(page, "sun", page.t(lang::THEME).to_string(), String::new(), Action::NextTheme) }
                    <hr/>
                    { item(page, "object", page.t(lang::DIFFERENCES_TITLE).to_string(), String::new(), Action::Dialog(Some(super::dialogs::Dialog::Differences))) }
                    { item(page, "help", page.t(lang::HELP).to_string(), String::new(), Action::Dialog(Some(super::dialogs::Dialog::Help))) }
                </> },
            )
        }
        Kind::Legend => (page.t(lang::LEGEND).to_string(), legend(page)),
        Kind::Faults => {
            let standing = cluster.faults.iter().map(|f| {
                let label = lang.pick(format!("End: {}", f.line), format!("끝내기: {}", f.line));
                item(page, "check", label, f.end_line.clone(), Action::Fault(f.end_line.clone()))
            });
            (
                page.t(lang::FAULTS).to_string(),
                html! { <>
                    <h4><b>{ page.t(lang::FAULTS) }</b></h4>
                    if cluster.faults.is_empty() { <p class="hint">{ page.t(lang::FAULTS_NONE) }</p> }
                    { for standing }
                    if cluster.faults.len() > 1 { <hr/>{ item(page, "check", page.t(lang::FAULTS_RESTORE).to_string(), "cluster restore".into(), Action::Fault("cluster restore".into())) } }
                    <hr/>
                    <p class="hint">{ page.t(lang::FAULTS_HINT) }</p>
                </> },
            )
        }
        Kind::Loops => {
            let items = plane.loops.iter().map(|l| {
                let code = l.wanted_actual.map(|(w, a)| format!("{a}/{w}")).unwrap_or_default();
                item(page, "loop", l.name.clone(), code, Action::Inspect(Subject::Loop { name: l.name.clone() }))
            });
            ("kube-controller-manager".to_string(), html! { <div class="tall">{ for items }</div> })
        }
        Kind::Node(name) => {
            let Some(node) = cluster.nodes.values().find(|n| n.name == *name) else {
                return (name.clone(), Html::default());
            };
            let ready = health(node, props.seconds * 1_000_000_000) != NodeHealth::NotReady;
            (
                format!("{name} {}", page.t(lang::FAULTS)),
                html! { <>
                    <h4><b>{ name.clone() }</b>{ " " }{ page.t(lang::FAULTS) }
                        <span class={classes!("cond", if ready { "ok" } else { "bad" })}>{ if ready { "Ready" } else { "NotReady" } }</span></h4>
                    { entries(page, faults::of_node(lang, node, &cluster.faults)) }
                </> },
            )
        }
        Kind::Card(card) => {
            let mut processes = faults::processes(plane, card);
            if processes.is_empty() {
                let all =
                    ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "cloud-controller-manager"];
                processes = all.iter().flat_map(|c| faults::processes(plane, c)).filter(|p| p.name == *card).collect();
            }
            let peers = if card == "etcd" && processes.len() > 1 { vec!["etcd".to_string()] } else { vec![] };
            let parts = processes.iter().enumerate().map(|(i, p)| {
                let (word, class) = match p.state {
                    ProcessState::Running => (lang.pick("running", "실행 중"), "ok"),
                    ProcessState::Starting => (page.t(lang::RESTARTING), "warn"),
                    ProcessState::Stopped => (page.t(lang::STOPPED), "bad"),
                    ProcessState::CutOff => (page.t(lang::CUT_OFF), "bad"),
                };
                html! { <>
                    if i > 0 { <hr/> }
                    <h4><b>{ &p.name }</b>{ " " }{ &p.host }<span class={classes!("cond", class)}>{ word }</span></h4>
                    { entries(page, faults::of_process(lang, &p.name, p.state, &peers, &cluster.faults)) }
                </> }
            });
            (format!("{card} {}", page.t(lang::FAULTS)), html! { <div class="tall">{ for parts }</div> })
        }
    }
}

const MEANINGS: &[(PodState, Text)] = &[
    (PodState::Pending, Text { en: "No node yet", ko: "아직 노드 없음" }),
    (PodState::Creating, Text { en: "Bound; pulling, creating, starting", ko: "노드 정해짐, 컨테이너 만드는 중" }),
    (PodState::Running, Text { en: "Running, not ready", ko: "실행 중, 아직 준비 안 됨" }),
    (PodState::Ready, Text { en: "Running and ready", ko: "실행 중이고 준비됨" }),
    (PodState::Terminating, Text { en: "Asked to stop", ko: "종료를 요청받음" }),
    (PodState::Succeeded, Text { en: "Finished, exit 0", ko: "끝남, 종료 코드 0" }),
    (PodState::Failed, Text { en: "Finished or waiting with an error", ko: "오류로 끝났거나 오류로 기다림" }),
    (PodState::CrashLoop, Text { en: "Starts, dies, waits", ko: "시작하고 죽고 기다리기를 되풀이" }),
    (PodState::Unknown, Text { en: "Its node no longer reports", ko: "노드가 더는 보고하지 않음" }),
];

fn legend(page: &Page) -> Html {
    let rows = MEANINGS.iter().map(|(state, text)| {
        html! { <li class={format!("s-{}", icons::state_name(*state))}>{ icons::shape(*state) }<b>{ icons::state_name(*state) }</b><span>{ page.t(*text) }</span></li> }
    });
    let lights = page.lang.pick(
        "A violet light is a message on its way; every line ends at the API server.",
        "보라색 빛은 오가는 메시지입니다. 모든 선은 API 서버에서 끝납니다.",
    );
    let marks = [
        (html! { <i class="mk in"></i> }, lang::LEGEND_INPUT),
        (html! { <i class="mk fault">{ icons::sized("bolt", "s12") }</i> }, lang::LEGEND_FAULT),
        (html! { <i class="fu"></i> }, lang::LEGEND_TIMER),
    ];
    html! { <>
        <h4><b>{ page.t(lang::LEGEND_TITLE) }</b></h4><ul class="legendlist">{ for rows }</ul><hr/>
        <h4><b>{ page.t(lang::LEGEND_TIME) }</b></h4>
        <ul class="legendlist marks">{ for marks.into_iter().map(|(sign, text)| html! { <li>{ sign }<span>{ page.t(text) }</span></li> }) }</ul><hr/>
        <p class="hint">{ rich(lights) }</p>
    </> }
}

impl Text {
    /// An owned text in this language.
    pub fn en_or(self, lang: Lang) -> String {
        lang.of(self).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn a_menu_stays_inside_the_window() {
        let window = (1000.0, 700.0);
        assert_eq!(place((10.0, 10.0, 60.0, 38.0), (300.0, 200.0), window), (10.0, 44.0));
        assert_eq!(place((900.0, 10.0, 960.0, 38.0), (300.0, 200.0), window), (660.0, 44.0));
        assert_eq!(place((10.0, 650.0, 60.0, 680.0), (300.0, 200.0), window), (10.0, 444.0));
        assert_eq!(place((10.0, 300.0, 60.0, 330.0), (2000.0, 900.0), window), (8.0, 8.0));
    }
}
