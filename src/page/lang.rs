//! Both languages: one table of texts. Kubernetes' own words stay as they are in both.

/// The language of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Korean.
    Ko,
}

impl Lang {
    /// The text in this language.
    pub fn of(self, text: Text) -> &'static str {
        match self {
            Lang::En => text.en,
            Lang::Ko => text.ko,
        }
    }

    /// The language's code, as in `<html lang>`.
    pub fn code(self) -> &'static str {
        match self {
            Lang::En => "en",
            Lang::Ko => "ko",
        }
    }

    /// From the browser's list: the first that the page speaks.
    pub fn from_browser(languages: &[String]) -> Lang {
        languages
            .iter()
            .find_map(|l| match l.get(..2)? {
                "ko" => Some(Lang::Ko),
                "en" => Some(Lang::En),
                _ => None,
            })
            .unwrap_or_default()
    }

    /// `English` here, or the Korean.
    pub fn pick<T>(self, en: T, ko: T) -> T {
        match self {
            Lang::En => en,
            Lang::Ko => ko,
        }
    }
}

/// A text in both languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text {
    /// English.
    pub en: &'static str,
    /// Korean.
    pub ko: &'static str,
}

macro_rules! texts {
    ($($name:ident: $en:literal, $ko:literal;)*) => {
        $(#[doc = $en] pub const $name: Text = Text { en: $en, ko: $ko };)*
        #[cfg(test)]
        const ALL: &[(&str, Text)] = &[$((stringify!($name), $name)),*];
    };
}

texts! {
    SIMULATED: "simulated", "시뮬레이션";
    LANGUAGE: "Language", "언어";
    THEME: "Theme", "테마";
    THEME_AUTO: "follows the system", "시스템 설정";
    THEME_LIGHT: "light", "밝게";
    THEME_DARK: "dark", "어둡게";
    HELP: "Help", "도움말";
    OPEN_LARGE: "Open", "크게 열기";
    CLOSE: "Close", "닫기";
    MENU: "Menu", "메뉴";
    SKIP_LINK: "Skip to the cluster", "클러스터로 건너뛰기";

    MANIFEST: "Manifest", "매니페스트";
    TERMINAL: "Terminal", "터미널";
    CLUSTER: "Cluster", "클러스터";
    LOGS: "Logs", "로그";
    MORE: "More", "더 보기";
    PANELS: "Panels", "패널";
    EXAMPLES: "Examples", "예제";
    OPEN_FILE: "Open a file", "파일 열기";
    DROP_HERE: "Drop the file to open it", "파일을 놓으면 열립니다";
    APPLY: "Apply", "적용";
    DIFF: "Diff", "Diff";
    DELETE: "Delete", "삭제";
    FIX: "Fix", "고치기";
    EDITOR_LABEL: "Manifest, YAML", "매니페스트, YAML";
    EDITOR_LEAVE: "Tab leaves the editor. Ctrl+] and Ctrl+[ indent.", "Tab은 편집기를 벗어납니다. Ctrl+]와 Ctrl+[로 들여씁니다.";
    NO_DOCUMENT: "empty", "비어 있음";
    CHECKING: "checking", "검사 중";
    SENT: "sent", "보냄";
    DIFF_NONE: "No difference: the cluster has exactly this.", "차이 없음: 클러스터에 이미 같은 내용이 있습니다.";
    DIFF_TITLE: "What Apply would change", "적용하면 바뀌는 내용";
    ANSWER_TITLE: "kubectl's answer", "kubectl의 답";

    TRIP_TITLE: "What became of it", "적용한 뒤 일어난 일";
    TRIP_EMPTY: "Apply the manifest and watch what each component does with it.", "매니페스트를 적용하고, 구성 요소가 차례로 하는 일을 지켜보세요.";
    STORY_REPLAY: "Tell the next change as a story", "다음 변경을 이야기로 보기";
    STORY: "Story", "이야기";
    STORY_NEXT: "Next", "다음";
    STORY_SKIP: "Skip", "건너뛰기";
    STORY_CREEP: "on to the next step …", "다음 단계로 가는 중 …";

    FAULTS: "Faults", "장애";
    FAULTS_NONE: "No faults are active.", "진행 중인 장애가 없습니다.";
    FAULTS_RESTORE: "End all faults", "장애 모두 끝내기";
    FAULTS_HINT: "The bolt on each card of the map holds that part's faults. Every fault is also a terminal command.", "지도의 카드마다 있는 번개 단추로 그 부분에 장애를 낼 수 있습니다. 모든 장애는 터미널 명령으로도 낼 수 있습니다.";
    LEGEND: "Legend", "범례";
    LEGEND_TITLE: "States of a pod", "Pod의 상태";
    LEGEND_TIME: "On the time bar", "시간 막대";
    LEGEND_INPUT: "what you did", "내가 한 일";
    LEGEND_FAULT: "a fault began", "장애 시작";
    LEGEND_TIMER: "an upcoming timer", "예정된 타이머";
    WALL_NOTE: "only the API server reads and writes etcd", "etcd를 읽고 쓰는 것은 API 서버뿐";
    LOAD_BALANCER: "load balancer", "로드 밸런서";
    BOOTING: "booting", "부팅 중";
    NOT_SERVING: "not serving", "응답 없음";
    AUTHN: "authentication", "인증";
    AUTHZ: "authorization", "인가";
    ADMIT: "admission", "어드미션";
    VALID: "validation", "검증";
    AUTHN_SHORT: "authn", "인증";
    AUTHZ_SHORT: "authz", "인가";
    ADMIT_SHORT: "admit", "어드미션";
    VALID_SHORT: "valid", "검증";
    CONTROLLERS: "Controllers", "컨트롤러";
    SCHEDULER: "Scheduler", "스케줄러";
    NO_LEADER: "no leader", "리더 없음";
    NO_LOOPS: "No leader: no loop runs", "리더가 없어 실행 중인 루프 없음";
    NO_SCHEDULER: "No leader: no pod gets a node", "리더가 없어 Pod가 배정되지 않음";
    STANDBY: "standby", "대기";
    STOPPED: "stopped", "정지";
    RESTARTING: "restarting", "재시작 중";
    RESTARTING_LONG: "It exited by itself; its machine is about to restart it.", "스스로 종료했고, 곧 다시 시작됩니다.";
    LEASE_EXPIRED: "expired", "만료됨";
    CUT_OFF: "cut off", "끊김";
    POWERED_OFF: "powered off", "전원 꺼짐";
    CORDONED: "cordoned", "스케줄 제외";
    PULLING: "Pulling", "이미지 받는 중";
    ASSUMED: "Assumed", "예약됨";
    NO_REPORT: "no report", "보고 없음";
    RUNNING: "Running", "실행 중";
    TERMINATING: "Terminating", "종료 중";
    PENDING_PODS: "Pods that wait for a node", "노드를 기다리는 Pod";
    NOT_TRIED: "not tried yet", "아직 시도 전";
    WAITING: "Waiting for a node", "노드를 기다리는 중";
    LAST_HEARTBEAT: "last heartbeat", "마지막 heartbeat";
    BINDING: "Binding", "바인딩";
    LAST_BOUND: "Last bound", "마지막 바인딩";
    SCHEDULING: "Scheduling", "스케줄링";
    UNSCHEDULABLE: "Unschedulable", "배치 불가";
    NO_PODS: "No pods", "Pod 없음";
    NOTHING_TO_PLACE: "Nothing to place", "배정할 Pod 없음";

    DOCK: "Logs and events", "로그와 이벤트";
    CONTROLLER_LOGS: "Controller logs", "컨트롤러 로그";
    EVENTS: "Events", "이벤트";
    REQUESTS: "Requests", "요청";
    TIMELINE: "Timeline", "타임라인";
    ALL_COMPONENTS: "All components", "모든 구성 요소";
    COMPONENT: "Component", "구성 요소";
    SEVERITY: "Severity", "심각도";
    LEVEL_ALL: "Everything", "모두";
    LEVEL_INFO: "Info and up", "Info 이상";
    LEVEL_WARNING: "Warning and up", "Warning 이상";
    LEVEL_ERROR: "Errors", "오류만";
    FILTER: "Object or word", "오브젝트나 단어";
    FOLLOW: "Follow", "따라가기";
    WRAP: "Wrap", "줄 바꿈";
    WRAP_LONG: "Wrap long lines. Click a line to wrap only that one.", "긴 줄을 줄 바꿈해서 보기 (한 줄만 보려면 그 줄을 누르세요)";
    NO_LOGS: "No matching lines.", "일치하는 줄이 없습니다.";
    NO_EVENTS: "No events.", "이벤트가 없습니다.";
    NO_REQUESTS: "No requests yet.", "아직 요청이 없습니다.";
    COPY_LINE: "Copy the line as klog writes it", "klog 형식 그대로 복사";

    TIME: "Time", "시간";
    PLAY: "Play", "재생";
    PAUSE: "Pause", "멈춤";
    STEP: "Step to the next event", "다음 사건까지 한 단계 진행";
    SPEED: "Speed", "속도";
    NEXT_TIMER: "Next timer", "다음 타이머";
    NO_TIMER: "none, only lease renewals", "없음 (Lease 갱신만)";
    JUMP: "Jump to it", "그때로 건너뛰기";
    SETTLE: "Run until settled", "안정될 때까지";
    SETTLED: "settled", "안정됨";
    HURRYING: "fast-forwarding …", "빨리 감는 중 …";
    BEHIND: "This device can't keep up with the chosen speed.", "이 기기가 선택한 속도를 따라가지 못합니다.";
    RUN_SO_FAR: "The run so far", "지금까지의 실행";

    INSPECTOR: "Inspector", "인스펙터";
    TAB_WHY: "Why", "왜";
    TAB_SUMMARY: "Summary", "요약";
    TAB_DESCRIBE: "Describe", "Describe";
    TAB_YAML: "YAML", "YAML";
    TAB_EVENTS: "Events", "이벤트";
    TAB_LOGS: "Logs", "로그";
    FOR: "for", "경과";
    GONE: "deleted", "삭제됨";
    STANDING: "What it waits for, and what went wrong", "기다리는 것과 잘못된 것";
    APPLIED: "Everything that was applied", "적용한 오브젝트 모두";
    LAST_TIME: "the last one", "마지막";
    HOW_IT_CAME: "How it came to be", "이렇게 된 과정";
    WHY_NO_NODE: "Why no node fits", "맞는 노드가 없는 이유";
    HOW_CHOSEN: "How its node was chosen", "노드가 정해진 과정";
    FILTER_ORDER: "filter plugins, in order", "필터 플러그인, 순서대로";
    SCORE_NOTE: "score x weight", "점수 x 가중치";
    TOTAL: "total", "합계";
    LET_IN: "What would let it in", "무엇이 바뀌면 배치되는가";
    LOOP_QUEUE: "Queue", "대기열";
    LOOP_EMPTY: "empty", "비어 있음";
    LOOP_RUNS: "Last runs", "최근 실행";
    LOOP_RETRY: "Waiting to be retried", "재시도 대기";
    CONDITIONS: "Conditions", "조건";
    TIMERS: "Timers running against it", "이 노드에 걸린 타이머";
    TAINTS: "Taints", "Taint";
    ALLOCATED: "Requested, of what is allocatable", "할당 가능량 대비 요청";
    MANAGED_FIELDS: "managedFields", "managedFields";
    NO_LOG_YET: "Nothing was written yet.", "아직 출력이 없습니다.";
    NOTHING_KNOWN: "Nothing is known about it yet.", "아직 알려진 것이 없습니다.";
    LOADING: "loading …", "불러오는 중 …";
    YOU: "You", "나";
    SAVE_FILE: "Save and close", "저장하고 닫기";
    LEAVE_FILE: "Close without saving", "저장하지 않고 닫기";
    COMMAND_WAITS: "The clock is stopped. The command continues when it runs again.", "시계가 멈춰 있습니다. 다시 가면 명령이 이어집니다.";
    REQUEST_WAITS: "The clock is stopped. The request continues when it runs again.", "시계가 멈춰 있습니다. 다시 가면 요청이 이어집니다.";
    RUN_COMMAND: "Run in the terminal", "터미널에서 실행";

    PROMPT: "Command", "명령";
    TERMINAL_LOG: "Terminal output", "터미널 출력";
    COMPLETIONS: "Completions", "자동 완성";
    TAKE: "take", "넣기";
    CHOOSE: "choose", "고르기";
    TERMINAL_HINT: "kubectl, a small shell, and cluster for faults. Tab completes; Esc, then Tab, leaves the terminal.", "kubectl과 작은 셸, 장애를 내는 cluster 명령이 있습니다. Tab은 자동 완성, Esc 다음 Tab은 터미널 벗어나기입니다.";
    READONLY: "read only", "읽기 전용";

    CRASH_TITLE: "The simulated world stopped", "시뮬레이션이 멈췄습니다";
    CRASH_TEXT: "Something went wrong inside the simulation. That is a mistake in Tabernetes, not in what you did. The page itself is fine; restart builds a fresh cluster with the same settings.", "시뮬레이션 안에서 문제가 생겼습니다. 사용자의 잘못이 아니라 Tabernetes의 잘못입니다. 페이지는 그대로이며, 다시 시작하면 같은 설정으로 새 클러스터를 만듭니다.";
    HANG_TITLE: "The simulation does not answer", "시뮬레이션이 응답하지 않습니다";
    HANG_TEXT: "For more than 10 seconds nothing came back, most likely because it is caught in an endless loop. That is a mistake in Tabernetes, not in what you did. Should it answer after all, this box goes away; restart builds a fresh cluster with the same settings.", "10초 넘게 아무 응답이 없습니다. 끝나지 않는 루프에 빠진 것 같습니다. 사용자의 잘못이 아니라 Tabernetes의 잘못입니다. 다시 응답하면 이 상자는 사라집니다. 다시 시작하면 같은 설정으로 새 클러스터를 만듭니다.";
    LAST_INPUT: "Last input", "마지막 입력";
    CRASH_REPORT: "Report", "보고서";
    CRASH_COPY: "Copy the report", "보고서 복사";
    CRASH_COPIED: "Copied", "복사됨";
    RESTART: "Restart", "다시 시작";
    LOAD_TITLE: "The simulation could not be loaded", "시뮬레이션을 불러오지 못했습니다";
    TRY_AGAIN: "Try again", "다시 시도";
    START: "Start the cluster", "클러스터 시작";
    START_TEXT: "Kubernetes' control plane, simulated in this page. Nothing leaves your browser.", "Kubernetes의 컨트롤 플레인을 이 페이지 안에서 시뮬레이션합니다. 아무것도 브라우저 밖으로 나가지 않습니다.";
    DISMISS: "Dismiss", "닫기";
    HIDDEN_PAUSED: "Paused while the page was hidden", "페이지가 가려진 동안 멈췄습니다";

    DIFFERENCES_TITLE: "What is real here, and what is not", "진짜인 것과 흉내 낸 것";
    DIFFERENCES_INTRO: "This is a whole Kubernetes v1.37 cluster inside your browser tab. There is nothing to install, nothing leaves the page, and nothing outside it can break: try anything, a reload starts afresh.", "Kubernetes v1.37 클러스터 하나가 이 브라우저 탭 안에서 통째로 돌고 있습니다. 설치할 것이 없고, 페이지 밖으로 나가는 것도, 밖에서 고장 날 것도 없습니다. 무엇이든 해 보세요. 새로 고치면 처음부터 다시 시작합니다.";
    DIFFERENCES_ALL: "The whole list of differences", "차이점 전체 목록(영어)";
    DIFFERENCES_REST: "An answer that differs from a real cluster and is not on that list is a mistake of ours.", "실제 클러스터와 다른데 그 목록에도 없다면 저희 잘못입니다.";
    HELP_TITLE: "Help", "도움말";
}

/// What stands behind the badge: a heading, and what belongs under it.
pub const DIFFERENCES: &[(Text, &[Text])] = &[
    (
        Text { en: "As in a real cluster", ko: "실제 클러스터와 같은 것" },
        &[
            Text {
                en: "kubectl: the commands, the answers and the error messages of v1.37. What you learn to read here you can read there.",
                ko: "kubectl: 명령과 답, 오류 메시지까지 v1.37 그대로입니다. 여기서 읽을 줄 알면 실제 클러스터에서도 읽을 수 있습니다.",
            },
            Text {
                en: "The parts and their rules: API server, etcd, scheduler, controllers and kubelets each do their own work and talk only as they do in Kubernetes. Nothing on the map is a recording.",
                ko: "구성 요소와 규칙: API 서버, etcd, 스케줄러, 컨트롤러, kubelet이 저마다 제 일을 하고 Kubernetes와 같은 방식으로만 서로 이야기합니다. 지도에 보이는 것은 녹화된 영상이 아닙니다.",
            },
            Text {
                en: "How long things take: a silent node is marked after 50 seconds, a crashing container waits 10 seconds, then 20, then 40. You can speed up the clock, but never shorten these.",
                ko: "걸리는 시간: 소식이 끊긴 노드는 50초 뒤에 표시되고, 자꾸 끝나는 컨테이너는 10초, 20초, 40초를 기다립니다. 시계를 빨리 돌릴 수는 있어도 이 간격이 짧아지지는 않습니다.",
            },
        ],
    ),
    (
        Text { en: "Imitated", ko: "흉내 낸 것" },
        &[
            Text {
                en: "Machines: a node's CPU, memory and disk are numbers. They are shared out, run short and fill up, but no hardware is behind them.",
                ko: "기계: 노드의 CPU, 메모리, 디스크는 숫자입니다. 나누어 쓰고 모자라고 가득 차기도 하지만 실제 하드웨어는 없습니다.",
            },
            Text {
                en: "Containers: about a dozen images are known (nginx, busybox, redis, postgres …). They start, listen, log and crash like the real ones, and sh runs your script, but none of their programs is really there. Any other image can't be pulled.",
                ko: "컨테이너: 이미지 열두어 가지를 압니다(nginx, busybox, redis, postgres …). 실제처럼 시작하고 포트를 열고 로그를 남기고 죽으며 sh로 스크립트도 돌리지만, 진짜 프로그램은 들어 있지 않습니다. 그 밖의 이미지는 받을 수 없습니다.",
            },
            Text {
                en: "The terminal: kubectl and a small shell with the usual tools (grep, awk, sed, vi …), not a Linux machine.",
                ko: "터미널: kubectl과 흔한 도구(grep, awk, sed, vi …)가 있는 작은 셸이며, 리눅스 기계는 아닙니다.",
            },
            Text {
                en: "Chance: names and addresses come from a fixed seed, so the same steps give the same names again.",
                ko: "우연: 이름과 주소는 정해진 시드에서 나옵니다. 같은 순서로 하면 같은 이름이 다시 나옵니다.",
            },
        ],
    ),
    (
        Text { en: "Not there yet", ko: "아직 없는 것" },
        &[Text {
            en: "DNS (reach a Service by its address, not its name), volumes made on demand, Ingress and load balancers, metrics (kubectl top), custom resources.",
            ko: "DNS(Service는 이름이 아니라 주소로 접속합니다), 필요할 때 만들어지는 볼륨, Ingress와 로드 밸런서, 메트릭(kubectl top), 커스텀 리소스.",
        }],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_there_in_both_languages() {
        let parts = DIFFERENCES.iter().flat_map(|(head, texts)| std::iter::once(head).chain(*texts));
        let differences: Vec<(&str, Text)> = parts.map(|t| ("difference", *t)).collect();
        for (name, text) in ALL.iter().chain(&differences) {
            for word in [text.en, text.ko] {
                assert!(!word.trim().is_empty() && word.trim() == word, "{name}: {word:?}");
            }
            // A text with several English words that has no Hangul was forgotten.
            let hangul = text.ko.chars().any(|c| ('가'..='힣').contains(&c));
            assert!(hangul || !text.en.contains(' '), "{name} is not translated: {}", text.ko);
        }
    }

    #[test]
    fn the_browser_chooses() {
        let list = |l: &[&str]| l.iter().map(|s| s.to_string()).collect::<Vec<_>>();
        assert_eq!(Lang::from_browser(&list(&["ko-KR", "en"])), Lang::Ko);
        assert_eq!(Lang::from_browser(&list(&["fr", "ko"])), Lang::Ko);
        assert_eq!(Lang::from_browser(&list(&["fr"])), Lang::En);
        assert_eq!(Lang::from_browser(&[]), Lang::En);
    }
}
