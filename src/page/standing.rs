//! Why something stands still, as sentences: containers that ended or don't start, and work that nobody does. Names and
//! Kubernetes' words are put in as they are; Korean sentences are built so that no particle depends on how a name ends.

use crate::format::span;
use crate::lang::Lang;
use view::{ContainerFacts, Exit, Missing, MissingKind, ProcessState, ProcessView, TripObject, TripState};

const SECOND: u64 = 1_000_000_000;

/// What is said of a container, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A sentence.
    Text(String),
    /// What somebody wrote, word for word, and who.
    Quote(&'static str, String),
}

/// The signals that end programs most, by number.
fn signal(number: i32) -> Option<&'static str> {
    Some(match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        6 => "SIGABRT",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        _ => return None,
    })
}

fn ended(lang: Lang, exit: &Exit, now: u64) -> String {
    let ago = span(lang, now.saturating_sub(exit.ended_at));
    let reason = if exit.reason.is_empty() { String::new() } else { format!(" ({})", exit.reason) };
    let ran = exit.ended_at.saturating_sub(exit.started_at);
    let ran = match (exit.started_at, ran < SECOND) {
        (0, _) => lang.pick("it never started".to_string(), "시작하지 못함".to_string()),
        (_, true) => lang.pick("ran less than a second".to_string(), "1초도 실행되지 않음".to_string()),
        (_, false) => {
            let ran = span(lang, ran);
            lang.pick(format!("ran {ran}"), format!("{ran} 동안 실행"))
        }
    };
    let code = exit.code;
    lang.pick(
        format!("Exit code {code}{reason}, {ran}, {ago} ago."),
        format!("종료 코드 {code}{reason}, {ran}, {ago} 전."),
    )
}

/// What the exit code says by itself.
fn meaning(lang: Lang, exit: &Exit, limit: &str) -> Option<String> {
    if exit.reason == "OOMKilled" {
        return Some(match limit {
            "" => lang.pick(
                "It needed more memory than it may have, so the kernel killed it.".into(),
                "쓸 수 있는 것보다 많은 메모리가 필요해서 커널이 강제로 끝냈습니다.".into(),
            ),
            limit => lang.pick(
                format!("It needed more memory than its limit of {limit}, so the kernel killed it."),
                format!("메모리 한도({limit})보다 많은 메모리가 필요해서 커널이 강제로 끝냈습니다."),
            ),
        });
    }
    if exit.reason == "ContainerStatusUnknown" {
        return Some(lang.pick(
            "The kubelet found the container gone: how it ended is not known.".into(),
            "kubelet이 확인했을 때 컨테이너가 이미 없어서, 어떻게 끝났는지 알 수 없습니다.".into(),
        ));
    }
    match exit.code {
        126 => Some(lang.pick(
            "126: the shell found the command but may not run it.".into(),
            "126: 셸이 명령을 찾았지만 실행할 수 없다는 뜻입니다.".into(),
        )),
        127 => {
            Some(lang.pick(
                "127: the shell found no such command.".into(),
                "127: 셸이 명령을 찾지 못했다는 뜻입니다.".into(),
            ))
        }
        code @ 129..=165 => signal(code - 128).map(|name| {
            let number = code - 128;
            lang.pick(
                format!("{code} is 128 + {number}: the signal {name} ended it."),
                format!("{code} = 128 + {number}: {name} 신호를 받아 끝났다는 뜻입니다."),
            )
        }),
        _ => None,
    }
}

/// The pull's error by itself, out of `Back-off pulling image "x": ErrImagePull: error`.
fn pull_error(message: &str) -> &str {
    message.split_once(": ErrImagePull: ").map_or(message, |(_, error)| error)
}

/// What is known of a container that ended or doesn't start.
pub fn container(lang: Lang, facts: &ContainerFacts, now: u64) -> Vec<Line> {
    let mut lines = Vec::new();
    let left = (facts.next_at > now).then(|| span(lang, facts.next_at - now));
    let text = |en: &str, ko: &str| Line::Text(lang.pick(en, ko).to_string());
    let quote = |who: &'static str, what: &str| (!what.is_empty()).then(|| Line::Quote(who, what.to_string()));
    let pull = matches!(
        facts.state.as_str(),
        "ErrImagePull" | "ImagePullBackOff" | "InvalidImageName" | "ErrImageNeverPull" | "RegistryUnavailable"
    );
    if pull {
        let image = &facts.image;
        lines.push(Line::Text(lang.pick(
            format!("The node can't get the image {image}. What came back:"),
            format!("노드가 이미지를 받지 못했습니다({image}). 돌아온 답:"),
        )));
        lines.extend(quote("", pull_error(&facts.message)));
        if let Some(left) = &left {
            lines.push(Line::Text(lang.pick(
                format!("The kubelet tries again in {left}, and waits longer after each failure, 5 min at most."),
                format!("kubelet이 {left} 뒤에 다시 받습니다. 실패할 때마다 더 오래 기다리고, 길어도 5분입니다."),
            )));
        }
        return lines;
    }
    if let Some(exit) = &facts.exit {
        lines.push(Line::Text(ended(lang, exit, now)));
        lines.extend(meaning(lang, exit, &facts.memory_limit).map(Line::Text));
        lines.extend(quote("", &exit.message));
        let said = lang.pick("last line of its log", "마지막 로그");
        lines.extend(quote(said, &facts.last_line).filter(|_| facts.last_line != exit.message));
    }
    let ended = facts.exit.as_ref().filter(|e| e.reason == facts.state);
    match facts.state.as_str() {
        "Running" => lines.push(text("It was started again and runs.", "다시 시작되어 실행 중입니다.")),
        "CreateContainerConfigError" => {
            lines.push(text(
                "The container can't be made as the pod asks:",
                "Pod에 적힌 대로 컨테이너를 만들 수 없습니다.",
            ));
            lines.extend(quote("", &facts.message));
            lines.extend(left.map(|left| {
                Line::Text(lang.pick(
                    format!("As soon as that is there, the kubelet's next look starts it: in {left}."),
                    format!("그것이 생기면 kubelet이 다음에 확인할 때 시작합니다: {left} 뒤."),
                ))
            }));
        }
        _ if ended.is_some() || facts.state == "CrashLoopBackOff" => lines.extend(again(lang, facts, left)),
        _ => {
            lines.extend(quote("", &facts.message));
            lines.extend(left.map(|left| {
                Line::Text(lang.pick(
                    format!("The kubelet looks at it again in {left}."),
                    format!("kubelet이 {left} 뒤에 다시 확인합니다."),
                ))
            }));
        }
    }
    lines
}

/// When a container that ended is started again, or why it is not.
fn again(lang: Lang, facts: &ContainerFacts, left: Option<String>) -> Option<Line> {
    let policy = &facts.restart_policy;
    let text = match (left, facts.back_off) {
        (Some(left), 0) => lang
            .pick(format!("The kubelet starts it again in {left}."), format!("kubelet이 {left} 뒤에 다시 시작합니다.")),
        (Some(left), wait) => {
            let over = facts.exit.as_ref().map_or(0, |e| e.ended_at.saturating_add(wait));
            let late = facts.next_at.saturating_sub(over) / SECOND > 0 && over > 0;
            let wait = span(lang, wait);
            let rule = lang.pick(
                format!("After each crash the kubelet waits twice as long, from 10 s up to 5 min: this time {wait}."),
                format!(
                    "kubelet은 컨테이너가 끝날 때마다 두 배로 기다립니다(10초에서 최대 5분). 이번에는 {wait}입니다."
                ),
            );
            let next = match late {
                // The wait is over before the kubelet looks: the numbers differ by its period.
                true => lang.pick(
                    format!("It starts the container when it next looks at the pod after that, in {left}."),
                    format!("그 뒤 kubelet이 Pod를 다음에 확인할 때, {left} 뒤에 다시 시작합니다."),
                ),
                false => lang
                    .pick(format!("It starts the container again in {left}."), format!("{left} 뒤에 다시 시작합니다.")),
            };
            format!("{rule} {next}")
        }
        (None, _) if policy == "Always" => return None,
        (None, _) if facts.exit.as_ref().is_some_and(|e| e.code == 0) => lang.pick(
            format!("It has done its work: with restartPolicy {policy} it is not started again."),
            format!("할 일을 마쳤습니다. restartPolicy가 {policy}라서 다시 시작하지 않습니다."),
        ),
        (None, _) if policy == "Never" => lang.pick(
            "With restartPolicy Never it is not started again.".into(),
            "restartPolicy가 Never라서 다시 시작하지 않습니다.".into(),
        ),
        (None, _) => return None,
    };
    Some(Line::Text(text))
}

/// Work that nobody does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absence {
    /// In a few words.
    pub head: String,
    /// What follows from it.
    pub text: String,
    /// How those who could do it stand.
    pub states: String,
    /// What comes next by itself; may be empty.
    pub next: String,
}

fn state(lang: Lang, process: &ProcessView, leads: bool) -> String {
    let word = match process.state {
        ProcessState::Stopped => lang.pick("stopped", "정지"),
        ProcessState::Starting => lang.pick("being restarted", "재시작 중"),
        ProcessState::CutOff => lang.pick("cut off from the network", "네트워크 끊김"),
        ProcessState::Running if leads => lang.pick("runs, does not lead", "실행 중, 리더 아님"),
        ProcessState::Running => lang.pick("runs", "실행 중"),
    };
    format!("{}: {word}", process.name)
}

/// How etcd's members stand.
fn members(lang: Lang, processes: &[ProcessView], quorum: usize) -> String {
    let total = processes.len();
    let up = processes.iter().filter(|p| p.state == ProcessState::Running).count();
    match (total, up) {
        (1, 0) => lang.pick("Its only member does not run.".into(), "하나뿐인 멤버가 실행되고 있지 않습니다.".into()),
        (_, up) if up >= quorum => lang.pick(
            "Enough members run, but they have no leader, or the API server does not reach it.".into(),
            "실행 중인 멤버는 충분하지만, 리더가 없거나 API 서버가 리더에 닿지 못합니다.".into(),
        ),
        (total, up) => lang.pick(
            format!("{up} of {total} members {}, {quorum} must.", if up == 1 { "runs" } else { "run" }),
            format!("멤버 {total}개 중 {up}개만 실행 중이고, 적어도 {quorum}개가 필요합니다."),
        ),
    }
}

/// What is said of work that nobody does. `stored` is false where nothing is stored, which is told before: no lease can
/// be taken.
pub fn missing(lang: Lang, missing: &Missing, stored: bool, now: u64) -> Absence {
    let (head, text) = match &missing.what {
        MissingKind::Store { quorum } => {
            let members = members(lang, &missing.processes, *quorum as usize);
            (
                lang.pick("etcd does not answer".to_string(), "etcd가 응답하지 않습니다".to_string()),
                lang.pick(
                    format!(
                        "{members} Until etcd answers, the API server can store nothing: every write fails, and nobody learns of changes. Containers that run go on running."
                    ),
                    format!(
                        "{members} etcd가 응답할 때까지 API 서버는 아무것도 저장하지 못합니다. 모든 쓰기가 실패하고, 변경은 아무에게도 전해지지 않습니다. 이미 실행 중인 컨테이너는 그대로 실행됩니다."
                    ),
                ),
            )
        }
        MissingKind::ApiServer => (
            lang.pick("No API server answers".to_string(), "응답하는 API 서버가 없습니다".to_string()),
            lang.pick(
                "Everybody reads and writes through it, so nothing in the cluster's state changes until one is back. Containers that run go on running.".to_string(),
                "모두가 API 서버를 거쳐 읽고 쓰므로, 다시 응답할 때까지 클러스터의 상태는 바뀌지 않습니다. 이미 실행 중인 컨테이너는 그대로 실행됩니다.".to_string(),
            ),
        ),
        MissingKind::Manager { controller } => (
            lang.pick("No controller manager leads".to_string(), "컨트롤러 매니저 리더가 없습니다".to_string()),
            match controller.as_str() {
                "" => lang.pick(
                    "Controllers work only in the leader: nobody compares what is wanted with what is there.".to_string(),
                    "컨트롤러는 리더에서만 일합니다. 지금은 원하는 상태와 실제 상태를 비교하는 컨트롤러가 없습니다.".to_string(),
                ),
                controller => lang.pick(
                    format!("The {controller} controller works only in the leader: nobody compares what is wanted with what is there."),
                    format!("{controller} 컨트롤러는 리더에서만 일합니다. 지금은 원하는 상태와 실제 상태를 비교하는 컨트롤러가 없습니다."),
                ),
            },
        ),
        MissingKind::Scheduler => (
            lang.pick("No scheduler leads".to_string(), "스케줄러 리더가 없습니다".to_string()),
            lang.pick(
                "Only the leader assigns pods to nodes: new pods wait, even if there is room.".to_string(),
                "Pod에 노드를 정해 주는 것은 리더뿐입니다. 자리가 있어도 새 Pod는 기다립니다.".to_string(),
            ),
        ),
        MissingKind::Kubelet { node } => (
            lang.pick(format!("The kubelet of {node} is silent"), format!("{node}: kubelet 응답 없음")),
            lang.pick(
                "Only that kubelet starts and stops this pod's containers and reports on them: the status here is its last report.".to_string(),
                "이 Pod의 컨테이너를 시작하고 멈추고 상태를 보고하는 것은 이 kubelet뿐입니다. 여기 보이는 상태는 마지막으로 보고된 것입니다.".to_string(),
            ),
        ),
        MissingKind::Process { name } => (
            lang.pick(format!("{name} does not run"), format!("{name}: 실행 중이 아님")),
            if missing.next_at > 0 {
                lang.pick("It exited by itself.", "스스로 종료했습니다.").to_string()
            } else {
                lang.pick("It was stopped, and stays so until it is started.", "정지된 상태입니다. 시작하기 전에는 돌아오지 않습니다.").to_string()
            },
        ),
    };
    let leads = matches!(missing.what, MissingKind::Manager { .. } | MissingKind::Scheduler);
    let states: Vec<String> = missing.processes.iter().map(|p| state(lang, p, leads)).collect();
    let standby = leads && stored && missing.processes.iter().any(|p| p.state == ProcessState::Running);
    let next = if missing.next_at > now {
        let left = span(lang, missing.next_at - now);
        lang.pick(format!("Its machine restarts it in {left}."), format!("{left} 뒤에 다시 시작됩니다."))
    } else if standby && missing.lease.expires_at > now {
        let (left, holder) = (span(lang, missing.lease.expires_at - now), &missing.lease.holder);
        lang.pick(
            format!("{holder} still holds the lease. It expires in {left}; then the one that runs takes over."),
            format!("Lease는 아직 {holder} 소유입니다. {left} 뒤에 만료되면 실행 중인 쪽이 이어받습니다."),
        )
    } else if standby {
        lang.pick(
            "The one that runs takes the lease at its next attempt.".to_string(),
            "실행 중인 쪽이 다음 시도에서 Lease를 얻습니다.".to_string(),
        )
    } else {
        String::new()
    };
    Absence { head, text, states: states.join(" · "), next }
}

/// How an applied object stands: in words, and whether that is good (`Some(true)`), bad or neither.
pub fn applied(lang: Lang, object: &TripObject) -> (String, Option<bool>) {
    let word = |en: &str, ko: &str| lang.pick(en, ko).to_string();
    match object.state {
        TripState::Missing => (word("not stored", "저장 안 됨"), None),
        TripState::Deleting => (word("being deleted", "삭제 중"), None),
        TripState::Gone => (word("deleted", "삭제됨"), None),
        TripState::Stored if object.desired == 0 => (word("stored", "저장됨"), Some(true)),
        TripState::Stored => {
            let troubles: Vec<String> = object
                .troubles
                .iter()
                .map(|(word, n)| if *n > 1 { format!("{word} ×{n}") } else { word.clone() })
                .collect();
            let count = format!("{}/{}", object.ready, object.desired);
            match (troubles.is_empty(), object.ready >= object.desired) {
                (true, true) => (count, Some(true)),
                (true, false) => (count, None),
                (false, _) => (format!("{} · {count}", troubles.join(", ")), Some(false)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use view::LeaseView;

    fn said(lines: &[Line]) -> String {
        let one = |l: &Line| match l {
            Line::Text(text) => text.clone(),
            Line::Quote("", text) => format!("> {text}"),
            Line::Quote(who, text) => format!("{who}> {text}"),
        };
        lines.iter().map(one).collect::<Vec<_>>().join("\n")
    }

    fn crashed() -> ContainerFacts {
        ContainerFacts {
            name: "app".into(),
            state: "CrashLoopBackOff".into(),
            exit: Some(Exit {
                code: 1,
                reason: "Error".into(),
                started_at: 10 * SECOND,
                ended_at: 12 * SECOND,
                ..Exit::default()
            }),
            last_line: "something broke".into(),
            back_off: 20 * SECOND,
            next_at: 32 * SECOND,
            restart_policy: "Always".into(),
            ..ContainerFacts::default()
        }
    }

    #[test]
    fn a_crash_loop_is_explained() {
        assert_eq!(
            said(&container(Lang::En, &crashed(), 15 * SECOND)),
            "Exit code 1 (Error), ran 2 s, 3 s ago.\nlast line of its log> something broke\nAfter each crash the kubelet \
             waits twice as long, from 10 s up to 5 min: this time 20 s. It starts the container again in 17 s."
        );
        assert_eq!(
            said(&container(Lang::Ko, &crashed(), 15 * SECOND)),
            "종료 코드 1 (Error), 2초 동안 실행, 3초 전.\n마지막 로그> something broke\nkubelet은 컨테이너가 끝날 \
             때마다 두 배로 기다립니다(10초에서 최대 5분). 이번에는 20초입니다. 17초 뒤에 다시 시작합니다."
        );
        // The kubelet looks at the pod once a minute or so: where that is later, it is said.
        let late = ContainerFacts { next_at: 33 * SECOND + SECOND / 2, ..crashed() };
        let text = said(&container(Lang::En, &late, 12 * SECOND));
        assert!(
            text.ends_with(
                "this time 20 s. It starts the container when it next looks at the pod after that, in 21 s."
            ),
            "{text}"
        );
    }

    #[test]
    fn what_the_registry_said_stands_by_itself() {
        let facts = ContainerFacts {
            state: "ImagePullBackOff".into(),
            image: "nginx:nope".into(),
            message: "Back-off pulling image \"nginx:nope\": ErrImagePull: nginx:nope: not found".into(),
            next_at: 40 * SECOND,
            ..ContainerFacts::default()
        };
        let text = said(&container(Lang::En, &facts, 20 * SECOND));
        assert!(text.contains("\n> nginx:nope: not found\nThe kubelet tries again in 20 s"), "{text}");
    }

    #[test]
    fn what_is_finished_says_why_it_stays_so() {
        let exit = Exit { reason: "Completed".into(), started_at: 1, ended_at: 2, ..Exit::default() };
        let facts = ContainerFacts {
            state: "Completed".into(),
            exit: Some(exit),
            restart_policy: "Never".into(),
            ..ContainerFacts::default()
        };
        let text = said(&container(Lang::En, &facts, SECOND));
        assert!(text.ends_with("It has done its work: with restartPolicy Never it is not started again."), "{text}");
        let killed = Exit { code: 137, reason: "OOMKilled".into(), ..Exit::default() };
        assert!(meaning(Lang::En, &killed, "64Mi").unwrap().contains("limit of 64Mi"));
        let stopped = Exit { code: 143, reason: "Error".into(), ..Exit::default() };
        assert_eq!(meaning(Lang::En, &stopped, "").unwrap(), "143 is 128 + 15: the signal SIGTERM ended it.");
    }

    #[test]
    fn absences_name_who_could_and_what_comes_next() {
        let process = |name: &str, state| ProcessView { name: name.into(), host: "cp-1".into(), state };
        let mut absent = Missing {
            what: MissingKind::Scheduler,
            processes: vec![
                process("kube-scheduler-1", ProcessState::Stopped),
                process("kube-scheduler-2", ProcessState::Running),
            ],
            since: SECOND,
            lease: LeaseView { holder: "cp-1".into(), expires_at: 16 * SECOND, duration_millis: 15_000 },
            next_at: 0,
            command: String::new(),
        };
        let told = missing(Lang::En, &absent, true, 6 * SECOND);
        assert_eq!(told.states, "kube-scheduler-1: stopped · kube-scheduler-2: runs, does not lead");
        assert!(told.next.contains("cp-1 still holds the lease. It expires in 10 s"), "{}", told.next);
        assert_eq!(missing(Lang::En, &absent, false, 6 * SECOND).next, "");
        absent.processes.truncate(1);
        assert_eq!(missing(Lang::En, &absent, true, 6 * SECOND).next, "");
        absent.what = MissingKind::Store { quorum: 1 };
        absent.processes.truncate(1);
        assert!(missing(Lang::En, &absent, true, 0).text.starts_with("Its only member does not run. Until"));
        let states = [ProcessState::Running, ProcessState::Stopped, ProcessState::Stopped];
        absent.processes = states.map(|state| process("etcd-1", state)).into();
        absent.what = MissingKind::Store { quorum: 2 };
        assert!(missing(Lang::En, &absent, true, 0).text.starts_with("1 of 3 members runs, 2 must."));
        assert!(missing(Lang::Ko, &absent, true, 0).text.starts_with("멤버 3개 중 1개만 실행 중이고, 적어도 2개가"));
        absent.processes[1].state = ProcessState::Running;
        assert!(missing(Lang::En, &absent, true, 0).text.starts_with("Enough members run, but"));
        absent.what = MissingKind::Process { name: "etcd-1".into() };
        assert_eq!(missing(Lang::En, &absent, true, 0).head, "etcd-1 does not run");
    }

    #[test]
    fn applied_objects_stand_in_a_word() {
        let mut object = TripObject { state: TripState::Stored, ..TripObject::default() };
        assert_eq!(applied(Lang::En, &object), ("stored".into(), Some(true)));
        (object.desired, object.ready) = (3, 1);
        assert_eq!(applied(Lang::Ko, &object), ("1/3".into(), None));
        object.troubles = vec![("CrashLoopBackOff".into(), 2)];
        assert_eq!(applied(Lang::En, &object), ("CrashLoopBackOff ×2 · 1/3".into(), Some(false)));
        object.state = TripState::Gone;
        assert_eq!(applied(Lang::Ko, &object), ("삭제됨".into(), None));
    }
}
