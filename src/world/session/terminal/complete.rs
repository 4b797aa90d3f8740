//! Tab: what could stand at the cursor. Read from tables and the store, without a request.

use crate::cluster::World;
use crate::session::cluster_view::server;
use view::{Candidate, Completions};

const VERBS: &[(&str, &str)] = &[
    ("annotate", "Update the annotations on a resource"),
    ("api-resources", "Print the supported API resources on the server"),
    ("api-versions", "Print the supported API versions on the server"),
    ("apply", "Apply a configuration to a resource by file name or stdin"),
    ("auth", "Inspect authorization"),
    ("cluster-info", "Display cluster information"),
    ("cordon", "Mark node as unschedulable"),
    ("create", "Create a resource from a file or from stdin"),
    ("delete", "Delete resources by file names, stdin, resources and names, or by resources and label selector"),
    ("describe", "Show details of a specific resource or group of resources"),
    ("diff", "Diff the live version against a would-be applied version"),
    ("drain", "Drain node in preparation for maintenance"),
    ("events", "List events"),
    ("exec", "Execute a command in a container"),
    ("explain", "Get documentation for a resource"),
    ("expose", "Take a replication controller, service, deployment or pod and expose it as a new Kubernetes service"),
    ("get", "Display one or many resources"),
    ("label", "Update the labels on a resource"),
    ("logs", "Print the logs for a container in a pod"),
    ("patch", "Update fields of a resource"),
    ("rollout", "Manage the rollout of a resource"),
    ("run", "Run a particular image on the cluster"),
    ("scale", "Set a new size for a deployment, replica set, or replication controller"),
    ("set", "Set specific features on objects"),
    ("taint", "Update the taints on one or more nodes"),
    ("uncordon", "Mark node as schedulable"),
    ("version", "Print the client and server version information"),
    ("wait", "Wait for a specific condition on one or many resources"),
];
const ROLLOUT: &[(&str, &str)] = &[
    ("history", "View rollout history"),
    ("pause", "Mark the provided resource as paused"),
    ("restart", "Restart a resource"),
    ("resume", "Resume a paused resource"),
    ("status", "Show the status of the rollout"),
    ("undo", "Undo a previous rollout"),
];
const CLUSTER: &[(&str, &str)] = &[
    ("cut", "cut the way between two, or from everybody"),
    ("fill", "fill a node's memory or disk"),
    ("heal", "end cuts"),
    ("kill", "SIGKILL; for a node, power off"),
    ("restore", "end all faults"),
    ("skip", "make a controller skip a share of its loops"),
    ("slow", "make a link or a disk slower"),
    ("start", "start what is stopped"),
    ("status", "list the faults that are on"),
    ("stop", "SIGTERM; for a node, power off"),
];
const FLAGS: &[(&str, &str)] = &[
    ("--all-namespaces", "across all namespaces"),
    ("--field-selector=", "selector (field query) to filter on"),
    ("--namespace=", "the namespace scope"),
    ("--output=", "output format"),
    ("--selector=", "selector (label query) to filter on"),
    ("--show-labels", "show all labels as the last column"),
    ("--watch", "watch for changes"),
];

/// Candidates at a cursor.
pub fn complete(world: &World, id: u32, line: &str, cursor: usize) -> Completions {
    let before = line.get(..cursor.min(line.len())).unwrap_or(line);
    // The last simple command of the line.
    let start = before.rfind(['|', ';', '&']).map_or(0, |i| i + 1);
    let part = before.get(start..).unwrap_or_default();
    let word_at = part.rfind(char::is_whitespace).map_or(0, |i| i + part.get(i..).map_or(1, first_len));
    let word = part.get(word_at..).unwrap_or_default();
    let words: Vec<&str> = part.get(..word_at).unwrap_or_default().split_whitespace().collect();
    let mut found = candidates(world, &words, word);
    found.retain(|c| c.text.starts_with(word));
    found.sort_by(|a, b| a.text.cmp(&b.text));
    found.dedup_by(|a, b| a.text == b.text);
    found.truncate(200);
    Completions { id, from: u32::try_from(start + word_at).unwrap_or(0), candidates: found }
}

fn first_len(text: &str) -> usize {
    text.chars().next().map_or(1, char::len_utf8)
}

fn table(rows: &[(&str, &str)]) -> Vec<Candidate> {
    rows.iter()
        .map(|(text, description)| Candidate {
            text: (*text).to_string(),
            description: (*description).to_string(),
            closed: !text.ends_with('='),
        })
        .collect()
}

fn plain(texts: impl IntoIterator<Item = String>) -> Vec<Candidate> {
    texts.into_iter().map(|text| Candidate { text, description: String::new(), closed: true }).collect()
}

fn candidates(world: &World, words: &[&str], word: &str) -> Vec<Candidate> {
    let Some(program) = words.first() else {
        let names = world.programs().keys().map(ToString::to_string);
        return plain(names.chain(shell::BUILTINS.iter().map(ToString::to_string)));
    };
    match *program {
        "kubectl" => kubectl(world, words.get(1..).unwrap_or_default(), word),
        "cluster" if words.len() == 1 => table(CLUSTER),
        "cluster" => {
            let components = world.machines().components();
            let nodes = world.machines().nodes();
            plain(components.iter().map(|c| c.name.to_string()).chain(nodes.iter().map(|n| n.name().to_string())))
        }
        _ => Vec::new(),
    }
}

fn kubectl(world: &World, words: &[&str], word: &str) -> Vec<Candidate> {
    let last = words.last().copied().unwrap_or_default();
    if matches!(last, "-n" | "--namespace") {
        return plain(names(world, "namespaces", None));
    }
    if matches!(last, "-o" | "--output") {
        return plain(["json", "name", "wide", "yaml", "jsonpath=", "custom-columns="].map(str::to_string));
    }
    if let Some(prefix) = word.strip_prefix("--namespace=").map(|_| "--namespace=") {
        return plain(names(world, "namespaces", None).into_iter().map(|n| format!("{prefix}{n}")));
    }
    if word.starts_with('-') {
        return table(FLAGS);
    }
    let namespace = namespace(words);
    let bare: Vec<&str> = bare(words);
    match bare.as_slice() {
        [] => table(VERBS),
        ["rollout"] => table(ROLLOUT),
        ["set"] => table(&[
            ("env", "Update environment variables on a pod template"),
            ("image", "Update the image of a pod template"),
            ("resources", "Update resource requests/limits on objects with pod templates"),
        ]),
        ["logs" | "exec", ..] if bare.len() == 1 => {
            let mut out = plain(names(world, "pods", Some(namespace)));
            if let Some(kind) = word.split_once('/').map(|(k, _)| k) {
                out.extend(plain(names(world, kind, Some(namespace)).into_iter().map(|n| format!("{kind}/{n}"))));
            }
            out
        }
        ["cordon" | "uncordon" | "drain"] => plain(names(world, "nodes", None)),
        ["taint"] => plain(["node".to_string(), "nodes".to_string()]),
        ["create"] => {
            plain(["configmap", "deployment", "namespace", "secret", "service", "serviceaccount"].map(str::to_string))
        }
        [
            "get" | "describe" | "delete" | "label" | "annotate" | "patch" | "scale" | "expose" | "wait" | "explain"
            | "edit",
        ]
        | ["rollout" | "set", _] => {
            if let Some((kind, _)) = word.split_once('/') {
                return plain(names(world, kind, Some(namespace)).into_iter().map(|n| format!("{kind}/{n}")));
            }
            kinds()
        }
        [_, kind, ..] | [_, _, kind, ..] if bare.len() >= 2 => {
            let kind = if matches!(bare.first(), Some(&("rollout" | "set"))) {
                bare.get(2).copied().unwrap_or(kind)
            } else {
                kind
            };
            plain(names(world, kind, Some(namespace)))
        }
        _ => Vec::new(),
    }
}

/// Words that are no flags and no flag's value.
fn bare<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let mut out = Vec::new();
    let mut value = false;
    for word in words {
        if std::mem::take(&mut value) {
            continue;
        }
        if word.starts_with('-') {
            value = matches!(*word, "-n" | "--namespace" | "-o" | "--output" | "-l" | "--selector" | "-c" | "-f");
            continue;
        }
        out.push(*word);
    }
    out
}

fn namespace<'a>(words: &[&'a str]) -> &'a str {
    let mut iter = words.iter();
    while let Some(word) = iter.next() {
        if let Some(name) = word.strip_prefix("--namespace=") {
            return name;
        }
        if matches!(*word, "-n" | "--namespace") {
            return iter.next().copied().unwrap_or("default");
        }
    }
    "default"
}

fn kinds() -> Vec<Candidate> {
    let stored = api::scheme::resources().iter().filter(|k| k.stored());
    stored
        .map(|k| Candidate { text: k.plural.to_string(), description: k.short_names.join(", "), closed: true })
        .collect()
}

/// Names of the objects of a kind, by plural, singular or short name.
fn names(world: &World, kind: &str, namespace: Option<&str>) -> Vec<String> {
    let Some(server) = server(world) else { return Vec::new() };
    let is =
        |k: &&'static api::scheme::KindInfo| k.plural == kind || k.singular == kind || k.short_names.contains(&kind);
    let resource = server.resources.iter().find(|r| is(&r.kind));
    let Some(resource) = resource else { return Vec::new() };
    let mut out = Vec::new();
    let within = if resource.kind.namespaced { namespace.unwrap_or("") } else { "" };
    server.cache.resource(resource.index).each(within, |object| {
        out.extend(object.metadata().map(|m| m.name.to_string()));
    });
    out
}
