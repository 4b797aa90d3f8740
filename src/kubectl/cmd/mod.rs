//! The verbs: one file each, one table of them, and cobra's way from words to a verb.

mod annotate;
mod api;
mod apply;
mod auth;
mod autoscale;
mod cluster_info;
mod config;
mod cordon;
mod create;
mod create_kinds;
mod create_workloads;
mod delete;
mod describe;
mod diff;
mod drain;
mod events;
mod exec;
mod expose;
mod get;
mod help;
mod label;
mod logs;
mod patch;
mod replace;
mod rollout;
mod rollout_history;
mod run;
mod scale;
mod set;
mod set_env;
mod taint;
mod version;
mod wait;

use crate::error::{Error, NO_PREFIX};
use crate::flags::{Flag, Parsed, Type, flag, parse};
use crate::io::Io;
use crate::print::human::quote;
use crate::session::{Config, Kubectl};
use std::future::Future;
use std::pin::Pin;

/// What a verb does.
pub type Run = for<'a> fn(&'a Kubectl<'a>) -> Pin<Box<dyn Future<Output = Result<(), Error>> + 'a>>;

/// A verb, or a group of them.
pub struct Command {
    /// Its word.
    pub name: &'static str,
    /// Other words for it.
    pub aliases: &'static [&'static str],
    /// What help says about it.
    pub short: &'static str,
    /// Its line of usage after `kubectl`.
    pub usage: &'static str,
    /// Its flags beside the global ones.
    pub flags: &'static [&'static [Flag]],
    /// Flags that must be given.
    pub required: &'static [&'static str],
    /// What it does; groups have none.
    pub run: Option<Run>,
    /// Its subcommands.
    pub children: &'static [&'static Command],
}

/// Flags of every command.
pub const GLOBAL: &[Flag] = &[
    flag(
        "as",
        Type::String,
        "",
        "Username to impersonate for the operation. User could be a regular user or a service account in a namespace.",
    ),
    flag(
        "as-group",
        Type::StringArray,
        "",
        "Group to impersonate for the operation, this flag can be repeated to specify multiple groups.",
    ),
    flag("as-uid", Type::String, "", "UID to impersonate for the operation."),
    flag(
        "as-user-extra",
        Type::StringArray,
        "",
        "User extras to impersonate for the operation, this flag can be repeated to specify multiple values for the same key.",
    ),
    flag("cache-dir", Type::String, "/root/.kube/cache", "Default cache directory"),
    flag("certificate-authority", Type::String, "", "Path to a cert file for the certificate authority"),
    flag("client-certificate", Type::String, "", "Path to a client certificate file for TLS"),
    flag("client-key", Type::String, "", "Path to a client key file for TLS"),
    flag("cluster", Type::String, "", "The name of the kubeconfig cluster to use"),
    flag("context", Type::String, "", "The name of the kubeconfig context to use"),
    flag(
        "disable-compression",
        Type::Bool,
        "false",
        "If true, opt-out of response compression for all requests to the server",
    ),
    flag(
        "insecure-skip-tls-verify",
        Type::Bool,
        "false",
        "If true, the server's certificate will not be checked for validity. This will make your HTTPS connections insecure",
    ),
    flag("kubeconfig", Type::String, "", "Path to the kubeconfig file to use for CLI requests."),
    flag(
        "kuberc",
        Type::String,
        "",
        "Path to the kuberc file to use for preferences. This can be disabled by exporting KUBECTL_KUBERC=false feature gate or turning off the feature KUBERC=off.",
    ),
    flag("log-flush-frequency", Type::Duration, "5s", "Maximum number of seconds between log flushes"),
    flag("match-server-version", Type::Bool, "false", "Require server version to match client version"),
    flag("namespace", Type::String, "", "If present, the namespace scope for this CLI request").short('n'),
    flag("password", Type::String, "", "Password for basic authentication to the API server"),
    flag(
        "profile",
        Type::String,
        "none",
        "Name of profile to capture. One of (none|cpu|heap|goroutine|threadcreate|block|mutex|trace)",
    ),
    flag("profile-output", Type::String, "profile.pprof", "Name of the file to write the profile to"),
    flag("proxy-url", Type::String, "", "Proxy URL to use for requests to the API server"),
    flag(
        "request-timeout",
        Type::String,
        "0",
        "The length of time to wait before giving up on a single server request. Non-zero values should contain a corresponding time unit (e.g. 1s, 2m, 3h). A value of zero means don't timeout requests.",
    ),
    flag("server", Type::String, "", "The address and port of the Kubernetes API server").short('s'),
    flag(
        "tls-server-name",
        Type::String,
        "",
        "Server name to use for server certificate validation. If it is not provided, the hostname used to contact the server is used",
    ),
    flag("token", Type::String, "", "Bearer token for authentication to the API server"),
    flag("user", Type::String, "", "The name of the kubeconfig user to use"),
    flag("username", Type::String, "", "Username for basic authentication to the API server"),
    flag("v", Type::Int, "0", "number for the log level verbosity").short('v'),
    flag(
        "vmodule",
        Type::String,
        "",
        "comma-separated list of pattern=N settings for file-filtered logging (only works for the default text log format)",
    ),
    flag(
        "warnings-as-errors",
        Type::Bool,
        "false",
        "Treat warnings received from the server as errors and exit with a non-zero exit code",
    ),
];

/// `-f`, `-R`, `-k`.
pub const FILES: &[Flag] = &[
    flag("filename", Type::StringSlice, "", "The files that contain the resource.").short('f'),
    flag("kustomize", Type::String, "", "Process the kustomization directory.").short('k'),
    flag("recursive", Type::Bool, "false", "Process the directory used in -f, --filename recursively.").short('R'),
];
/// `-o` and what belongs to it.
pub const PRINT: &[Flag] = &[
    flag(
        "allow-missing-template-keys",
        Type::Bool,
        "true",
        "If true, ignore any errors in templates when a field or map key is missing in the template.",
    ),
    flag("output", Type::String, "", "Output format.").short('o'),
    flag(
        "show-managed-fields",
        Type::Bool,
        "false",
        "If true, keep the managedFields when printing objects in JSON or YAML format.",
    ),
    flag(
        "template",
        Type::String,
        "",
        "Template string or path to template file to use when -o=go-template, -o=go-template-file.",
    ),
];
/// `--dry-run`
pub const DRY_RUN: &[Flag] =
    &[flag("dry-run", Type::String, "none", "Must be \"none\", \"server\", or \"client\".").bare("unchanged")];
/// `--validate`
pub const VALIDATE: &[Flag] =
    &[flag("validate", Type::String, "strict", "Must be one of: strict (or true), warn, ignore (or false).")
        .bare("strict")];
/// `-l`
pub const SELECTOR: &[Flag] = &[flag(
    "selector",
    Type::String,
    "",
    "Selector (label query) to filter on, supports '=', '==', '!=', 'in', 'notin'.",
)
.short('l')];
/// `--field-selector`
pub const FIELD_SELECTOR: &[Flag] =
    &[flag("field-selector", Type::String, "", "Selector (field query) to filter on, supports '=', '==', and '!='.")];
/// `-A`
pub const ALL_NAMESPACES: &[Flag] =
    &[flag("all-namespaces", Type::Bool, "false", "If present, list the requested object(s) across all namespaces.")
        .short('A')];
/// `--chunk-size`
pub const CHUNKS: &[Flag] =
    &[flag("chunk-size", Type::Int, "500", "Return large lists in chunks rather than all at once. Pass 0 to disable.")];
/// `--all`
pub const ALL: &[Flag] =
    &[flag("all", Type::Bool, "false", "Select all resources in the namespace of the specified resource types.")];
/// `--save-config`
pub const SAVE_CONFIG: &[Flag] = &[flag(
    "save-config",
    Type::Bool,
    "false",
    "If true, the configuration of current object will be saved in its annotation.",
)];
/// `--field-manager`
pub const FIELD_MANAGER: &[Flag] =
    &[flag("field-manager", Type::String, "", "Name of the manager used to track field ownership.")];
/// `--local`
pub const LOCAL: &[Flag] =
    &[flag("local", Type::Bool, "false", "If true, the command will NOT contact api-server but run locally.")];
/// `--record`
pub const RECORD: &[Flag] =
    &[flag("record", Type::Bool, "false", "Record current kubectl command in the resource annotation.")];

/// kubectl.
pub static ROOT: Command = Command {
    name: "kubectl",
    aliases: &[],
    short: "kubectl controls the Kubernetes cluster manager",
    usage: "",
    flags: &[],
    required: &[],
    run: None,
    children: &[
        &create::CREATE,
        &expose::EXPOSE,
        &run::RUN,
        &set::SET,
        &api::EXPLAIN,
        &get::GET,
        &const { help::absent("edit", "Edit a resource on the server") },
        &delete::DELETE,
        &rollout::ROLLOUT,
        &scale::SCALE,
        &autoscale::AUTOSCALE,
        &const { help::absent("certificate", "Modify certificate resources") },
        &cluster_info::CLUSTER_INFO,
        &cluster_info::TOP,
        &cordon::CORDON,
        &cordon::UNCORDON,
        &drain::DRAIN,
        &taint::TAINT,
        &describe::DESCRIBE,
        &logs::LOGS,
        &const { help::absent("attach", "Attach to a running container") },
        &exec::EXEC,
        &const { help::absent("port-forward", "Forward one or more local ports to a pod") },
        &const { help::absent("proxy", "Run a proxy to the Kubernetes API server") },
        &const { help::absent("cp", "Copy files and directories to and from containers") },
        &auth::AUTH,
        &const { help::absent("debug", "Create debugging sessions for troubleshooting workloads and nodes") },
        &events::EVENTS,
        &diff::DIFF,
        &apply::APPLY,
        &patch::PATCH,
        &replace::REPLACE,
        &wait::WAIT,
        &const { help::absent("kustomize", "Build a kustomization target from a directory or URL") },
        &label::LABEL,
        &annotate::ANNOTATE,
        &const {
            help::absent(
                "completion",
                "Output shell completion code for the specified shell (bash, zsh, fish, or powershell)",
            )
        },
        &api::API_RESOURCES,
        &api::API_VERSIONS,
        &config::CONFIG,
        &const { help::absent("kuberc", "Manage kuberc configuration files") },
        &PLUGIN,
        &version::VERSION,
        &OPTIONS,
    ],
};

static OPTIONS: Command = help::absent("options", "Print the list of flags inherited by all commands");
static PLUGIN: Command = Command {
    children: &[&const { help::absent("list", "List all visible plugin executables on a user's PATH") }],
    ..help::absent("plugin", "Provides utilities for interacting with plugins")
};

/// Words that mean a command of another name.
const SUGGEST_FOR: &[(&str, &[&str])] =
    &[("get", &["list", "ls"]), ("delete", &["rm", "remove"]), ("describe", &["inspect"]), ("top", &["stats"])];

/// Finds the verb of a command line and runs it.
pub async fn dispatch(ctx: &sim::Ctx, config: &Config, argv: &[String], io: &dyn Io) -> Result<(), Error> {
    let (command, path, rest) = find(argv)?;
    if path == "kubectl options" {
        io.stdout(help::options().as_bytes());
        return Ok(());
    }
    if let Some(message) = help::refusal(&path) {
        return Err(Error::text(message));
    }
    let mut sets: Vec<&[Flag]> = command.flags.to_vec();
    sets.push(GLOBAL);
    let parsed = parse(&sets, &rest).map_err(|e| Error::text(format!("{e}\nSee '{path} --help' for usage.")))?;
    if parsed.help || (command.run.is_none() && parsed.args.is_empty()) {
        let text = help::help(command, &path);
        if parsed.help || std::ptr::eq(command, &ROOT) {
            io.stdout(text.as_bytes());
            return Ok(());
        }
        io.stderr(text.as_bytes());
        return Err(Error::silent());
    }
    let Some(run) = command.run else {
        return Err(Error::text(format!(
            "unknown command {}\nSee '{path} -h' for help and examples",
            quote(&parsed.args.join(" "))
        )));
    };
    let missing: Vec<String> = command.required.iter().filter(|r| !parsed.changed(r)).map(|r| quote(r)).collect();
    if !missing.is_empty() {
        return Err(Error::text(format!("required flag(s) {} not set", missing.join(", "))));
    }
    let extra = !parsed.list("as-group").is_empty()
        || !parsed.str("as-uid").is_empty()
        || !parsed.list("as-user-extra").is_empty();
    if parsed.str("as").is_empty() && extra {
        return Err(Error::text(format!(
            "requesting uid, groups or user-extra for {} without impersonating a user",
            config.user
        )));
    }
    if !parsed.str("kustomize").is_empty() && parsed.list("filename").is_empty() {
        return Err(Error::text(format!(
            "{NO_PREFIX}unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory '{}'",
            parsed.str("kustomize")
        )));
    }
    let k = Kubectl::new(ctx, io, config, parsed, path);
    run(&k).await
}

/// cobra's Find: the deepest command that the words name, its path, and the words without its names.
fn find(argv: &[String]) -> Result<(&'static Command, String, Vec<String>), Error> {
    let mut command: &'static Command = &ROOT;
    let mut path = "kubectl".to_string();
    let mut rest: Vec<String> = argv.to_vec();
    loop {
        let Some(at) = first_word(command, &rest) else {
            return Ok((command, path, rest));
        };
        let word = rest.get(at).cloned().unwrap_or_default();
        let next = command.children.iter().find(|c| c.name == word || c.aliases.contains(&word.as_str()));
        match next {
            Some(c) => {
                path = format!("{path} {}", c.name);
                command = c;
                rest.remove(at);
            }
            None if std::ptr::eq(command, &ROOT) && word == "help" => {
                rest.remove(at);
                let (found, path, _) = find(&rest)?;
                return Ok((found, path, vec!["--help".into()]));
            }
            None if std::ptr::eq(command, &ROOT) => {
                let mut message = format!("unknown command {} for \"kubectl\"", quote(&word));
                let near = suggestions(&word);
                if !near.is_empty() {
                    message.push_str("\n\nDid you mean this?\n");
                    for n in near {
                        message.push_str(&format!("\t{n}\n"));
                    }
                }
                return Err(Error::text(message));
            }
            None => return Ok((command, path, rest)),
        }
    }
}

/// The position of the first word that is neither a flag nor a flag's value.
fn first_word(command: &Command, words: &[String]) -> Option<usize> {
    let by = |test: &dyn Fn(&Flag) -> bool| command.flags.iter().flat_map(|s| s.iter()).chain(GLOBAL).find(|f| test(f));
    let mut i = 0;
    while let Some(word) = words.get(i) {
        if word == "--" {
            return None;
        }
        if let Some(name) = word.strip_prefix("--") {
            let takes = !name.contains('=') && by(&|f| f.name == name).is_some_and(|f| f.bare.is_none());
            i += if takes { 2 } else { 1 };
        } else if word.len() > 1 && word.starts_with('-') {
            let last = word.chars().last();
            let takes = !word.contains('=')
                && word.chars().count() == 2
                && by(&|f| f.short == last).is_some_and(|f| f.bare.is_none());
            i += if takes { 2 } else { 1 };
        } else {
            return Some(i);
        }
    }
    None
}

fn suggestions(word: &str) -> Vec<&'static str> {
    let lower = word.to_lowercase();
    let meant = |n: &str| SUGGEST_FOR.iter().any(|(name, words)| *name == n && words.contains(&lower.as_str()));
    let near = |n: &&str| *n != "options" && (distance(&lower, n) <= 2 || n.starts_with(&lower) || meant(n));
    ROOT.children.iter().map(|c| c.name).filter(near).collect()
}

/// Levenshtein distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut last = i;
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        for (j, cb) in b.iter().enumerate() {
            let (old, left) = match (row.get(j + 1), row.get(j)) {
                (Some(o), Some(l)) => (*o, *l),
                _ => continue,
            };
            let best = (last + usize::from(ca != *cb)).min(old + 1).min(left + 1);
            if let Some(slot) = row.get_mut(j + 1) {
                *slot = best;
            }
            last = old;
        }
    }
    row.last().copied().unwrap_or(0)
}

/// What `--dry-run` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DryRun {
    /// Nothing special.
    None,
    /// No request at all.
    Client,
    /// The server does all but store.
    Server,
}

impl DryRun {
    /// `GetDryRunStrategy`.
    pub fn of(flags: &Parsed) -> Result<DryRun, Error> {
        match flags.str("dry-run") {
            "none" | "false" | "0" | "f" | "F" | "FALSE" | "False" => Ok(DryRun::None),
            "client" | "unchanged" | "true" | "1" | "t" | "T" | "TRUE" | "True" => Ok(DryRun::Client),
            "server" => Ok(DryRun::Server),
            other => Err(Error::text(format!(
                "Invalid dry-run value ({other}). Must be \"none\", \"server\", or \"client\"."
            ))),
        }
    }

    /// The operation's word with what kind of run it was.
    pub fn operation(self, word: &str) -> String {
        match self {
            DryRun::None => word.to_string(),
            DryRun::Client => format!("{word} (dry run)"),
            DryRun::Server => format!("{word} (server dry run)"),
        }
    }
}

/// `GetValidationDirective`.
pub fn validation(flags: &Parsed) -> Result<::api::rest::FieldValidation, Error> {
    use ::api::rest::FieldValidation;
    match flags.str("validate") {
        "strict" | "true" | "1" | "t" | "T" | "TRUE" | "True" => Ok(FieldValidation::Strict),
        "warn" => Ok(FieldValidation::Warn),
        "ignore" | "false" | "0" | "f" | "F" | "FALSE" | "False" => Ok(FieldValidation::Ignore),
        other => Err(Error::text(format!(
            "invalid - validate option {}; must be one of: strict (or true), warn, ignore (or false)",
            quote(other)
        ))),
    }
}

/// The field manager of a command.
pub fn manager(k: &Kubectl<'_>, default: &str) -> String {
    match k.flags.str("field-manager") {
        "" => default.to_string(),
        m => m.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found() {
        let words = |s: &str| s.split(' ').map(String::from).collect::<Vec<_>>();
        let found = |s: &str| find(&words(s)).map(|(_, p, r)| (p, r.join(" "))).map_err(|e| e.checked().0);
        assert_eq!(found("-n x get pods"), Ok(("kubectl get".into(), "-n x pods".into())));
        assert_eq!(found("rollout status deploy/x"), Ok(("kubectl rollout status".into(), "deploy/x".into())));
        assert_eq!(found("create deploy d"), Ok(("kubectl create deployment".into(), "d".into())));
        assert_eq!(found("frobnicate"), Err("error: unknown command \"frobnicate\" for \"kubectl\"".into()));
        assert_eq!(
            found("gett pods"),
            Err("error: unknown command \"gett\" for \"kubectl\"\n\nDid you mean this?\n\tset\n\tget\n".into())
        );
    }
}
