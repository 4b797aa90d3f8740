//! Sentences made of facts, in both languages. Names and Kubernetes' words are put in as they are; Korean sentences
//! are built so that no particle depends on how a name ends.

use crate::cluster::Lack;
use crate::format::{self, count, span, suffix};
use crate::lang::{self, Lang};
use crate::link::LoadFailure;
use crate::query::Complaint;
use view::{CauseKind, Clock, ClockState, Remedy, StorageDown, TimerKind, Trip, TripKind, TripStep};

/// What a timer will do: `image pulled on node-2`.
pub fn timer(lang: Lang, what: &TimerKind) -> String {
    use TimerKind::*;
    match (what, lang) {
        (ImagePulled { node, .. }, Lang::En) => format!("image pulled on {node}"),
        (ImagePulled { node, .. }, Lang::Ko) => format!("{node} 이미지 받기"),
        (PullBackOff { node, image }, Lang::En) => format!("{node} pulls {image} again"),
        (PullBackOff { node, image }, Lang::Ko) => format!("{node}: {image} 다시 받기"),
        (ContainerStarts { node, .. }, Lang::En) => format!("container starts on {node}"),
        (ContainerStarts { node, .. }, Lang::Ko) => format!("{node} 컨테이너 시작"),
        (RestartBackOff { pod, .. }, Lang::En) => format!("{} restarts", suffix(pod)),
        (RestartBackOff { pod, .. }, Lang::Ko) => format!("{} 재시작", suffix(pod)),
        (Probe { pod, .. }, Lang::En) => format!("probe of {}", suffix(pod)),
        (Probe { pod, .. }, Lang::Ko) => format!("{} 프로브", suffix(pod)),
        (GraceEnds { pod }, Lang::En) => format!("{} is killed", suffix(pod)),
        (GraceEnds { pod }, Lang::Ko) => format!("{} 강제 종료", suffix(pod)),
        (NodeNotReady { node }, Lang::En) => format!("{node} NotReady"),
        (NodeNotReady { node }, Lang::Ko) => format!("{node} NotReady"),
        (Eviction { node, pods }, Lang::En) => format!("{node} evicts {pods} {}", plural(*pods, "pod", "pods")),
        (Eviction { node, pods }, Lang::Ko) => format!("{node}: Pod {pods}개 축출"),
        (SchedulerRetry { pod }, Lang::En) => format!("scheduler retries {}", suffix(pod)),
        (SchedulerRetry { pod }, Lang::Ko) => format!("스케줄러가 {} 재시도", suffix(pod)),
        (LeaseExpires { lease }, Lang::En) => format!("lease {lease} expires"),
        (LeaseExpires { lease }, Lang::Ko) => format!("{lease} Lease 만료"),
        (ComponentRestarts { component }, Lang::En) => format!("{component} is restarted"),
        (ComponentRestarts { component }, Lang::Ko) => format!("{component} 재시작"),
        (LeaseRetry { component, .. }, Lang::En) => format!("{component} asks for its lease"),
        (LeaseRetry { component, .. }, Lang::Ko) => format!("{component} Lease 재요청"),
        (Election { member }, Lang::En) => format!("{member} stands for election"),
        (Election { member }, Lang::Ko) => format!("{member} 리더 선거 시작"),
        (Requeue { controller, .. }, Lang::En) => format!("{controller} looks again"),
        (Requeue { controller, .. }, Lang::Ko) => format!("{controller} 다시 확인"),
        (ProgressDeadline { deployment }, Lang::En) => format!("progress deadline of {deployment}"),
        (ProgressDeadline { deployment }, Lang::Ko) => format!("{deployment} 진행 기한"),
        (Command { line }, Lang::En) => format!("command continues: {line}"),
        (Command { line }, Lang::Ko) => format!("명령 재개: {line}"),
        (Other { process, name }, _) => format!("{process}: {name}"),
    }
}

/// The timer and when: `image pulled on node-2 in 0.15 s`.
pub fn timer_in(lang: Lang, what: &TimerKind, left: u64) -> String {
    let (what, left) = (timer(lang, what), span(lang, left));
    lang.pick(format!("{what} in {left}"), format!("{what}, {left} 뒤"))
}

/// What stands on the button that runs until settled: what it does, or that there is nothing to run for, and until when.
pub fn rest(lang: Lang, clock: &Clock, next: Option<u64>) -> String {
    match (clock.state, clock.settled, next) {
        (ClockState::Hurrying, ..) => lang.of(lang::HURRYING).into(),
        (_, false, _) => lang.of(lang::SETTLE).into(),
        (_, true, None) => lang.of(lang::SETTLED).into(),
        (_, true, Some(at)) => {
            // Rounded up: what is still to come is not over.
            let left = format::whole(lang, at.saturating_sub(clock.now).saturating_add(999_999_999));
            lang.pick(format!("quiet for {left}"), format!("{left} 동안 변화 없음"))
        }
    }
}

fn plural(n: u32, one: &'static str, many: &'static str) -> &'static str {
    if n == 1 { one } else { many }
}

/// A step of the trip: `Scheduler binds: 2 of 3`.
pub fn trip_step(lang: Lang, step: &TripStep) -> String {
    use TripKind::*;
    let (done, total) = (step.done, step.total);
    let of = |en: &str, ko: &str| lang.pick(format!("{en}: {done} of {total}"), format!("{ko}: {total}개 중 {done}개"));
    match step.kind {
        Stored => lang.pick("Stored in etcd".into(), "etcd에 저장".into()),
        ReplicaSet => lang.pick("ReplicaSet created".into(), "ReplicaSet 생성".into()),
        Pods if step.progress == view::Progress::Done => {
            lang.pick(format!("{total} {} created", plural(total, "pod", "pods")), format!("Pod {total}개 생성"))
        }
        Pods => of("Pods created", "Pod 생성"),
        Bound => of("Scheduler binds", "스케줄러 바인딩"),
        Started => of("Kubelets start", "kubelet 시작"),
        Ready => of("Ready", "준비됨"),
    }
}

/// The story's sentence at a step: who did what, and why.
pub fn story(lang: Lang, trip: &Trip, kind: TripKind) -> String {
    let step = trip.steps.iter().find(|s| s.kind == kind).cloned().unwrap_or_default();
    let (short, total, revision) = (&trip.short, step.total, step.revision);
    let bound = trip.steps.iter().find(|s| s.kind == TripKind::Bound).map_or(0, |s| s.done);
    let name = &step.name;
    match (kind, lang) {
        (TripKind::Stored, Lang::En) => format!(
            "kubectl sent {short} to the API server. It asked who you are, whether you may, whether a plugin objects, and whether the object is well formed; then it wrote revision {revision} to etcd. Nothing runs yet: this is only what you want."
        ),
        (TripKind::Stored, Lang::Ko) => format!(
            "kubectl이 API 서버에 {short} 오브젝트를 보냈습니다. API 서버는 누구인지, 권한이 있는지, 막을 플러그인이 있는지, 형식이 맞는지를 차례로 확인한 뒤 etcd에 저장했습니다(리비전 {revision}). 아직 아무것도 실행되지 않습니다. 원하는 상태만 적혔을 뿐입니다."
        ),
        (TripKind::ReplicaSet, Lang::En) => format!(
            "The deployment controller watches deployments. It found no ReplicaSet with this template and created {name}, wanting {} {}.",
            trip.desired,
            plural(trip.desired, "pod", "pods")
        ),
        (TripKind::ReplicaSet, Lang::Ko) => format!(
            "Deployment 컨트롤러는 Deployment를 지켜봅니다. 이 템플릿으로 만든 ReplicaSet이 없어서 새로 만들었습니다: {name}, 원하는 Pod 수 {}개.",
            trip.desired
        ),
        (TripKind::Pods, Lang::En) => {
            let made = format!(
                "The ReplicaSet controller compared: {total} wanted, 0 there. It created {total} {}.",
                plural(total, "pod", "pods")
            );
            match bound {
                0 => format!("{made} They have no node; they are only objects in etcd."),
                _ if bound < total => format!(
                    "{made} A pod begins without a node, only an object in etcd; the scheduler, which waits for such pods, has given {bound} of them {} already.",
                    plural(bound, "its node", "their nodes")
                ),
                _ => format!(
                    "{made} A pod begins without a node, only an object in etcd; the scheduler, which waits for such pods, has given {} already.",
                    if total == 1 { "it its node" } else { "all of them their nodes" }
                ),
            }
        }
        (TripKind::Pods, Lang::Ko) => {
            let made = format!(
                "ReplicaSet 컨트롤러가 비교해 보니 원하는 수는 {total}, 있는 수는 0입니다. 그래서 Pod {total}개를 만들었습니다."
            );
            match bound {
                0 => format!("{made} 아직 노드가 없고, etcd 안의 오브젝트일 뿐입니다."),
                _ => format!(
                    "{made} 처음에는 노드 없이 etcd 안의 오브젝트일 뿐인데, 그런 Pod를 기다리던 스케줄러가 벌써 {bound}개에 노드를 정했습니다."
                ),
            }
        }
        (TripKind::Bound, Lang::En) => format!(
            "The scheduler watches for pods without a node. It filtered the nodes, scored those that fit, and bound each pod to the best: {} to {}.",
            suffix(name),
            step.node
        ),
        (TripKind::Bound, Lang::Ko) => format!(
            "스케줄러는 노드가 없는 Pod를 지켜봅니다. 들어갈 수 없는 노드를 거르고 남은 노드에 점수를 매겨, Pod마다 가장 높은 노드에 배정했습니다. 예: {} → {}.",
            suffix(name),
            step.node
        ),
        (TripKind::Started, Lang::En) => format!(
            "Each kubelet watches for pods on its own node. It pulled the image and started the container: {} on {}.",
            suffix(name),
            step.node
        ),
        (TripKind::Started, Lang::Ko) => format!(
            "kubelet은 자기 노드에 배정된 Pod를 지켜봅니다. 이미지를 받아 컨테이너를 시작했습니다. 예: {} ({}).",
            suffix(name),
            step.node
        ),
        (TripKind::Ready, Lang::En) => format!(
            "The kubelets wrote the pods' status back through the API server; the controllers counted: {} of {} ready. What you wanted and what is there are now the same, and the loops go on watching.",
            trip.ready, trip.desired
        ),
        (TripKind::Ready, Lang::Ko) => format!(
            "kubelet이 API 서버를 거쳐 Pod의 상태를 기록했고, 컨트롤러가 세어 보니 {}개 중 {}개가 준비됐습니다. 원하는 상태와 지금 상태가 같아졌고, 루프는 계속 지켜봅니다.",
            trip.desired, trip.ready
        ),
    }
}

/// The story's title at a step: who acts.
pub fn story_actor(kind: TripKind) -> &'static str {
    match kind {
        TripKind::Stored => "kube-apiserver → etcd",
        TripKind::ReplicaSet => "kube-controller-manager · deployment",
        TripKind::Pods => "kube-controller-manager · replicaset",
        TripKind::Bound => "kube-scheduler",
        TripKind::Started => "kubelet",
        TripKind::Ready => "kubelet → kube-apiserver",
    }
}

/// What a screen reader hears: `web: 3 of 3 ready`.
pub fn workload(lang: Lang, name: &str, ready: u32, desired: u32) -> String {
    lang.pick(format!("{name}: {ready} of {desired} ready"), format!("{name}: {desired}개 중 {ready}개 준비됨"))
}

/// A link of the chain, that many times in a row: its head and its explanation (the second may be a command in code).
pub fn cause(lang: Lang, what: &CauseKind, times: u32) -> (CauseHead, String) {
    use CauseKind::*;
    match what {
        Command { line } => (CauseHead::You, line.clone()),
        Fault { line } => (CauseHead::You, line.clone()),
        Boot => (
            CauseHead::Text(lang.pick("The cluster's boot".into(), "클러스터 부팅".into())),
            lang.pick("objects every cluster starts with".into(), "모든 클러스터가 처음부터 갖는 오브젝트".into()),
        ),
        Timer { name } => (CauseHead::Text(lang.pick("A timer fired".into(), "타이머가 울림".into())), name.clone()),
        Unschedulable { took_micros } => {
            let took = format::latency(lang, *took_micros);
            (
                CauseHead::End(lang.pick("No node fits".into(), "맞는 노드 없음".into())),
                lang.pick(
                    format!("scheduler: PodScheduled=False, Unschedulable, after {took}"),
                    format!("스케줄러: {took} 뒤 PodScheduled=False, Unschedulable"),
                ),
            )
        }
        Also { more } => (
            CauseHead::Text(lang.pick(format!("and {more} more causes"), format!("그 밖의 원인 {more}개"))),
            lang.pick("several changes reached the loop together".into(), "여러 변경이 함께 루프에 들어옴".into()),
        ),
        Write { verb, object, subresource, by, wanted_actual, reason, code, latency_micros } => {
            let kind =
                if subresource.is_empty() { object.kind.clone() } else { format!("{}/{subresource}", object.kind) };
            let done = match (verb.as_str(), by.starts_with("kube-apiserver")) {
                ("create", true) => lang.pick("stored", "저장"),
                ("create", false) => "",
                ("update", _) => lang.pick("updated", "갱신"),
                ("patch", _) => lang.pick("patched", "패치"),
                ("delete", _) => lang.pick("deleted", "삭제"),
                ("bind", _) => lang.pick("bound", "바인딩"),
                (other, _) => other,
            };
            let mut text = String::new();
            if let Some((wanted, actual)) = wanted_actual {
                text =
                    lang.pick(format!("wants {wanted}, has {actual}"), format!("원하는 수 {wanted}, 있는 수 {actual}"));
            }
            if !reason.is_empty() {
                if !text.is_empty() {
                    text.push_str(", ");
                }
                text.push_str(reason);
            }
            // How long one of several took says nothing of the others.
            if text.is_empty() && *code != 0 && times <= 1 {
                text = lang.pick(
                    format!("{code} in {}", format::latency(lang, *latency_micros)),
                    format!("{code}, {}", format::latency(lang, *latency_micros)),
                );
            }
            let text = match (by.is_empty(), text.is_empty()) {
                (true, _) => text,
                (false, true) => by.clone(),
                (false, false) if by.starts_with("kube-apiserver") => format!("{by}, {text}"),
                (false, false) => format!("{by}: {text}"),
            };
            (CauseHead::Object { kind, name: object.name.clone(), done: done.to_string() }, text)
        }
    }
}

/// The head of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CauseHead {
    /// The reader did it; the explanation is a command.
    You,
    /// A sentence.
    Text(String),
    /// The end of a chain that led to nothing good.
    End(String),
    /// An object: kind, name in code, what was done.
    Object {
        /// Kind, with subresource.
        kind: String,
        /// Name.
        name: String,
        /// What was done; may be empty.
        done: String,
    },
}

/// What would let a pending pod in: a sentence, and what stands at its right (a command or a number).
pub fn remedy(lang: Lang, what: &Remedy, now: u64) -> (String, String) {
    use Remedy::*;
    match what {
        Free { resource, amount, node, largest, largest_amount } => {
            let right = if largest.is_empty() { String::new() } else { format!("{largest} {largest_amount}") };
            (
                lang.pick(
                    format!("{amount} of {resource} freed on {node}"),
                    format!("{node}의 {resource} 여유가 {amount} 늘면"),
                ),
                right,
            )
        }
        Label { node, label, command } => {
            (lang.pick(format!("{node} labelled {label}"), format!("{node}에 {label} 레이블")), command.clone())
        }
        Untaint { node, taint, command } => (
            lang.pick(
                format!("{node} without the taint {taint}, or a toleration"),
                format!("{node}의 {taint} taint 제거, 또는 toleration"),
            ),
            command.clone(),
        ),
        Uncordon { node, command } => {
            (lang.pick(format!("{node} made schedulable"), format!("{node} 스케줄 제외 해제")), command.clone())
        }
        Gate { name } => {
            (lang.pick(format!("the gate {name} removed"), format!("스케줄링 게이트 {name} 제거")), String::new())
        }
        NodeBack { node, command } => (lang.pick(format!("{node} back"), format!("{node} 복귀")), command.clone()),
        Other { text, command } => (text.clone(), command.clone()),
        Retry { at } => (
            lang.pick("otherwise, the next attempt in".into(), "그렇지 않으면 다음 시도까지".into()),
            span(lang, at.saturating_sub(now)),
        ),
    }
}

/// A complaint about the address.
pub fn complaint(lang: Lang, what: &Complaint) -> String {
    match what {
        Complaint::Unknown { name } => lang.pick(
            format!("The address asks for “{name}”, which is not an option of this page. It was ignored."),
            format!("주소에 있는 “{name}” 옵션은 이 페이지에 없어서 빼고 열었습니다."),
        ),
        Complaint::Broken { name, value, allowed } => lang.pick(
            format!("“{name}={value}” can't be used. Allowed: {allowed}. The default is used instead."),
            format!("“{name}={value}” 값은 쓸 수 없습니다. 쓸 수 있는 값: {allowed}. 기본값으로 열었습니다."),
        ),
    }
}

/// Why the world could not be loaded: what was tried, what came of it, what to do.
pub fn load_failure(lang: Lang, what: &LoadFailure) -> String {
    let LoadFailure { file, arrived, why } = what;
    let why = if why.is_empty() {
        lang.pick("the browser does not say why", "브라우저가 이유를 알려 주지 않음").to_string()
    } else {
        why.clone()
    };
    match (arrived, lang) {
        (false, Lang::En) => format!(
            "The page asked its server for {file}, the program of the cluster, and did not get it: {why}. Nothing of the cluster is lost, it has not begun. Check the connection and try again. If that changes nothing, reload the page: it may have been replaced by a newer one. If the file is still missing, whoever serves this page has to put it there."
        ),
        (false, Lang::Ko) => format!(
            "클러스터를 돌리는 프로그램 파일({file})을 서버에 요청했지만 받지 못했습니다: {why}. 아직 시작 전이므로 잃은 것은 없습니다. 네트워크 연결을 확인하고 다시 시도해 보세요. 그래도 같으면 페이지를 새로 고치세요. 그 사이 새 버전으로 바뀌었을 수 있습니다. 그래도 파일이 없다면 이 페이지를 제공하는 쪽에서 파일을 올려야 합니다."
        ),
        (true, Lang::En) => format!(
            "{file}, the program of the cluster, arrived, but it could not be started: {why}. If that speaks of memory, close other tabs and try again. Otherwise try a current version of Chrome, Edge, Firefox or Safari, in which WebAssembly is not switched off."
        ),
        (true, Lang::Ko) => format!(
            "클러스터를 돌리는 프로그램 파일({file})은 받았지만 시작하지 못했습니다: {why}. 메모리 문제라면 다른 탭을 닫고 다시 시도해 보세요. 그 밖에는 WebAssembly가 꺼져 있지 않은 최신 Chrome, Edge, Firefox, Safari에서 열어 보세요."
        ),
    }
}

/// On an API server's card: its storage does not answer, and what its clients get meanwhile.
pub fn storage(lang: Lang, down: &StorageDown, wide: bool, tiny: bool) -> String {
    if tiny {
        return lang.pick("no etcd", "etcd 없음").into();
    }
    let head = lang.pick("etcd does not answer", "etcd 응답 없음");
    match (down.code, wide) {
        (0, _) => head.into(),
        (code, true) => {
            lang.pick(format!("{head}, clients get {code}"), format!("{head}, 클라이언트가 받는 답: {code}"))
        }
        (code, false) => format!("{head} · {code}"),
    }
}

/// What the cluster lacks to do anything by itself.
pub fn lack(lang: Lang, what: Lack) -> &'static str {
    match what {
        Lack::Etcd => {
            lang.pick("none: etcd is down, nothing can be stored", "없음: etcd가 멈춰 아무것도 저장할 수 없음")
        }
        Lack::ApiServer => lang.pick("none: no API server answers", "없음: 응답하는 API 서버가 없음"),
        Lack::Managers => lang.pick("none: no controller manager leads", "없음: 컨트롤러 매니저 리더가 없음"),
        Lack::Scheduler => lang.pick("none: no scheduler leads", "없음: 스케줄러 리더가 없음"),
    }
}

/// Under the map's title: nodes and pods.
pub fn nodes_line(lang: Lang, nodes: usize, zones: usize) -> String {
    let n = count(nodes as u64);
    match (zones, lang) {
        (0 | 1, Lang::En) => format!("**{n}** {}", if nodes == 1 { "node" } else { "nodes" }),
        (0 | 1, Lang::Ko) => format!("노드 **{n}**개"),
        (_, Lang::En) => format!("**{n}** nodes in **{zones}** zones"),
        (_, Lang::Ko) => format!("**{zones}**개 영역에 노드 **{n}**개"),
    }
}

/// Pods and how many are ready.
pub fn pods_line(lang: Lang, pods: usize, ready: usize) -> String {
    let (n, r) = (count(pods as u64), count(ready as u64));
    match lang {
        Lang::En if pods == 1 => format!("**1** pod, **{r}** ready"),
        Lang::En => format!("**{n}** pods, **{r}** ready"),
        Lang::Ko => format!("Pod **{n}**개 중 **{r}**개 준비됨"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use view::{ObjectRef, Progress};

    #[test]
    fn timers_name_themselves_in_both_languages() {
        let what = TimerKind::ImagePulled { node: "node-2".into(), image: "nginx:1.27".into() };
        assert_eq!(timer_in(Lang::En, &what, 150_000_000), "image pulled on node-2 in 0.15 s");
        assert_eq!(timer_in(Lang::Ko, &what, 150_000_000), "node-2 이미지 받기, 0.15초 뒤");
    }

    #[test]
    fn what_is_quiet_says_for_how_long() {
        let mut clock = Clock { now: 1_000_000_000, settled: true, state: ClockState::Running, ..Clock::default() };
        assert_eq!(rest(Lang::En, &clock, None), "settled");
        assert_eq!(rest(Lang::En, &clock, Some(9_500_000_000)), "quiet for 9 s");
        assert_eq!(rest(Lang::Ko, &clock, Some(9_500_000_000)), "9초 동안 변화 없음");
        clock.settled = false;
        assert_eq!(rest(Lang::En, &clock, Some(9_500_000_000)), "Run until settled");
    }

    #[test]
    fn steps_count() {
        let step =
            TripStep { kind: TripKind::Bound, progress: Progress::Now, done: 2, total: 3, ..TripStep::default() };
        assert_eq!(trip_step(Lang::En, &step), "Scheduler binds: 2 of 3");
        assert_eq!(trip_step(Lang::Ko, &step), "스케줄러 바인딩: 3개 중 2개");
        let step =
            TripStep { kind: TripKind::Pods, progress: Progress::Done, done: 1, total: 1, ..TripStep::default() };
        assert_eq!(trip_step(Lang::En, &step), "1 pod created");
    }

    #[test]
    fn causes_read_as_sentences() {
        let what = CauseKind::Write {
            verb: "create".into(),
            object: ObjectRef { kind: "Pod".into(), namespace: "default".into(), name: "web-1".into() },
            subresource: String::new(),
            by: "replicaset controller".into(),
            wanted_actual: Some((3, 0)),
            reason: "creates 3".into(),
            code: 201,
            latency_micros: 5200,
        };
        let (head, text) = cause(Lang::En, &what, 1);
        assert_eq!(text, "replicaset controller: wants 3, has 0, creates 3");
        assert_eq!(head, CauseHead::Object { kind: "Pod".into(), name: "web-1".into(), done: String::new() });
    }

    #[test]
    fn every_story_step_has_a_sentence() {
        let trip = Trip { short: "deployment/web".into(), desired: 3, ready: 3, ..Trip::default() };
        for kind in [
            TripKind::Stored,
            TripKind::ReplicaSet,
            TripKind::Pods,
            TripKind::Bound,
            TripKind::Started,
            TripKind::Ready,
        ] {
            assert!(story(Lang::En, &trip, kind).ends_with('.'));
            assert!(story(Lang::Ko, &trip, kind).ends_with('.'));
        }
    }
}
