//! The editor of manifests and files: CodeMirror in a file of its own, loaded when the editor is first shown; until it is there, or
//! if it never comes, a plain text field with the same text.

use super::use_page;
use crate::lang;
use gloo_events::EventListener;
use js_sys::{Function, Object, Reflect};
use std::cell::RefCell;
use std::rc::Rc;
use view::Problem;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use yew::prelude::*;

/// Props of [`Editor`].
#[derive(Properties, PartialEq)]
pub struct EditorProps {
    /// A text put in from outside, with a number that rises with each.
    pub load: (u32, Rc<str>),
    /// The text as it is (for the plain field).
    pub text: Rc<str>,
    /// What is wrong, by line.
    #[prop_or_default]
    pub problems: Rc<Vec<Problem>>,
    /// What it is called.
    pub label: AttrValue,
    /// It takes the focus once it is there.
    #[prop_or_default]
    pub focus: bool,
    /// The text changed.
    pub change: Callback<String>,
    /// Ctrl+Enter.
    pub submit: Callback<()>,
}

/// CodeMirror's handle, spoken to by names.
struct Handle {
    object: Object,
    _change: Closure<dyn FnMut(String)>,
    _apply: Closure<dyn FnMut()>,
}

impl Handle {
    fn call(&self, method: &str, arguments: &[JsValue]) {
        if let Ok(function) = Reflect::get(&self.object, &method.into()).and_then(|f| f.dyn_into::<Function>()) {
            let _ = function.apply(&self.object, &arguments.iter().collect());
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.call("destroy", &[]);
    }
}

fn create(
    host: &web_sys::Element,
    text: &str,
    readonly: bool,
    (label, change, submit): &(AttrValue, Callback<String>, Callback<()>),
) -> Option<Handle> {
    let window = web_sys::window()?;
    let module = Reflect::get(&window, &"tabernetesEditor".into()).ok().filter(JsValue::is_object)?;
    let make = Reflect::get(&module, &"create".into()).ok()?.dyn_into::<Function>().ok()?;
    let on = change.clone();
    let change = Closure::<dyn FnMut(String)>::new(move |text: String| on.emit(text));
    let on = submit.clone();
    let apply = Closure::<dyn FnMut()>::new(move || on.emit(()));
    let arguments = [
        host.clone().into(),
        text.into(),
        label.as_str().into(),
        readonly.into(),
        change.as_ref().clone(),
        apply.as_ref().clone(),
    ];
    let object = make.apply(&module, &arguments.iter().collect()).ok()?.dyn_into::<Object>().ok()?;
    Some(Handle { object, _change: change, _apply: apply })
}

/// Asks for CodeMirror's file, once.
fn request_file() {
    let Some(document) = web_sys::window().and_then(|w| w.document()) else { return };
    if document.get_element_by_id("editor-file").is_some() {
        return;
    }
    let build = document.document_element().and_then(|e| e.get_attribute("data-build"));
    let src = build.map_or("editor.js".to_string(), |b| format!("editor.js?b={b}"));
    if let (Ok(script), Some(head)) = (document.create_element("script"), document.head()) {
        script.set_id("editor-file");
        let _ = script.set_attribute("src", &src);
        let _ = head.append_child(&script);
    }
}

/// Problems as the editor's file reads them. Written by hand: four fields need no library.
fn json(problems: &[Problem]) -> String {
    let text = |s: &str| {
        let mut out = String::from("\"");
        for c in s.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                c if (c as u32) < 0x20 || c == '\u{2028}' || c == '\u{2029}' => {
                    out.push_str(&format!("\\u{:04x}", c as u32))
                }
                c => out.push(c),
            }
        }
        out.push('"');
        out
    };
    let items = problems.iter().filter(|p| p.line > 0).map(|p| {
        let suggestion = p.suggestion.as_deref().map_or("null".to_string(), text);
        format!(
            "{{\"line\":{},\"column\":{},\"endColumn\":{},\"message\":{},\"suggestion\":{suggestion}}}",
            p.line,
            p.column,
            p.end_column,
            text(&p.message)
        )
    });
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

/// The editor.
#[component]
pub fn Editor(props: &EditorProps) -> Html {
    let page = use_page();
    let host = use_node_ref();
    let handle = use_mut_ref(|| None::<Handle>);
    let there = use_state(|| false);
    let current: Rc<RefCell<Rc<str>>> = use_mut_ref(|| props.text.clone());
    *current.borrow_mut() = props.text.clone();

    // Build it as soon as both the file and the element are there.
    {
        let (host, handle, there, current) = (host.clone(), handle.clone(), there.clone(), current.clone());
        let (readonly, focus) = (page.readonly, props.focus);
        let ways = (props.label.clone(), props.change.clone(), props.submit.clone());
        use_effect_with((), move |()| {
            let clean = handle.clone();
            let build = move || {
                if handle.borrow().is_some() {
                    return;
                }
                let Some(element) = host.cast::<web_sys::Element>() else { return };
                let text = current.borrow().clone();
                let made = create(&element, &text, readonly, &ways);
                if let Some(made) = made.as_ref().filter(|_| focus) {
                    made.call("focus", &[]);
                }
                if made.is_some() {
                    *handle.borrow_mut() = made;
                    there.set(true);
                }
            };
            request_file();
            build();
            let listener = web_sys::window().map(|w| EventListener::new(&w, "tabernetes-editor", move |_| build()));
            move || {
                drop(listener);
                *clean.borrow_mut() = None;
            }
        });
    }
    {
        let handle = handle.clone();
        use_effect_with(props.load.clone(), move |(number, text)| {
            if *number > 0
                && let Some(handle) = &*handle.borrow()
            {
                handle.call("setText", &[(&**text).into()]);
            }
        });
    }
    {
        let handle = handle.clone();
        let (mean, fix) = (page.lang.pick("Did you mean {}?", "혹시 {} 인가요?"), page.t(lang::FIX));
        use_effect_with((props.problems.clone(), page.lang, *there), move |(problems, _, _)| {
            if let Some(handle) = &*handle.borrow() {
                handle.call("setProblems", &[json(problems).into(), mean.into(), fix.into()]);
            }
        });
    }
    {
        let handle = handle.clone();
        use_effect_with(props.label.clone(), move |label| {
            if let Some(handle) = &*handle.borrow() {
                handle.call("setLabel", &[label.as_str().into()]);
            }
        });
    }
    let oninput = {
        let change = props.change.clone();
        Callback::from(move |event: InputEvent| {
            if let Some(field) = event.target().and_then(|t| t.dyn_into::<web_sys::HtmlTextAreaElement>().ok()) {
                change.emit(field.value());
            }
        })
    };
    let onkeydown = {
        let submit = props.submit.clone();
        Callback::from(move |event: KeyboardEvent| {
            if event.key() == "Enter" && (event.ctrl_key() || event.meta_key()) {
                event.prevent_default();
                submit.emit(());
            }
        })
    };
    html! {
        <div class="editor">
            <div class="cmhost" ref={host}></div>
            if !*there {
                <textarea aria-label={props.label.clone()} spellcheck="false" readonly={page.readonly}
                    value={props.text.to_string()} {oninput} {onkeydown}/>
            }
        </div>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_json() {
        let problem = Problem {
            line: 8,
            column: 3,
            end_column: 10,
            message: "unknown field \"spec.replica\"\n".into(),
            suggestion: Some("replicas".into()),
        };
        let elsewhere = Problem::default();
        assert_eq!(
            json(&[problem, elsewhere]),
            "[{\"line\":8,\"column\":3,\"endColumn\":10,\"message\":\"unknown field \\\"spec.replica\\\"\\u000a\",\"suggestion\":\"replicas\"}]"
        );
        assert_eq!(json(&[]), "[]");
    }
}
