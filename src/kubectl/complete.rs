//! Tab: what could stand in the place of a word, read from the tree of commands. Names of objects are left to the
//! caller, who knows the cluster.

use crate::commands::{Command, root};
use crate::flags::Flag;

/// A part of what could stand there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Candidates {
    /// These words, with what is said about them.
    Words(Vec<(String, String)>),
    /// Kinds of resources.
    Kinds,
    /// Names of objects of a kind, each after a prefix.
    Names {
        /// The kind, as typed.
        kind: String,
        /// The namespace.
        namespace: String,
        /// What stands before each name, such as `pod/`.
        prefix: String,
    },
    /// Names of a pod's containers.
    Containers {
        /// The pod.
        pod: String,
        /// Its namespace.
        namespace: String,
    },
    /// Contexts of the kubeconfig.
    Contexts,
}

/// Formats of `-o` that need no value, and those that do.
const FORMATS: [&str; 14] = [
    "custom-columns-file=",
    "custom-columns=",
    "go-template-file=",
    "go-template=",
    "json",
    "jsonpath-as-json=",
    "jsonpath-file=",
    "jsonpath=",
    "kyaml",
    "name",
    "template",
    "templatefile",
    "wide",
    "yaml",
];

/// Commands whose arguments are pods, or other things with pods.
const OF_PODS: [&str; 6] = ["logs", "exec", "attach", "port-forward", "cp", "debug"];
/// Commands whose arguments are nodes.
const OF_NODES: [&str; 4] = ["cordon", "uncordon", "drain", "top node"];

/// What could stand in the place of `word`, after the words of a command line without `kubectl`.
pub fn complete(words: &[String], word: &str) -> Vec<Candidates> {
    let mut command = root();
    let mut arguments: Vec<&str> = Vec::new();
    let mut namespace = "default".to_string();
    let mut pending: Option<&Flag> = None;
    for w in words {
        if let Some(f) = pending.take() {
            if f.name == "namespace" {
                namespace.clone_from(w);
            }
            continue;
        }
        if w == "--" {
            return Vec::new();
        }
        if let Some(long) = w.strip_prefix("--") {
            match long.split_once('=') {
                Some(("namespace", v)) => namespace = v.to_string(),
                Some(_) => {}
                None => pending = command.flag(|f| f.name == long).filter(|f| f.bare.is_none()),
            }
        } else if w.len() > 1 && w.starts_with('-') {
            let last = w.chars().last();
            pending = command.flag(|f| f.short == last).filter(|f| f.bare.is_none());
        } else if let Some(child) = command.child(w).filter(|_| arguments.is_empty()) {
            command = child;
        } else {
            arguments.push(w);
        }
    }
    let context = Context { command, arguments: &arguments, namespace: &namespace };
    if let Some(f) = pending {
        return context.value(f, "");
    }
    if let Some((flag, _)) = word.strip_prefix("--").and_then(|w| w.split_once('=')) {
        return command.flag(|f| f.name == flag).map_or_else(Vec::new, |f| context.value(f, &format!("--{flag}=")));
    }
    if word.starts_with('-') {
        return vec![flags(command)];
    }
    context.argument(word)
}

fn flags(command: &Command) -> Candidates {
    let own = command.flags.iter().chain(&root().flags);
    let shown: Vec<(String, String)> = own
        .filter(|f| !f.hidden && f.deprecated.is_empty())
        .map(|f| {
            let value = if f.bare.is_none() { "=" } else { "" };
            (format!("--{}{value}", f.name), first_sentence(f.usage()))
        })
        .collect();
    Candidates::Words(shown)
}

fn first_sentence(text: &str) -> String {
    text.split(". ").next().unwrap_or(text).trim_end_matches('.').replace("\\n", " ")
}

struct Context<'a> {
    command: &'static Command,
    arguments: &'a [&'a str],
    namespace: &'a str,
}

impl Context<'_> {
    fn names(&self, kind: &str, prefix: String) -> Candidates {
        Candidates::Names { kind: kind.into(), namespace: self.namespace.into(), prefix }
    }

    /// What a flag could be given.
    fn value(&self, f: &Flag, prefix: &str) -> Vec<Candidates> {
        let words = |list: &[&str]| {
            vec![Candidates::Words(list.iter().map(|w| (format!("{prefix}{w}"), String::new())).collect())]
        };
        match f.name {
            "namespace" => vec![self.names("namespaces", prefix.into())],
            "context" => vec![Candidates::Contexts],
            "output" if self.command.path == "get" => words(&FORMATS),
            "output" => words(
                FORMATS
                    .iter()
                    .copied()
                    .filter(|f| !f.contains("custom") && *f != "wide")
                    .collect::<Vec<_>>()
                    .as_slice(),
            ),
            "dry-run" => words(&["none", "client", "server"]),
            "validate" => words(&["strict", "warn", "ignore"]),
            "cascade" => words(&["background", "orphan", "foreground"]),
            "type" if self.command.path == "patch" => words(&["json", "merge", "strategic"]),
            "restart" if self.command.path == "run" => words(&["Always", "OnFailure", "Never"]),
            "for" if self.command.path == "wait" => words(&["condition=", "create", "delete", "jsonpath="]),
            "profile" if self.command.path == "debug" => {
                words(&["legacy", "general", "baseline", "netadmin", "restricted", "sysadmin"])
            }
            "container" => self
                .arguments
                .first()
                .map(|pod| Candidates::Containers {
                    pod: pod.trim_start_matches("pod/").trim_start_matches("pods/").into(),
                    namespace: self.namespace.into(),
                })
                .into_iter()
                .collect(),
            _ => Vec::new(),
        }
    }

    /// What an argument could be.
    fn argument(&self, word: &str) -> Vec<Candidates> {
        let path = self.command.path;
        let mut out = Vec::new();
        if self.arguments.is_empty() {
            let children: Vec<(String, String)> =
                self.command.children().map(|c| (c.name().to_string(), c.short.to_string())).collect();
            if !children.is_empty() {
                out.push(Candidates::Words(children));
            }
            if !self.command.words.is_empty() {
                let list = self.command.words.iter().map(|w| (w.to_string(), String::new())).collect();
                out.push(Candidates::Words(list));
            }
        }
        if OF_NODES.contains(&path) {
            out.push(self.names("nodes", String::new()));
        } else if path == "top pod" {
            out.push(self.names("pods", String::new()));
        } else if path.starts_with("config ") && (path.ends_with("-context") || path == "config get-contexts") {
            out.push(Candidates::Contexts);
        } else if path.starts_with("certificate ") {
            out.push(self.names("certificatesigningrequests", String::new()));
        } else if path == "taint" && self.arguments.is_empty() {
            out.push(Candidates::Words(vec![("nodes".into(), String::new())]));
        } else if self.takes_types() || OF_PODS.contains(&path) {
            match (word.split_once('/'), self.arguments) {
                (Some((kind, _)), _) => out.push(self.names(kind, format!("{kind}/"))),
                (None, []) if OF_PODS.contains(&path) => out.push(self.names("pods", String::new())),
                (None, []) => out.push(Candidates::Kinds),
                (None, [kind, ..]) if !kind.contains('/') && !OF_PODS.contains(&path) => {
                    out.push(self.names(kind, String::new()));
                }
                _ => {}
            }
        }
        out
    }

    /// Whether the command is about any kind of resource.
    fn takes_types(&self) -> bool {
        let path = self.command.path;
        matches!(
            path,
            "get"
                | "describe"
                | "delete"
                | "edit"
                | "label"
                | "annotate"
                | "patch"
                | "scale"
                | "expose"
                | "wait"
                | "explain"
                | "autoscale"
                | "taint"
                | "apply view-last-applied"
                | "apply edit-last-applied"
        ) || path.starts_with("rollout ")
            || path.starts_with("set ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: &str) -> Vec<Candidates> {
        let mut words: Vec<String> = line.split(' ').map(String::from).collect();
        let word = words.pop().unwrap_or_default();
        complete(&words, &word)
    }

    fn words(list: &[Candidates]) -> Vec<&str> {
        let Some(Candidates::Words(w)) = list.first() else { return Vec::new() };
        w.iter().map(|w| w.0.as_str()).collect()
    }

    #[test]
    fn commands_flags_and_names() {
        assert!(words(&at("")).contains(&"rollout"));
        assert_eq!(words(&at("rollout ")), ["history", "pause", "resume", "undo", "status", "restart"]);
        assert!(words(&at("get --sh")).contains(&"--show-labels"));
        assert!(words(&at("get --sh")).contains(&"--selector="));
        assert_eq!(words(&at("get pods -o ")).len(), 14);
        assert_eq!(at("get "), [Candidates::Kinds]);
        let names = |kind: &str, namespace: &str, prefix: &str| {
            vec![Candidates::Names { kind: kind.into(), namespace: namespace.into(), prefix: prefix.into() }]
        };
        assert_eq!(at("get pods "), names("pods", "default", ""));
        assert_eq!(at("-n x get deploy/"), names("deploy", "x", "deploy/"));
        assert_eq!(at("logs -n kube-system "), names("pods", "kube-system", ""));
        assert_eq!(at("get pods -n "), names("namespaces", "default", ""));
        assert_eq!(at("get pods --namespace="), names("namespaces", "default", "--namespace="));
        assert_eq!(at("drain "), names("nodes", "default", ""));
        let containers = Candidates::Containers { pod: "web".into(), namespace: "default".into() };
        assert_eq!(at("logs web -c "), [containers]);
        assert!(at("exec web -- ").is_empty());
    }
}
