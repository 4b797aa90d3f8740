//! The Why tab: causes, the scheduler's table, what would let a pod in, a loop's state, a node's timers.

use super::inspector::groups;
use super::{Action, Page, icons};
use crate::format;
use crate::lang;
use crate::standing::{self, Line};
use crate::words::{self, CauseHead};
use view::{
    Cause, CauseKind, ContainerFacts, FilterCell, LoopState, Missing, MissingKind, NodeState, NodeTimerKind, Remedy,
    SchedulerTable, Subject, Why,
};
use yew::prelude::*;

/// Everything known about why.
pub fn why(page: &Page, why: &Why, now: u64) -> Html {
    let empty = why.causes.is_empty()
        && why.scheduling.is_none()
        && why.control_loop.is_none()
        && why.node.is_none()
        && why.component.is_empty()
        && why.missing.is_empty()
        && why.containers.is_empty();
    let stored = !why.missing.iter().any(|m| matches!(m.what, MissingKind::Store { .. } | MissingKind::ApiServer));
    html! { <>
        if !why.missing.is_empty() || !why.containers.is_empty() || !why.verdict.0.is_empty() {
            <section class="sec"><h3>{ page.t(lang::STANDING) }</h3><ul class="stand">
                { for why.missing.iter().map(|m| missing(page, m, stored, now)) }
                { verdict(&why.verdict) }
                { for why.containers.iter().map(|c| container(page, c, now)) }
            </ul></section>
        }
        if empty { <p class="sec dim">{ page.t(lang::NOTHING_KNOWN) }</p> }
        if !why.causes.is_empty() { <section class="sec"><h3>{ page.t(lang::HOW_IT_CAME) }</h3><ol class="chain">{ for why.causes.iter().map(|c| cause(page, c)) }</ol></section> }
        if let Some(table) = &why.scheduling { { scheduling(page, table) } }
        if !why.remedies.is_empty() { <section class="sec"><h3>{ page.t(lang::LET_IN) }</h3><ul class="wish">{ for why.remedies.iter().map(|r| remedy(page, r, now)) }</ul></section> }
        if let Some(state) = &why.control_loop { { control_loop(page, state, now) } }
        if let Some(state) = &why.node { { node(page, state, now) } }
        { groups(page, &why.component) }
    </> }
}

/// Work that nobody does: whose, since when, what brings it back.
fn missing(page: &Page, what: &Missing, stored: bool, now: u64) -> Html {
    let told = standing::missing(page.lang, what, stored, now);
    let since = (what.since > 0).then(|| {
        let (clock, span) =
            (format::clock(page.epoch, what.since), format::whole(page.lang, now.saturating_sub(what.since)));
        page.lang.pick(format!("since {clock} ({span})"), format!("{clock}부터 ({span})"))
    });
    html! {
        <li><p class="h">{ icons::sized("warn", "s14") }<b>{ told.head }</b><span class="dim num">{ since }</span></p>
            <p>{ told.text }</p><p class="dim">{ told.states }</p>
            if !told.next.is_empty() { <p>{ told.next }</p> }
            if !what.command.is_empty() { <p>{ command(page, &what.command) }</p> }
        </li>
    }
}

/// A command that a click runs in the terminal.
fn command(page: &Page, line: &str) -> Html {
    if page.readonly {
        return html! { <code class="dim">{ line }</code> };
    }
    let label = format!("{}: {line}", page.t(lang::RUN_COMMAND));
    html! { <button type="button" class="ref cmd" title={label.clone()} aria-label={label} onclick={page.does(Action::Run(line.to_string()))}><code>{ line }</code></button> }
}

/// What the pod itself says of its end: `Evicted`, and why.
fn verdict((reason, message): &(String, String)) -> Html {
    if reason.is_empty() {
        return Html::default();
    }
    html! { <li><p class="h">{ icons::sized("warn", "s14") }<b>{ reason }</b></p><p class="evmsg">{ message }</p></li> }
}

/// A container that ended or does not start.
fn container(page: &Page, facts: &ContainerFacts, now: u64) -> Html {
    let good = matches!(facts.state.as_str(), "Running" | "Completed");
    let restarts = (facts.restarts > 0).then(|| {
        let n = facts.restarts;
        page.lang.pick(format!("{n} {}", if n == 1 { "restart" } else { "restarts" }), format!("재시작 {n}번"))
    });
    let lines = standing::container(page.lang, facts, now).into_iter().map(|line| match line {
        Line::Text(text) => html! { <p>{ text }</p> },
        Line::Quote(who, text) => {
            html! { <p class="q">if !who.is_empty() { <span class="dim">{ who }</span> }<code>{ text }</code></p> }
        }
    });
    html! {
        <li><p class="h">{ icons::sized(if good { "check" } else { "warn" }, "s14") }<b class="mono">{ &facts.name }</b>
            <span class={if good { "ok" } else { "bad" }}>{ &facts.state }</span><span class="dim num">{ restarts }</span></p>{ for lines }</li>
    }
}

fn cause(page: &Page, cause: &Cause) -> Html {
    let (head, text) = words::cause(page.lang, &cause.what, cause.times);
    let revision =
        if cause.revision > 0 { format!("rev {}", cause.revision) } else { format::clock_full(page.epoch, cause.at) };
    let times = (cause.times > 1).then(|| {
        let last = format!("{}: {}", page.t(lang::LAST_TIME), format::clock_full(page.epoch, cause.at));
        html! { <span class="times num" title={last.clone()}>{ format!("×{}", cause.times) }<span class="sr">{ last }</span></span> }
    });
    let (class, who) = match &head {
        CauseHead::You => ("user", html! { { page.t(lang::YOU) } }),
        CauseHead::Text(text) => ("", html! { { text.clone() } }),
        CauseHead::End(text) => ("end", html! { { text.clone() } }),
        CauseHead::Object { kind, name, done } => {
            let name = match &cause.what {
                CauseKind::Write { object, .. } => {
                    let subject = Subject::Object(object.clone());
                    html! { <button type="button" class="ref" onclick={page.does(Action::Inspect(subject))}><code>{ name.clone() }</code></button> }
                }
                _ => html! { <code>{ name.clone() }</code> },
            };
            (
                "",
                html! { <>{ kind.clone() }{ " " }{ name }{ if done.is_empty() { String::new() } else { format!(" {done}") } }</> },
            )
        }
    };
    let what = if head == CauseHead::You {
        html! { <code>{ text }</code> }
    } else {
        html! { { text } }
    };
    html! { <li {class}><span class="d"></span><span class="who">{ who }{ times }</span><span class="rv num">{ revision }</span><span class="what">{ what }</span></li> }
}

fn scheduling(page: &Page, table: &SchedulerTable) -> Html {
    let refused = table.chosen.is_none();
    // Plugins that had nothing to say on any node are folded into one row.
    let said = |cells: &[FilterCell]| {
        cells.iter().any(|c| match c {
            FilterCell::Rejected { .. } => true,
            FilterCell::Passed { detail } => !detail.is_empty(),
            FilterCell::NotRun => false,
        })
    };
    let speaking = table.filters.iter().filter(|r| said(&r.cells)).count();
    let mut room = 6usize.saturating_sub(speaking);
    let mut folded = 0;
    let mut rows = Vec::new();
    for row in &table.filters {
        if !said(&row.cells) {
            let passes = row.cells.iter().any(|c| matches!(c, FilterCell::Passed { .. }));
            if !passes || room == 0 {
                folded += 1;
                continue;
            }
            room -= 1;
        }
        rows.push(html! { <tr><th scope="row">{ &row.plugin }</th>{ for row.cells.iter().map(cell) }</tr> });
    }
    let heads = table.nodes.iter().enumerate().map(|(i, n)| {
        let chosen = table.chosen == Some(i as u32);
        html! { <th scope="col" class={chosen.then_some("win")}>{ &n.name }<small>{ &n.zone }</small></th> }
    });
    let head = html! { <thead><tr><th><span class="sr">{ "plugin" }</span></th>{ for heads }</tr></thead> };
    let width = format!("min-width:{}px", 116 + 92 * table.nodes.len());
    html! { <>
        <section class="sec"><h3>{ page.t(if refused { lang::WHY_NO_NODE } else { lang::HOW_CHOSEN }) }<span class="dim">{ page.t(lang::FILTER_ORDER) }</span></h3>
            <div class="wide" tabindex="0"><table class="grid" style={width.clone()}>{ head.clone() }<tbody>{ for rows }
                if folded > 0 {
                    <tr class="last"><th scope="row" class="dim">{ page.lang.pick(format!("{folded} more"), format!("{folded}개 더")) }</th>
                        { for table.nodes.iter().map(|_| html! { <td>{ "—" }</td> }) }</tr>
                }
            </tbody></table></div>
            if table.more_nodes > 0 { <p class="dim">{ page.lang.pick(format!("and {} more nodes", table.more_nodes), format!("그 밖의 노드 {}개", table.more_nodes)) }</p> }
            if !table.message.is_empty() { <p class="evmsg">{ &table.message }</p> }
        </section>
        if !table.scores.is_empty() {
            <section class="sec"><h3>{ page.lang.pick("Score", "점수") }<span class="dim">{ page.t(lang::SCORE_NOTE) }</span></h3>
                <div class="wide" tabindex="0"><table class="grid scores" style={width}>{ head }<tbody>
                    { for table.scores.iter().map(|row| html! {
                        <tr><th scope="row">{ &row.plugin }</th>{ for row.cells.iter().map(|c| html! { <td class="num mono">
                            if let Some(score) = c { { score }<small>{ format!(" ×{}", row.weight) }</small> } else { { "—" } }
                        </td> }) }</tr>
                    }) }
                    <tr class="last"><th scope="row">{ page.t(lang::TOTAL) }</th>{ for table.totals.iter().enumerate().map(|(i, t)| html! {
                        <td class={classes!("num", "mono", (table.chosen == Some(i as u32)).then_some("win"))}>{ t.map_or("—".to_string(), |t| t.to_string()) }</td>
                    }) }</tr>
                </tbody></table></div>
            </section>
        }
    </> }
}

fn cell(cell: &FilterCell) -> Html {
    match cell {
        FilterCell::NotRun => {
            html! { <td><span aria-hidden="true">{ "—" }</span><span class="sr">{ "not run" }</span></td> }
        }
        FilterCell::Passed { detail } => html! {
            <td class="pass"><span class="cell">{ icons::sized("check", "s12") }<span class="sr">{ "passed" }</span><span class="dim">{ detail }</span></span></td>
        },
        FilterCell::Rejected { short, detail, reason } => html! {
            <td class="rej" title={reason.clone()}><span class="cell">{ icons::sized("x", "s12") }<span>{ short }<small>{ detail }</small></span></span></td>
        },
    }
}

fn remedy(page: &Page, what: &Remedy, now: u64) -> Html {
    let (text, right) = words::remedy(page.lang, what, now);
    let (icon, command) = match what {
        Remedy::Free { .. } => ("memory", false),
        Remedy::Label { .. } => ("label", true),
        Remedy::Untaint { .. } | Remedy::Uncordon { .. } | Remedy::NodeBack { .. } => ("label", true),
        Remedy::Gate { .. } => ("label", false),
        Remedy::Other { command, .. } => ("arrow", !command.is_empty()),
        Remedy::Retry { .. } => ("timer", false),
    };
    let right = if command && !right.is_empty() {
        self::command(page, &right)
    } else {
        html! { <code class={classes!("num", (!matches!(what, Remedy::Retry { .. })).then_some("dim"))}>{ right }</code> }
    };
    html! { <li>{ icons::sized(icon, "s14") }<span>{ text }</span>{ right }</li> }
}

fn control_loop(page: &Page, state: &LoopState, now: u64) -> Html {
    let lang = page.lang;
    html! { <>
        <section class="sec"><h3>{ page.t(lang::LOOP_QUEUE) }if state.workers > 0 { <span class="dim num">{ lang.pick(format!("{} workers", state.workers), format!("작업자 {}", state.workers)) }</span> }</h3>
            if state.queue.is_empty() { <p class="dim">{ page.t(lang::LOOP_EMPTY) }</p> }
            else { <ul class="keys">{ for state.queue.iter().map(|k| html! { <li><code>{ k }</code></li> }) }if state.more > 0 { <li class="dim">{ format!("+{}", state.more) }</li> }</ul> }
            if state.skip_percent > 0 { <p class="warn">{ lang.pick(format!("{}% of its loops are skipped ({} so far)", state.skip_percent, state.skipped), format!("루프의 {}%를 건너뜀 (지금까지 {}번)", state.skip_percent, state.skipped)) }</p> }
        </section>
        if !state.retrying.is_empty() {
            <section class="sec"><h3>{ page.t(lang::LOOP_RETRY) }</h3><ul class="keys">{ for state.retrying.iter().map(|r| html! {
                <li><code>{ &r.key }</code><span class="dim num">if r.failures > 0 { { format!("×{} ", r.failures) } }{ format::span(lang, r.at.saturating_sub(now)) }</span></li>
            }) }</ul></section>
        }
        <section class="sec"><h3>{ page.t(lang::LOOP_RUNS) }</h3>
            if state.runs.is_empty() { <p class="dim">{ page.t(lang::NOTHING_KNOWN) }</p> } else {
                <ul class="runs">{ for state.runs.iter().map(|r| html! {
                    <li><span class="num mono dim">{ format::clock_full(page.epoch, r.at) }</span><code>{ &r.key }</code>
                        <span>if let Some((wanted, actual)) = r.wanted_actual { { lang.pick(format!("wants {wanted}, has {actual}"), format!("원하는 수 {wanted}, 있는 수 {actual}")) } }
                            if !r.action.is_empty() { <b>{ format!(" {}", r.action) }</b> }
                            if !r.error.is_empty() { <span class="bad">{ format!(" {}", r.error) }</span> }</span>
                        <span class="num mono dim">{ format::latency(lang, u32::try_from(r.took / 1000).unwrap_or(u32::MAX)) }</span></li>
                }) }</ul>
            }
        </section>
    </> }
}

fn node(page: &Page, state: &NodeState, now: u64) -> Html {
    let lang = page.lang;
    html! { <>
        if !state.timers.is_empty() {
            <section class="sec"><h3>{ page.t(lang::TIMERS) }</h3><ul class="keys">{ for state.timers.iter().map(|t| {
                let left = t.at.saturating_sub(now);
                let text = match &t.what {
                    NodeTimerKind::Silence => lang.pick("silent; marked Unknown in".to_string(), "응답 없음, Unknown 표시까지".to_string()),
                    NodeTimerKind::Eviction { taint, pods } => lang.pick(format!("{taint}: {pods} {} evicted in", if *pods == 1 { "pod" } else { "pods" }), format!("{taint}: Pod {pods}개 축출까지")),
                };
                html! { <li><span>{ text }</span><b class="num">{ format::span(lang, left) }</b></li> }
            }) }</ul></section>
        }
        <section class="sec"><h3>{ page.t(lang::CONDITIONS) }<span class="dim num">{ format!("{} {}", page.t(lang::LAST_HEARTBEAT), format::age(lang, now.saturating_sub(state.heartbeat_at))) }</span></h3>
            <ul class="conds">{ for state.conditions.iter().map(|c| html! {
                <li><span class={if c.good { "ok" } else { "bad" }}>{ icons::sized(if c.good { "check" } else { "x" }, "s12") }</span>
                    <b>{ &c.kind }</b><span>{ &c.status }</span><span class="dim">{ &c.reason }</span><span class="dim msgline">{ &c.message }</span></li>
            }) }</ul></section>
        if !state.taints.is_empty() { <section class="sec"><h3>{ page.t(lang::TAINTS) }</h3><p class="tagrow flat">{ for state.taints.iter().map(|t| html! { <span class="taint">{ t }</span> }) }</p></section> }
        if !state.resources.is_empty() {
            <section class="sec"><h3>{ page.t(lang::ALLOCATED) }</h3>{ for state.resources.iter().map(|r| html! {
                <div class="cap wide"><span>{ &r.name }</span><span class="track" role="img" aria-label={format!("{}%", r.permille / 10)}><i class="ready" style={format!("width:{:.1}%", f64::from(r.permille.min(1000)) / 10.0)}></i></span>
                    <span class="v num">{ format!("{} / {}", r.requested, r.allocatable) }</span></div>
            }) }</section>
        }
    </> }
}
