//! The world's worker, as the page holds it: bytes out, bytes in.

use gloo_events::EventListener;
use js_sys::{ArrayBuffer, Reflect, Uint8Array};
use std::cell::RefCell;
use std::collections::VecDeque;
use view::{ManifestAction, Start, ToPage, ToWorld};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{MessageEvent, Worker, WorkerOptions, WorkerType};
use yew::Callback;

/// Inputs kept for a report.
const MAX_INPUTS: usize = 50;

/// Why the world could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoadFailure {
    /// The file.
    pub file: String,
    /// It came, but it could not be started.
    pub arrived: bool,
    /// What the browser or the server said; may be empty.
    pub why: String,
}

/// What comes from the worker.
#[derive(Debug, Clone, PartialEq)]
pub enum LinkEvent {
    /// Messages, in order.
    Messages(Vec<ToPage>),
    /// The worker is alive.
    Alive,
    /// The worker begins to fetch a part of its program, and answers nothing until it has it (false).
    Fetching(bool),
    /// The world could not be loaded.
    Failed(LoadFailure),
    /// The world trapped or panicked, or its bytes can't be read.
    Crashed {
        /// What it said.
        message: String,
        /// Where, as far as the browser knows.
        stack: String,
    },
}

/// A running worker; dropping it ends the worker.
pub struct Link {
    worker: Worker,
    inputs: RefCell<VecDeque<String>>,
    _listeners: [EventListener; 3],
}

impl Link {
    /// Starts a worker and, in it, a world.
    pub fn start(start: &Start, events: &Callback<LinkEvent>) -> Result<Link, LoadFailure> {
        let build = web_sys::window()
            .and_then(|w| w.document())
            .and_then(|d| d.document_element())
            .and_then(|e| e.get_attribute("data-build"))
            .map(|b| format!("?b={b}"))
            .unwrap_or_default();
        let options = WorkerOptions::new();
        options.set_type(WorkerType::Module);
        let failure = |arrived, why| LoadFailure { file: "worker.js".into(), arrived, why };
        let worker = Worker::new_with_options(&format!("worker.js{build}"), &options)
            .map_err(|error| failure(true, text(&error)))?;
        let on = events.clone();
        let message = EventListener::new(&worker, "message", move |event| {
            if let Some(event) = event.dyn_ref::<MessageEvent>() {
                on.emit(read(&event.data()));
            }
        });
        let failed = |on: Callback<LinkEvent>| {
            move |event: &web_sys::Event| {
                // A worker whose script does not come says nothing; one whose script can't be run says why.
                let why = event.dyn_ref::<web_sys::ErrorEvent>().map(|e| e.message()).unwrap_or_default();
                on.emit(LinkEvent::Failed(failure(!why.is_empty(), why)));
            }
        };
        let error = EventListener::new(&worker, "error", failed(events.clone()));
        let broken = EventListener::new(&worker, "messageerror", failed(events.clone()));
        let link = Link { worker, inputs: RefCell::default(), _listeners: [message, error, broken] };
        link.send(&ToWorld::Start(start.clone()));
        Ok(link)
    }

    /// Asks the worker whether it is alive.
    pub fn ask(&self) {
        let _ = self.worker.post_message(&JsValue::from_str("alive?"));
    }

    /// The reader's last inputs, oldest first.
    pub fn inputs(&self) -> Vec<String> {
        self.inputs.borrow().iter().cloned().collect()
    }

    /// Sends a message. A worker that is gone hears nothing.
    pub fn send(&self, message: &ToWorld) {
        if let Some(input) = input(message) {
            let mut inputs = self.inputs.borrow_mut();
            inputs.push_back(input);
            if inputs.len() > MAX_INPUTS {
                inputs.pop_front();
            }
        }
        let bytes = view::encode(message);
        let array = Uint8Array::from(bytes.as_slice());
        let _ = self.worker.post_message(&array.buffer());
    }
}

/// What a message says in a report; nothing for one that only looks.
fn input(message: &ToWorld) -> Option<String> {
    Some(match message {
        ToWorld::Start(s) => {
            format!("start: seed {}, {} nodes, {} zones, {} control planes", s.seed, s.nodes, s.zones, s.control_planes)
        }
        ToWorld::Command { text, .. } | ToWorld::Stdin { text, .. } => text.trim_end().to_string(),
        ToWorld::Edited { text, .. } => format!("editor: {}", text.as_deref().unwrap_or("left")),
        ToWorld::Interrupt { .. } => "^C".into(),
        ToWorld::Manifest { action: ManifestAction::Check, .. } => return None,
        ToWorld::Manifest { text, .. } => format!("manifest:\n{text}"),
        ToWorld::Fault { line } => line.clone(),
        ToWorld::Pace(pace) => format!("{pace:?}"),
        _ => return None,
    })
}

impl Drop for Link {
    fn drop(&mut self) {
        self.worker.terminate();
    }
}

fn read(data: &JsValue) -> LinkEvent {
    if let Some(buffer) = data.dyn_ref::<ArrayBuffer>() {
        let bytes = Uint8Array::new(buffer).to_vec();
        return match view::decode::<Vec<ToPage>>(&bytes) {
            Ok(messages) => LinkEvent::Messages(messages),
            Err(error) => LinkEvent::Crashed { message: error.to_string(), stack: String::new() },
        };
    }
    let field = |object: &JsValue, name: &str| Reflect::get(object, &JsValue::from_str(name)).unwrap_or_default();
    let crashed = field(data, "crashed");
    if crashed.is_object() {
        let message = text(&field(&crashed, "message"));
        return LinkEvent::Crashed { message, stack: text(&field(&crashed, "stack")) };
    }
    if field(data, "alive").is_truthy() {
        return LinkEvent::Alive;
    }
    if let Some(on) = field(data, "fetching").as_bool() {
        return LinkEvent::Fetching(on);
    }
    let failed = field(data, "failed");
    LinkEvent::Failed(LoadFailure {
        file: text(&field(&failed, "file")),
        arrived: field(&failed, "arrived").is_truthy(),
        why: text(&field(&failed, "why")),
    })
}

fn text(value: &JsValue) -> String {
    value
        .as_string()
        .or_else(|| value.dyn_ref::<js_sys::Error>().map(|e| String::from(e.message())))
        .unwrap_or_else(|| format!("{value:?}"))
}
