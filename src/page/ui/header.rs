//! The header.

use super::dialogs::Dialog;
use super::menus::Menu;
use super::{Action, icons, use_page};
use crate::lang::{self, Lang};
use crate::query::Theme;
use yew::prelude::*;

/// Props of [`Header`].
#[derive(Properties, PartialEq)]
pub struct HeaderProps {
    /// The theme.
    pub theme: Theme,
    /// A phone.
    pub phone: bool,
    /// The workload that was applied last: its name, ready and desired.
    pub workload: Option<(String, u32, u32)>,
    /// Where the whole page is, from an iframe.
    pub large: Option<String>,
}

/// The header.
#[component]
pub fn Header(props: &HeaderProps) -> Html {
    let page = use_page();
    let theme = match props.theme {
        Theme::Auto => ("auto", lang::THEME_AUTO),
        Theme::Light => ("sun", lang::THEME_LIGHT),
        Theme::Dark => ("moon", lang::THEME_DARK),
    };
    let menu = {
        let act = page.act.clone();
        Callback::from(move |event: MouseEvent| act.emit(Action::OpenMenu(Menu::more().at(&event))))
    };
    let badge = |short: bool| {
        html! {
            <button type="button" class="badge" aria-haspopup="dialog" onclick={page.does(Action::Dialog(Some(Dialog::Differences)))}>
                { page.t(lang::SIMULATED) }{ if short { " v1.37" } else { " · Kubernetes v1.37" } }
                if !short { { icons::sized("down", "s12") } }
            </button>
        }
    };
    html! {
        <header class="head">
            <a class="skip" href="#cluster">{ page.t(lang::SKIP_LINK) }</a>
            <div class="brand">{ icons::brand() }<h1>{ "Tabernetes" }</h1></div>
            if props.phone {
                <span class="spacer"></span>
                if let Some((name, ready, desired)) = &props.workload { <span class="lease"><b>{ name.clone() }</b><span class="num">{ format!("{ready}/{desired}") }</span></span> }
                <button type="button" class="btn icon" aria-label={page.t(lang::MENU)} aria-haspopup="menu" onclick={menu}>{ icons::icon("list") }</button>
            } else if page.embed {
                <span class="spacer"></span>
                { badge(true) }
                if let Some(href) = &props.large { <a class="btn" href={href.clone()} target="_blank" rel="noopener">{ icons::sized("open", "s14") }{ page.t(lang::OPEN_LARGE) }</a> }
            } else {
                { badge(false) }
                <span class="spacer"></span>
                <div class="seg" role="group" aria-label={page.t(lang::LANGUAGE)}>
                    <button type="button" lang="ko" aria-pressed={(page.lang == Lang::Ko).to_string()} onclick={page.does(Action::Lang(Lang::Ko))}>{ "한국어" }</button>
                    <button type="button" lang="en" aria-pressed={(page.lang == Lang::En).to_string()} onclick={page.does(Action::Lang(Lang::En))}>{ "EN" }</button>
                </div>
                <button type="button" class="btn icon" aria-label={format!("{}: {}", page.t(lang::THEME), page.t(theme.1))}
                    title={format!("{}: {}", page.t(lang::THEME), page.t(theme.1))} onclick={page.does(Action::NextTheme)}>{ icons::icon(theme.0) }</button>
                <button type="button" class="btn icon" aria-label={page.t(lang::HELP)} aria-haspopup="dialog" onclick={page.does(Action::Dialog(Some(Dialog::Help)))}>{ icons::icon("help") }</button>
            }
        </header>
    }
}
