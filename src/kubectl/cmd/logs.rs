//! `kubectl logs`.

use crate::builder::Builder;
use crate::describe::writer::selector_text;
use crate::error::Error;
use crate::print::human::quote;
use crate::server::Piece;
use crate::session::Kubectl;
use crate::value::Value;
use ::api::rest::LogOptions;
use api::SortSmall;

/// All containers' names, as errors list them.
pub fn container_names(pod: &Value) -> String {
    let names = |list: &str, suffix: &str| {
        pod.at("spec").list(list).iter().map(|c| format!("{}{suffix}", c.str("name"))).collect::<Vec<_>>()
    };
    let mut all = names("containers", "");
    all.extend(names("ephemeralContainers", " (ephem)"));
    all.extend(names("initContainers", " (init)"));
    all.join(", ")
}

/// Whether a pod has a container of a name.
pub fn has_container(pod: &Value, name: &str) -> bool {
    ["containers", "initContainers", "ephemeralContainers"]
        .iter()
        .any(|l| pod.at("spec").list(l).iter().any(|c| c.str("name") == name))
}

/// The error for a container that a pod hasn't.
pub fn no_container(pod: &Value, name: &str) -> Error {
    Error::text(format!(
        "container {name} is not valid for pod {} out of: {}",
        pod.str("metadata/name"),
        container_names(pod)
    ))
}

/// A workload's pods, the one to use first.
pub async fn pods_of(k: &Kubectl<'_>, object: &Value, kind: &str) -> Result<Vec<Value>, Error> {
    let selector = match kind {
        "Service" | "ReplicationController" => {
            let labels = object.at("spec/selector");
            if labels.is_empty() {
                return Err(Error::text(format!(
                    "invalid service '{}': Service is defined without a selector",
                    object.str("metadata/name")
                )));
            }
            labels.map_entries().map(|(k, v)| format!("{k}={}", v.go_v())).collect::<Vec<_>>().join(",")
        }
        "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" | "Job" => selector_text(object.at("spec/selector")),
        other => {
            return Err(Error::text(format!("selector for *v1.{other} not implemented")));
        }
    };
    let pods = k.known("", "pods")?;
    let mut list = k.list(&pods, object.str("metadata/namespace"), &selector, "").await?;
    // podutils.ByLogging: scheduled, running, ready first; then the one ready longest, restarted most, newest.
    let rank = |p: &Value| {
        let phase = match p.str("status/phase") {
            "Running" => 0,
            "Unknown" => 1,
            _ => 2,
        };
        let ready = p
            .list("status/conditions")
            .iter()
            .find(|c| c.str("type") == "Ready")
            .filter(|c| c.str("status") == "True")
            .map(|c| c.str("lastTransitionTime").to_string());
        (p.str("spec/nodeName").is_empty(), phase, ready.is_none(), ready)
    };
    list.sort_small_by_key(rank);
    Ok(list)
}

struct Request {
    pod: String,
    namespace: String,
    container: String,
}

/// The command.
pub async fn logs(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let args = k.args();
    let selector = f.str("selector");
    const USAGE: &str = "expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'.\nPOD or TYPE/NAME is a required argument for the logs command";
    let mut container = f.str("container").to_string();
    match args {
        [] if selector.is_empty() => return Err(k.usage_error(USAGE)),
        [] | [_] if args.is_empty() || selector.is_empty() => {}
        [_] => return Err(k.usage_error("only a selector (-l) or a POD name is allowed")),
        [_, c] => container = c.clone(),
        _ => return Err(k.usage_error(USAGE)),
    }
    if !f.str("since-time").is_empty() && crate::print::time::parse_rfc3339(f.str("since-time")).is_none() {
        let t = quote(f.str("since-time"));
        return Err(Error::text(format!(
            "parsing time {t} as \"2006-01-02T15:04:05Z07:00\": cannot parse {t} as \"2006\""
        )));
    }
    let namespace = k.namespace();
    let pods_mapping = k.known("", "pods")?;
    let (object, kind, targets): (Value, String, Vec<Value>) = if let Some(arg) = args.first() {
        let mut b = Builder::new(k).resource_names("pods", std::slice::from_ref(arg));
        b.single_type = true;
        let (infos, failed) = b.run(k).await?.infos();
        if let Err(e) = failed {
            return Err(if e.is_not_found() {
                Error::text(format!("error from server (NotFound): {} in namespace {}", e.message(), quote(&namespace)))
            } else {
                e
            });
        }
        let Some(info) = infos.into_iter().next() else { return Err(Error::text("expected a resource")) };
        (info.object, info.mapping.kind.clone(), Vec::new())
    } else {
        let list = k.list(&pods_mapping, &namespace, selector, "").await?;
        if list.is_empty() {
            k.err(&format!("No resources found in {namespace} namespace.\n"));
        }
        (Value::Null, "PodList".into(), list)
    };
    if !f.str("since-time").is_empty() && f.duration("since") != 0 {
        return Err(Error::text("at most one of `sinceTime` or `sinceSeconds` may be specified"));
    }
    let all = f.bool("all-containers");
    if all && !container.is_empty() {
        return Err(Error::text(format!(
            "--all-containers=true should not be specified with container name {container}"
        )));
    }
    if f.changed("container") && args.len() == 2 {
        return Err(Error::text("only one of -c or an inline [CONTAINER] arg is allowed"));
    }
    if f.int("limit-bytes") < 0 {
        return Err(Error::text("--limit-bytes must be greater than 0"));
    }
    if f.duration("since") < 0 {
        return Err(Error::text("--since must be greater than 0"));
    }
    if f.int("tail") < -1 {
        return Err(Error::text("--tail must be greater than or equal to -1"));
    }
    let all_pods = f.bool("all-pods");
    let targets = match kind.as_str() {
        "PodList" => targets,
        "Pod" => vec![object],
        _ => {
            let mut list = pods_of(k, &object, &kind)
                .await
                .map_err(|e| Error::text(format!("cannot get the logs from *v1.{kind}: {}", e.message())))?;
            if list.is_empty() {
                return Err(Error::text("timed out waiting for the condition"));
            }
            if !all_pods {
                if list.len() > 1 {
                    let name = list.first().map_or("", |p| p.str("metadata/name"));
                    k.err(&format!("Found {} pods, using pod/{name}\n", list.len()));
                }
                list.truncate(1);
            }
            list
        }
    };
    let mut requests = Vec::new();
    for pod in &targets {
        let name = pod.str("metadata/name").to_string();
        let add = |container: &str| Request {
            pod: name.clone(),
            namespace: pod.str("metadata/namespace").to_string(),
            container: container.to_string(),
        };
        if all {
            for list in ["initContainers", "containers", "ephemeralContainers"] {
                requests.extend(pod.at("spec").list(list).iter().map(|c| add(c.str("name"))));
            }
            continue;
        }
        let mut chosen = container.clone();
        if chosen.is_empty() {
            let annotated = pod.at("metadata/annotations").key("kubectl.kubernetes.io/default-container").as_str();
            match annotated {
                Some(n) if has_container(pod, n) => chosen = n.to_string(),
                Some(n) if !n.is_empty() => {
                    k.err(&format!("Default container name {} not found in pod {name}\n", quote(n)));
                }
                _ => {}
            }
        }
        if chosen.is_empty() {
            chosen = pod.str("spec/containers/0/name").to_string();
            let several = pod.list("spec/containers").len() > 1
                || !pod.list("spec/initContainers").is_empty()
                || !pod.list("spec/ephemeralContainers").is_empty();
            if several && !all_pods {
                k.err(&format!("Defaulted container {} out of: {}\n", quote(&chosen), container_names(pod)));
            }
        }
        if !has_container(pod, &chosen) {
            return Err(no_container(pod, &chosen));
        }
        requests.push(add(&chosen));
    }
    let follow = f.bool("follow");
    let limit = f.int("max-log-requests");
    if follow && requests.len() as i64 > limit {
        return Err(Error::text(format!(
            "you are attempting to follow {} log streams, but maximum allowed concurrency is {limit}, use --max-log-requests to increase the limit",
            requests.len()
        )));
    }
    let prefix = f.bool("prefix") || all_pods;
    for r in requests {
        let tail = if !selector.is_empty() && !f.changed("tail") {
            Some(10)
        } else {
            Some(f.int("tail")).filter(|t| *t != -1)
        };
        let since = f.duration("since");
        let options = LogOptions {
            container: r.container.as_str().into(),
            follow,
            previous: f.bool("previous"),
            timestamps: f.bool("timestamps"),
            tail_lines: tail,
            since_seconds: (since != 0).then_some((since + 500_000_000) / 1_000_000_000),
            since_time: f.str("since-time").into(),
            limit_bytes: Some(f.int("limit-bytes")).filter(|n| *n != 0),
        };
        let head = if prefix { format!("[pod/{}/{}] ", r.pod, r.container) } else { String::new() };
        let done = consume(k, &r, options, &head).await;
        match done {
            Err(e) if f.bool("ignore-errors") => k.out(&format!("error: {}\n", e.message())),
            other => other?,
        }
    }
    Ok(())
}

async fn consume(k: &Kubectl<'_>, r: &Request, options: LogOptions, head: &str) -> Result<(), Error> {
    let mut line = Vec::new();
    let write = |bytes: &[u8], line: &mut Vec<u8>| {
        if head.is_empty() {
            k.io.stdout(bytes);
            return;
        }
        for part in bytes.split_inclusive(|b| *b == b'\n') {
            if line.is_empty() {
                line.extend_from_slice(head.as_bytes());
            }
            line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                k.io.stdout(line);
                line.clear();
            }
        }
    };
    match k.logs(&r.namespace, &r.pod, options).await? {
        Ok(text) => write(text.as_bytes(), &mut line),
        Err(mut stream) => {
            while let Piece::Out(b) | Piece::Err(b) = stream.piece().await {
                write(&b, &mut line);
            }
            if stream.timed_out {
                const CAUSE: &str =
                    "net/http: request canceled (Client.Timeout or context cancellation while reading body)";
                k.io.stderr(format!("{CAUSE}\n").as_bytes());
                return Err(Error::text(CAUSE));
            }
        }
    }
    if !line.is_empty() {
        k.io.stdout(&line);
    }
    Ok(())
}
