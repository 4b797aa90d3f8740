//! Dialogs: differences, help, the world's crash.

use super::{Action, Held, Page, icons, use_page};
use crate::lang::{self, DIFFERENCES};
use crate::link::LoadFailure;
use crate::model::report_text;
use crate::words;
use view::CrashReport;
use yew::prelude::*;

/// Which dialog is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialog {
    /// What differs from the real thing.
    Differences,
    /// Keys and ways in.
    Help,
}

/// Props of [`DialogBox`].
#[derive(Properties, PartialEq)]
pub struct DialogProps {
    /// Which.
    pub dialog: Dialog,
}

/// A modal dialog: the browser keeps the focus inside, Esc closes.
#[component]
pub fn DialogBox(props: &DialogProps) -> Html {
    let page = use_page();
    let node = use_node_ref();
    {
        let node = node.clone();
        use_effect_with(props.dialog, move |_| {
            if let Some(dialog) = node.cast::<web_sys::HtmlDialogElement>() {
                let _ = dialog.show_modal();
            }
        });
    }
    let onclose = page.does::<Event>(Action::Dialog(None));
    let (title, body) = match props.dialog {
        Dialog::Differences => (page.t(lang::DIFFERENCES_TITLE), differences(&page)),
        Dialog::Help => (page.t(lang::HELP_TITLE), help(&page)),
    };
    html! {
        <dialog class="sheet" ref={node} {onclose} aria-labelledby="dialog-title">
            <header><h2 id="dialog-title">{ title }</h2>
                <button type="button" class="btn icon" aria-label={page.t(lang::CLOSE)} onclick={page.does(Action::Dialog(None))}>{ icons::sized("x", "s14") }</button></header>
            { body }
        </dialog>
    }
}

fn differences(page: &Page) -> Html {
    html! { <>
        <p>{ page.t(lang::DIFFERENCES_INTRO) }</p>
        { for DIFFERENCES.iter().map(|(head, texts)| html! { <>
            <h3>{ page.t(*head) }</h3>
            <ul>{ for texts.iter().map(|text| difference(page.t(*text))) }</ul>
        </> }) }
        <p><a href="differences.html" target="_blank" rel="noopener">{ page.t(lang::DIFFERENCES_ALL) }</a>{ " " }<span class="dim">{ page.t(lang::DIFFERENCES_REST) }</span></p>
    </> }
}

/// A difference, its first words before the colon set off.
fn difference(text: &'static str) -> Html {
    match text.split_once(": ") {
        Some((what, rest)) => html! { <li><b>{ what }</b>{ ": " }{ rest }</li> },
        None => html! { <li>{ text }</li> },
    }
}

fn help(page: &Page) -> Html {
    let rows: [(&str, &str, &str); 13] = [
        ("Ctrl ↵", "apply the manifest", "매니페스트 적용"),
        ("Tab", "in the terminal: complete", "터미널: 자동 완성"),
        ("↑ ↓", "in the terminal: earlier commands", "터미널: 지난 명령"),
        ("Ctrl R", "in the terminal: search earlier commands", "터미널: 지난 명령 검색"),
        ("Ctrl A/E", "in the terminal: to the line's start or end", "터미널: 줄의 처음이나 끝으로"),
        ("Alt B/F", "in the terminal: a word back or forward", "터미널: 한 단어 뒤나 앞으로"),
        (
            "Ctrl U/K/W",
            "in the terminal: cut before, after, a word; Ctrl Y puts it back",
            "터미널: 앞, 뒤, 한 단어 잘라내기. Ctrl Y로 되살리기",
        ),
        ("Ctrl C", "in the terminal: stop the command", "터미널: 명령 중단"),
        ("Ctrl L", "in the terminal: clear", "터미널: 화면 지우기"),
        ("Esc, Tab", "leave the terminal", "터미널 벗어나기"),
        ("Alt P", "pause or play", "멈춤 또는 재생"),
        ("Alt .", "step to the next event", "다음 사건까지 한 단계 진행"),
        ("Esc", "close the inspector, a menu, the story", "인스펙터, 메뉴, 이야기 닫기"),
    ];
    let lang = page.lang;
    html! { <>
        <p>{ lang.pick(
            "Apply a manifest and watch it become running pods. Click anything on the map to see why it is in its state. The bolt on a card breaks that part; every fault is also a terminal command, and “cluster status” lists the active ones.",
            "매니페스트를 적용하고, 그것이 실행 중인 Pod가 되는 과정을 지켜보세요. 지도에서 무엇이든 누르면 왜 그런 상태인지 볼 수 있습니다. 카드의 번개 단추로 그 부분에 장애를 냅니다. 모든 장애는 터미널 명령이기도 하며, “cluster status”로 진행 중인 장애를 볼 수 있습니다.",
        ) }</p>
        <table><tbody>{ for rows.into_iter().map(|(keys, en, ko)| html! {
            <tr><th scope="row">{ for keys.split(' ').map(|k| html! { <span class="kbd">{ k }</span> }) }</th><td>{ lang.pick(en, ko) }</td></tr>
        }) }</tbody></table>
        <p class="dim">{ lang.pick("Lines to try: ", "써 볼 만한 명령: ") }
            <code>{ "kubectl get pods -A" }</code>{ " " }<code>{ "kubectl describe node node-1" }</code>{ " " }<code>{ "kubectl get pods -w" }</code></p>
    </> }
}

/// Props of [`Crash`].
#[derive(Properties, PartialEq)]
pub struct CrashProps {
    /// What is known.
    pub report: Held<CrashReport>,
    /// The world could not even be loaded, and why.
    pub loading: Option<LoadFailure>,
    /// The world is there but does not answer.
    pub hangs: bool,
}

/// The world is gone; the page lives on.
#[component]
pub fn Crash(props: &CrashProps) -> Html {
    let page = use_page();
    let node = use_node_ref();
    let copied = use_state(|| false);
    {
        let node = node.clone();
        use_effect_with((), move |()| {
            if let Some(button) = node.cast::<web_sys::HtmlElement>() {
                let _ = button.focus();
            }
        });
    }
    let (title, text, again) = match &props.loading {
        Some(why) => (lang::LOAD_TITLE, words::load_failure(page.lang, why), lang::TRY_AGAIN),
        None if props.hangs => (lang::HANG_TITLE, page.t(lang::HANG_TEXT).to_string(), lang::RESTART),
        None => (lang::CRASH_TITLE, page.t(lang::CRASH_TEXT).to_string(), lang::RESTART),
    };
    let last = props.report.inputs.last().and_then(|input| input.lines().next()).map(|input| {
        html! { <p class="last">{ page.t(lang::LAST_INPUT) }{ ": " }<code>{ input.to_string() }</code></p> }
    });
    let report = report_text(&props.report);
    let copy = {
        let (act, report, copied) = (page.act.clone(), report.clone(), copied.clone());
        Callback::from(move |_: MouseEvent| {
            act.emit(Action::Copy(report.clone()));
            copied.set(true);
        })
    };
    html! {
        <section class="crash" role="alertdialog" aria-labelledby="crash-title" aria-describedby="crash-text">
            <h2 id="crash-title">{ icons::icon("warn") }{ page.t(title) }</h2>
            <p id="crash-text">{ text }</p>
            { last }
            <div class="row">
                <button type="button" class="btn main" ref={node} onclick={page.does(Action::Restart)}>{ page.t(again) }</button>
                <button type="button" class="btn line" onclick={copy}>{ icons::sized("copy", "s14") }{ page.t(if *copied { lang::CRASH_COPIED } else { lang::CRASH_COPY }) }</button>
            </div>
            <details><summary>{ page.t(lang::CRASH_REPORT) }</summary><pre tabindex="0">{ report }</pre></details>
        </section>
    }
}
