//! The terminal: output above, one field for the line being typed below, completions over it.

use super::editor::Editor;
use super::{Action, Held, TermKey, use_page};
use crate::lang;
use crate::readline::ReadKey;
use crate::term::{File, LineKind, Terminal};
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, HtmlInputElement};
use yew::prelude::*;

/// Props of [`Term`].
#[derive(Properties, PartialEq)]
pub struct TermProps {
    /// Its state.
    pub terminal: Held<Terminal>,
    /// It was just opened and takes the focus.
    pub focus: u32,
    /// The clock stands, so that a command waits.
    pub standing: bool,
}

/// The terminal.
#[component]
pub fn Term(props: &TermProps) -> Html {
    let page = use_page();
    let (scroll, field) = (use_node_ref(), use_node_ref());
    let stuck = use_mut_ref(|| true);
    // After Esc the next Tab leaves the terminal.
    let leaving = use_mut_ref(|| false);
    {
        let (scroll, stuck) = (scroll.clone(), stuck.clone());
        use_effect_with(props.terminal.clone(), move |_| {
            if let Some(element) = scroll.cast::<HtmlElement>().filter(|_| *stuck.borrow()) {
                element.set_scroll_top(element.scroll_height());
            }
        });
    }
    // The line may have been changed by history or completion: put the cursor where the state says.
    {
        let field = field.clone();
        let (line, cursor, moved) = (props.terminal.line.clone(), props.terminal.cursor, props.terminal.moved);
        use_effect_with((line, cursor, moved), move |(line, cursor, _)| {
            let Some(input) = field.cast::<HtmlInputElement>() else { return };
            let at = line.get(..*cursor).map_or(0, |s| s.encode_utf16().count()) as u32;
            if input.selection_start().ok().flatten() != Some(at) {
                let _ = input.set_selection_range(at, at);
            }
        });
    }
    {
        let field = field.clone();
        use_effect_with(props.focus, move |number| {
            if let Some(input) = field.cast::<HtmlInputElement>().filter(|_| *number > 0) {
                let _ = input.focus();
            }
        });
    }
    // When the editor closes, the line has the focus again.
    {
        let field = field.clone();
        let was_open = use_mut_ref(|| false);
        use_effect_with(props.terminal.file.is_some(), move |open| {
            let closed = std::mem::replace(&mut *was_open.borrow_mut(), *open) && !open;
            if let Some(input) = field.cast::<HtmlInputElement>().filter(|_| closed) {
                let _ = input.focus();
            }
        });
    }
    let send = {
        let (act, stuck) = (page.act.clone(), stuck.clone());
        move |key: TermKey| {
            *stuck.borrow_mut() = true;
            act.emit(Action::Term(key));
        }
    };
    let oninput = {
        let (send, leaving) = (send.clone(), leaving.clone());
        Callback::from(move |event: InputEvent| {
            *leaving.borrow_mut() = false;
            if let Some(input) = event.target().and_then(|t| t.dyn_into::<HtmlInputElement>().ok()) {
                send(TermKey::Edit(input.value(), cursor_of(&input)));
            }
        })
    };
    let onselect = {
        let (act, terminal) = (page.act.clone(), props.terminal.clone());
        Callback::from(move |event: Event| {
            if let Some(input) = event.target().and_then(|t| t.dyn_into::<HtmlInputElement>().ok()) {
                let at = cursor_of(&input);
                if terminal.popup.is_none() && at != terminal.cursor && input.value() == terminal.line {
                    act.emit(Action::Term(TermKey::Edit(input.value(), at)));
                }
            }
        })
    };
    let onpaste = {
        let send = send.clone();
        Callback::from(move |event: Event| {
            let Ok(event) = event.dyn_into::<web_sys::ClipboardEvent>() else { return };
            let text = event.clipboard_data().and_then(|d| d.get_data("text/plain").ok()).unwrap_or_default();
            if text.contains('\n') || text.contains('\r') {
                event.prevent_default();
                if let Some(input) = event.target().and_then(|t| t.dyn_into::<HtmlInputElement>().ok()) {
                    send(TermKey::Edit(input.value(), cursor_of(&input)));
                }
                send(TermKey::Paste(text));
            }
        })
    };
    let onkeydown = {
        let (send, leaving) = (send.clone(), leaving.clone());
        let open = props.terminal.popup.is_some();
        let busy = props.terminal.busy();
        let searching = props.terminal.searching();
        let empty = props.terminal.line.is_empty();
        let known = (props.terminal.line.clone(), props.terminal.cursor);
        Callback::from(move |event: KeyboardEvent| {
            if event.is_composing() {
                return;
            }
            let alt = event.alt_key() && !event.ctrl_key() && !event.meta_key();
            let plain = !event.ctrl_key() && !event.alt_key() && !event.meta_key();
            let control = event.ctrl_key() && !event.alt_key() && !event.meta_key();
            let selected = event
                .target()
                .and_then(|t| t.dyn_into::<HtmlInputElement>().ok())
                .is_some_and(|i| i.selection_start().ok().flatten() != i.selection_end().ok().flatten());
            let name = event.key();
            let mut letters = name.chars();
            let letter = letters.next().filter(|_| letters.next().is_none());
            let key = match name.as_str() {
                _ if searching && plain && letter.is_some() => TermKey::LookFor(letter),
                "Backspace" if searching => TermKey::LookFor(None),
                "Escape" if searching => TermKey::EndSearch(true),
                "g" if searching && control => TermKey::EndSearch(false),
                "Enter" if open => TermKey::Take(usize::MAX),
                "Enter" => TermKey::Submit,
                "Tab" if event.shift_key() || std::mem::take(&mut *leaving.borrow_mut()) => return,
                // What runs completes nothing, and the keys that follow are meant for it.
                "Tab" if busy => {
                    event.prevent_default();
                    return;
                }
                "Tab" => TermKey::Tab,
                "ArrowUp" if open => TermKey::Choose(false),
                "ArrowDown" if open => TermKey::Choose(true),
                "ArrowUp" => TermKey::Older,
                "ArrowDown" => TermKey::Newer,
                "Escape" if open => TermKey::Close,
                "Escape" => {
                    *leaving.borrow_mut() = true;
                    return;
                }
                "c" if control && !selected => TermKey::Interrupt,
                "l" if control => TermKey::Clear,
                "d" if control && empty => TermKey::End,
                "r" if control && !event.shift_key() => TermKey::Search,
                "p" if control => TermKey::Older,
                "n" if control => TermKey::Newer,
                // What is selected is the browser's to cut, to replace or to leave.
                _ if selected || event.shift_key() => return,
                "a" if control => TermKey::Read(ReadKey::Home),
                "Home" if plain => TermKey::Read(ReadKey::Home),
                "e" if control => TermKey::Read(ReadKey::End),
                "End" if plain => TermKey::Read(ReadKey::End),
                "b" if control => TermKey::Read(ReadKey::Left),
                "f" if control => TermKey::Read(ReadKey::Right),
                "ArrowLeft" if control => TermKey::Read(ReadKey::WordLeft),
                "ArrowRight" if control => TermKey::Read(ReadKey::WordRight),
                "k" if control => TermKey::Read(ReadKey::KillEnd),
                "u" if control => TermKey::Read(ReadKey::KillStart),
                "w" if control => TermKey::Read(ReadKey::KillWord),
                "y" if control => TermKey::Read(ReadKey::Yank),
                "h" if control => TermKey::Read(ReadKey::Erase),
                "d" if control => TermKey::Read(ReadKey::Delete),
                "t" if control => TermKey::Read(ReadKey::Transpose),
                "Backspace" if alt => TermKey::Read(ReadKey::KillWordLeft),
                // With Alt some keyboards give other characters: the key is named by its place.
                _ if alt => match event.code().as_str() {
                    "KeyB" => TermKey::Read(ReadKey::WordLeft),
                    "KeyF" => TermKey::Read(ReadKey::WordRight),
                    "KeyD" => TermKey::Read(ReadKey::KillWordRight),
                    _ => return,
                },
                _ => return,
            };
            event.prevent_default();
            event.stop_propagation();
            // The cursor may have been moved by arrows or the mouse, which nobody tells.
            if let Some(input) = event.target().and_then(|t| t.dyn_into::<HtmlInputElement>().ok())
                && matches!(key, TermKey::Read(_) | TermKey::Tab | TermKey::Search)
                && !searching
                && (input.value(), cursor_of(&input)) != known
            {
                send(TermKey::Edit(input.value(), cursor_of(&input)));
            }
            send(key);
        })
    };
    let onscroll = {
        let stuck = stuck.clone();
        Callback::from(move |event: Event| {
            if let Some(e) = event.target().and_then(|t| t.dyn_into::<HtmlElement>().ok()) {
                *stuck.borrow_mut() = e.scroll_top() + e.client_height() + 24 >= e.scroll_height();
            }
        })
    };
    // A click on the empty part of the terminal goes to the line, unless text is being selected.
    let onclick = {
        let field = field.clone();
        Callback::from(move |_: MouseEvent| {
            let selecting = web_sys::window()
                .and_then(|w| js_sys::Reflect::get(&w, &"getSelection".into()).ok().map(|f| (w, f)))
                .and_then(|(w, f)| f.dyn_into::<js_sys::Function>().ok()?.call0(&w).ok())
                .is_some_and(|s| s.unchecked_into::<js_sys::Object>().to_string().length() > 0);
            if let Some(input) = field.cast::<HtmlInputElement>().filter(|_| !selecting) {
                let _ = input.focus();
            }
        })
    };
    let terminal = &props.terminal;
    if let Some(file) = &terminal.file {
        return opened(&page, file);
    }
    let mut before: Option<LineKind> = None;
    // What a program wrote before the line that is typed now stands with that.
    let open = terminal.open_line();
    let lines: Vec<Html> = terminal
        .lines()
        .filter(|line| open.is_none_or(|open| open.number != line.number))
        .map(|line| {
            let (class, prompt) = match line.kind {
                LineKind::Command => ("c", Some("$ ")),
                LineKind::More => ("c", Some("> ")),
                LineKind::Out => ("o", None),
                LineKind::Err => ("er", None),
                LineKind::Note => ("h", None),
            };
            let apart = line.kind == LineKind::Command && before.is_some_and(|b| b != LineKind::Command);
            before = Some(line.kind);
            html! {
                <div key={line.number} class={classes!("ln", class, apart.then_some("apart"), line.is_row().then_some("row"))}>
                    if let Some(prompt) = prompt { <span class="p">{ prompt }</span> }
                    { if line.text.is_empty() { "\u{a0}" } else { &line.text } }
                </div>
            }
        })
        .collect();
    let ghost = terminal.ghost();
    html! {
        <div class="term" {onclick}>
            <div class="scroll" ref={scroll} {onscroll} tabindex="0" role="log" aria-label={page.t(lang::TERMINAL_LOG)}>
                if terminal.lines().next().is_none() { <p class="h hint">{ page.t(lang::TERMINAL_HINT) }</p> }
                { for lines }
                if props.standing && terminal.busy() { { super::controls::standing(&page, lang::COMMAND_WAITS) } }
                <div class="input">
                    <span class={if open.is_some() { "p o" } else { "p" }}>{ terminal.prompt().into_owned() }</span>
                    <span class="field">
                        <input ref={field} type="text" aria-label={page.t(lang::PROMPT)} value={terminal.line.clone()} autocomplete="off" autocapitalize="off"
                            autocorrect="off" spellcheck="false" enterkeyhint="send" readonly={page.readonly}
                            role="combobox" aria-expanded={terminal.popup.is_some().to_string()} aria-controls="completions" aria-autocomplete="list"
                            aria-activedescendant={terminal.popup.as_ref().map(|p| format!("completion-{}", p.chosen))}
                            {oninput} {onkeydown} {onselect} {onpaste}/>
                        if !ghost.is_empty() { <span class="ghost" aria-hidden="true"><span class="pre">{ &terminal.line }</span>{ ghost }</span> }
                    </span>
                </div>
            </div>
            { popup(&page, terminal) }
        </div>
    }
}

/// The file that a command opened, over the terminal until the reader leaves it.
fn opened(page: &super::Page, file: &File) -> Html {
    let change = page.act.reform(|text| Action::Term(TermKey::ChangeFile(text)));
    let submit = page.act.reform(|()| Action::Term(TermKey::LeaveFile(true)));
    html! {
        <div class="term opened" role="group" aria-label={file.path.to_string()}>
            <Editor load={(0, file.text.clone())} text={file.text.clone()} label={file.path.to_string()} focus=true {change} {submit}/>
            <div class="actions keep">
                <button type="button" class="btn main" onclick={page.does(Action::Term(TermKey::LeaveFile(true)))}>
                    { page.t(lang::SAVE_FILE) }<span class="kbd">{ "Ctrl ↵" }</span></button>
                <button type="button" class="btn line" onclick={page.does(Action::Term(TermKey::LeaveFile(false)))}>{ page.t(lang::LEAVE_FILE) }</button>
                <span class="mono path">{ file.path.to_string() }</span>
            </div>
        </div>
    }
}

fn popup(page: &super::Page, terminal: &Terminal) -> Html {
    let Some(popup) = &terminal.popup else { return html! { <div id="completions" hidden=true></div> } };
    // A window of ten around the chosen one.
    let count = popup.candidates.len();
    let first = popup.chosen.saturating_sub(5).min(count.saturating_sub(10));
    let typed = terminal.line.get(popup.from..terminal.cursor).unwrap_or("").len();
    let columns = terminal.line.get(..popup.from).map_or(0, |s| s.chars().count()).min(40);
    let items = popup.candidates.iter().enumerate().skip(first).take(10).map(|(i, c)| {
        let (head, tail) = c.text.split_at_checked(typed).unwrap_or(("", &c.text));
        html! {
            <li role="option" id={format!("completion-{i}")} aria-selected={(i == popup.chosen).to_string()} class={(i == popup.chosen).then_some("on")}
                onmousedown={{ let act = page.act.clone(); Callback::from(move |e: MouseEvent| { e.prevent_default(); act.emit(Action::Term(TermKey::Take(i))); }) }}>
                <span><mark>{ head.to_string() }</mark>{ tail.to_string() }</span><span>{ &c.description }</span></li>
        }
    });
    html! {
        <div class="complete" style={format!("left:clamp(8px, calc({columns}ch + 22px), calc(100% - 320px))")}>
            <ul role="listbox" id="completions" aria-label={page.t(lang::COMPLETIONS)}>{ for items }</ul>
            <div class="foot"><span class="kbd">{ "Tab" }</span><span>{ page.t(lang::TAKE) }</span><span class="kbd">{ "↑↓" }</span><span>{ page.t(lang::CHOOSE) }</span>
                <span class="kbd">{ "Esc" }</span><span>{ page.t(lang::CLOSE) }</span>if count > 10 { <span class="num">{ format!("{}/{count}", popup.chosen + 1) }</span> }</div>
        </div>
    }
}

/// The cursor as a byte offset; the browser counts UTF-16.
fn cursor_of(input: &HtmlInputElement) -> usize {
    let units = input.selection_start().ok().flatten().unwrap_or(0) as usize;
    let value = input.value();
    let mut seen = 0;
    for (i, c) in value.char_indices() {
        if seen >= units {
            return i;
        }
        seen += c.len_utf16();
    }
    value.len()
}
