//! The verbs: one file each, one table of them, and cobra's way from words to a verb.

mod annotate;
mod api;
mod apply;
mod attach;
mod auth;
mod autoscale;
mod certificate;
mod cluster_info;
mod completion;
mod config;
mod cordon;
mod cp;
mod create;
mod create_kinds;
mod create_secret;
mod create_workloads;
mod debug;
mod delete;
mod describe;
mod diff;
mod drain;
mod dump;
mod edit;
mod events;
mod exec;
mod explain;
mod expose;
mod get;
pub(crate) mod help;
mod kuberc;
mod kustomize;
mod label;
mod logs;
mod patch;
mod plugin;
mod pod_watch;
mod port_forward;
pub(crate) mod proxy;
mod prune;
mod reconcile;
mod replace;
mod rollout;
mod rollout_history;
mod run;
mod scale;
mod set;
mod set_env;
mod set_last_applied;
mod set_selector;
mod taint;
mod top;
mod version;
mod wait;

use crate::commands::{Command, root};
use crate::error::Error;
use crate::flags::{Flag, Parsed, parse};
use crate::io::Io;
use crate::kubeconfig::Kubeconfig;
use crate::print::human::quote;
use crate::session::{Config, Kubectl};
use std::future::Future;
use std::pin::Pin;

/// What a command does.
pub type Run = for<'a> fn(&'a Kubectl<'a>) -> Pin<Box<dyn Future<Output = Result<(), Error>> + 'a>>;

/// What each command does. Groups are not here: without a subcommand they show their help.
const RUN: &[(&str, Run)] = &[
    ("annotate", |k| Box::pin(annotate::annotate(k))),
    ("api-resources", |k| Box::pin(api::resources(k))),
    ("api-versions", |k| Box::pin(api::versions(k))),
    ("explain", |k| Box::pin(explain::explain(k))),
    ("apply", |k| Box::pin(apply::apply(k))),
    ("apply view-last-applied", |k| Box::pin(apply::view_last_applied(k))),
    ("attach", |k| Box::pin(attach::attach(k))),
    ("auth reconcile", |k| Box::pin(reconcile::reconcile(k))),
    ("auth can-i", |k| Box::pin(auth::can_i(k))),
    ("auth whoami", |k| Box::pin(auth::who_am_i(k))),
    ("autoscale", |k| Box::pin(autoscale::autoscale(k))),
    ("certificate approve", |k| Box::pin(certificate::decide(k, true))),
    ("certificate deny", |k| Box::pin(certificate::decide(k, false))),
    ("completion", |k| Box::pin(completion::completion(k))),
    ("cluster-info dump", |k| Box::pin(dump::dump(k))),
    ("cluster-info", |k| Box::pin(cluster_info::cluster_info(k))),
    ("top node", |k| Box::pin(top::top(k, "node"))),
    ("top pod", |k| Box::pin(top::top(k, "pod"))),
    ("config current-context", |k| Box::pin(config::current_context(k))),
    ("config get-clusters", |k| Box::pin(config::names(k, "clusters"))),
    ("config get-contexts", |k| Box::pin(config::contexts(k))),
    ("config get-users", |k| Box::pin(config::names(k, "users"))),
    ("config view", |k| Box::pin(config::view(k))),
    ("config use-context", |k| Box::pin(config::use_context(k))),
    ("config set-context", |k| Box::pin(config::set_context(k))),
    ("config set-cluster", |k| Box::pin(config::set_cluster(k))),
    ("config set-credentials", |k| Box::pin(config::set_credentials(k))),
    ("config set", |k| Box::pin(config::property(k, true))),
    ("config unset", |k| Box::pin(config::property(k, false))),
    ("config delete-cluster", |k| Box::pin(config::delete(k, "clusters"))),
    ("config delete-context", |k| Box::pin(config::delete(k, "contexts"))),
    ("config delete-user", |k| Box::pin(config::delete(k, "users"))),
    ("config rename-context", |k| Box::pin(config::rename_context(k))),
    ("edit", |k| Box::pin(edit::edit(k))),
    ("apply edit-last-applied", |k| Box::pin(edit::edit_last_applied(k))),
    ("apply set-last-applied", |k| Box::pin(set_last_applied::set_last_applied(k))),
    ("cordon", |k| Box::pin(cordon::cordon(k, true, "cordon NODE"))),
    ("uncordon", |k| Box::pin(cordon::cordon(k, false, "uncordon NODE"))),
    ("create", |k| Box::pin(create::create(k))),
    ("create namespace", |k| Box::pin(create_kinds::namespace(k))),
    ("create quota", |k| Box::pin(create_workloads::quota(k))),
    ("create secret generic", |k| Box::pin(create_kinds::secret(k))),
    ("create secret tls", |k| Box::pin(create_secret::tls(k))),
    ("create secret docker-registry", |k| Box::pin(create_secret::docker_registry(k))),
    ("create configmap", |k| Box::pin(create_kinds::config_map(k))),
    ("create serviceaccount", |k| Box::pin(create_kinds::service_account(k))),
    ("create service clusterip", |k| Box::pin(create_workloads::cluster_ip(k))),
    ("create service nodeport", |k| Box::pin(create_workloads::node_port(k))),
    ("create service loadbalancer", |k| Box::pin(create_workloads::load_balancer(k))),
    ("create service externalname", |k| Box::pin(create_workloads::external_name(k))),
    ("create deployment", |k| Box::pin(create_workloads::deployment(k))),
    ("create clusterrole", |k| Box::pin(create_kinds::role(k, true))),
    ("create clusterrolebinding", |k| Box::pin(create_kinds::binding(k, true))),
    ("create role", |k| Box::pin(create_kinds::role(k, false))),
    ("create rolebinding", |k| Box::pin(create_kinds::binding(k, false))),
    ("create poddisruptionbudget", |k| Box::pin(create_workloads::pdb(k))),
    ("create priorityclass", |k| Box::pin(create_workloads::priority_class(k))),
    ("create job", |k| Box::pin(create_workloads::job(k))),
    ("create cronjob", |k| Box::pin(create_workloads::cron_job(k))),
    ("create ingress", |k| Box::pin(create_workloads::ingress(k))),
    ("create token", |k| Box::pin(create_kinds::token(k))),
    ("cp", |k| Box::pin(cp::cp(k))),
    ("debug", |k| Box::pin(debug::debug(k))),
    ("delete", |k| Box::pin(delete::delete(k))),
    ("describe", |k| Box::pin(describe::describe(k))),
    ("diff", |k| Box::pin(diff::diff(k))),
    ("drain", |k| Box::pin(drain::drain(k))),
    ("events", |k| Box::pin(events::events(k))),
    ("exec", |k| Box::pin(exec::exec(k))),
    ("expose", |k| Box::pin(expose::expose(k))),
    ("get", |k| Box::pin(get::get(k))),
    ("kuberc set", |k| Box::pin(kuberc::set(k))),
    ("kuberc view", |k| Box::pin(kuberc::view(k))),
    ("kustomize", |k| Box::pin(kustomize::kustomize(k))),
    ("label", |k| Box::pin(label::label(k))),
    ("logs", |k| Box::pin(logs::logs(k))),
    ("options", |k| Box::pin(help::show_options(k))),
    ("patch", |k| Box::pin(patch::patch(k))),
    ("plugin list", |k| Box::pin(plugin::list(k))),
    ("port-forward", |k| Box::pin(port_forward::port_forward(k))),
    ("proxy", |k| Box::pin(proxy::proxy(k))),
    ("replace", |k| Box::pin(replace::replace(k))),
    ("rollout history", |k| Box::pin(rollout_history::history(k))),
    ("rollout pause", |k| Box::pin(rollout::change(k, "pause"))),
    ("rollout restart", |k| Box::pin(rollout::change(k, "restart"))),
    ("rollout resume", |k| Box::pin(rollout::change(k, "resume"))),
    ("rollout status", |k| Box::pin(rollout::status(k))),
    ("rollout undo", |k| Box::pin(rollout_history::undo(k))),
    ("run", |k| Box::pin(run::run(k))),
    ("scale", |k| Box::pin(scale::scale(k))),
    ("set image", |k| Box::pin(set::image(k))),
    ("set resources", |k| Box::pin(set::resources(k))),
    ("set selector", |k| Box::pin(set_selector::selector(k))),
    ("set serviceaccount", |k| Box::pin(set_selector::service_account(k))),
    ("set subject", |k| Box::pin(set_selector::subject(k))),
    ("set env", |k| Box::pin(set_env::env(k))),
    ("taint", |k| Box::pin(taint::taint(k))),
    ("version", |k| Box::pin(version::version(k))),
    ("wait", |k| Box::pin(wait::wait(k))),
];

/// Commands that do not look at the kubeconfig's current context.
const OFFLINE: [&str; 7] = ["completion", "config", "kuberc", "kustomize", "options", "plugin", "version"];

/// Finds the command of a command line and runs it.
pub async fn dispatch(ctx: &sim::Ctx, config: &Config, argv: &[String], io: &dyn Io) -> Result<(), Error> {
    if let Some(("__complete", words)) = argv.split_first().map(|(w, rest)| (w.as_str(), rest)) {
        let mut parsed = Parsed::default();
        parsed.args = words.to_vec();
        let k = Kubectl::new(ctx, io, config, parsed, "kubectl __complete".into());
        return completion::candidates(&k).await;
    }
    let applied = crate::kuberc::apply(io, argv)?;
    let (command, mut rest) = find(&applied.argv)?;
    rest.splice(0..0, applied.options);
    let path = applied.alias.map_or_else(|| command.full_path(), |alias| format!("kubectl {alias}"));
    let parsed = parse(&[&command.flags, &root().flags], &rest).map_err(|e| {
        let hint = if command.path == "options" {
            format!("Run '{path}' without flags.")
        } else {
            format!("See '{path} --help' for usage.")
        };
        Error::text(format!("{e}\n{hint}"))
    })?;
    for notice in &parsed.notices {
        io.stderr(notice.as_bytes());
    }
    if parsed.help {
        io.stdout(help::help(command).as_bytes());
        return Ok(());
    }
    let Some(run) = RUN.iter().find(|r| r.0 == command.path).map(|r| r.1) else {
        if !parsed.args.is_empty() && !command.path.is_empty() && command.path != "alpha" {
            return Err(Error::text(format!(
                "unknown command {}\nSee '{path} -h' for help and examples",
                quote(&parsed.args.join(" "))
            )));
        }
        let text = help::help(command);
        match command.path {
            "" | "certificate" => {
                io.stdout(text.as_bytes());
                return Ok(());
            }
            "rollout" => {
                io.stdout(text.as_bytes());
                return Err(Error::silent());
            }
            "alpha" => {
                io.stderr(text.as_bytes());
                return Ok(());
            }
            _ => {}
        }
        io.stderr(text.as_bytes());
        return Err(Error::silent());
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
    let offline = command.path.split(' ').next().is_some_and(|w| OFFLINE.contains(&w));
    let resolved = if offline {
        config.clone()
    } else {
        Kubeconfig::load(io, &parsed, config)?.resolve(command, &parsed, config)?
    };
    timeout(parsed.str("request-timeout"))?;
    let k = Kubectl::new(ctx, io, &resolved, parsed, path);
    run(&k).await
}

/// `clientcmd.ParseTimeout`, in nanoseconds: whole seconds, or a duration with its unit; 0 is for ever.
pub(crate) fn timeout(text: &str) -> Result<i64, Error> {
    const SECOND: i64 = 1_000_000_000;
    let duration = match crate::flags::parse_int(text, 64) {
        _ if text.is_empty() => return Ok(0),
        Ok(seconds) if seconds >= 0 => return Ok(seconds.saturating_mul(SECOND)),
        Ok(_) => None,
        Err(_) => crate::print::human::parse_duration(text).ok(),
    };
    duration.ok_or_else(|| {
        Error::text(
            "Invalid timeout value. Timeout must be a single integer in seconds, or an integer followed by a corresponding time unit (e.g. 1s | 2m | 3h)",
        )
    })
}

/// cobra's Find: the deepest command that the words name, and the words without its names.
pub(crate) fn find(argv: &[String]) -> Result<(&'static Command, Vec<String>), Error> {
    let mut command = root();
    let mut rest: Vec<String> = argv.to_vec();
    loop {
        let Some(at) = first_word(command, &rest) else {
            return Ok((command, rest));
        };
        let word = rest.get(at).cloned().unwrap_or_default();
        let is_root = command.path.is_empty();
        match command.child(&word) {
            Some(c) => {
                command = c;
                rest.remove(at);
            }
            None if is_root && word == "help" => {
                rest.remove(at);
                let topic: Vec<String> = rest.iter().take_while(|w| !w.starts_with('-')).cloned().collect();
                return match find(&topic) {
                    Ok((found, _)) => Ok((found, vec!["--help".into()])),
                    Err(_) => Err(Error::Exit(
                        0,
                        format!("Unknown help topic [`{}`]\n{}", topic.join("` `"), help::usage(root())),
                    )),
                };
            }
            None if is_root => {
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
            None => return Ok((command, rest)),
        }
    }
}

/// The position of the first word that is neither a flag nor a flag's value.
pub(crate) fn first_word(command: &Command, words: &[String]) -> Option<usize> {
    let mut i = 0;
    while let Some(word) = words.get(i) {
        if word == "--" {
            return None;
        }
        let takes = |f: Option<&Flag>| f.is_none_or(|f| f.bare.is_none());
        if let Some(name) = word.strip_prefix("--") {
            let value = !name.contains('=') && name != "help" && takes(command.flag(|f| f.name == name));
            i += if value { 2 } else { 1 };
        } else if word.len() > 1 && word.starts_with('-') {
            let last = word.chars().last();
            let short = !word.contains('=') && word.chars().count() == 2 && word != "-h";
            i += if short && takes(command.flag(|f| f.short == last)) { 2 } else { 1 };
        } else {
            return Some(i);
        }
    }
    None
}

fn suggestions(word: &str) -> Vec<&'static str> {
    let lower = word.to_lowercase();
    let near = |c: &&'static Command| {
        c.path != "options"
            && (distance(&lower, c.path) <= 2 || c.path.starts_with(&lower) || c.suggest_for.contains(&lower.as_str()))
    };
    root().children().filter(near).map(|c| c.path).collect()
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
    /// `GetDryRunStrategy`. Old ways to ask for one are warned of.
    pub fn of(k: &Kubectl<'_>) -> Result<DryRun, Error> {
        let text = k.flags.str("dry-run");
        let old = |line: u32, kind: &str, instead: &str| {
            let said = format!("{kind} and can be replaced with --dry-run={instead}.");
            k.warn_by_log(&format!("helpers.go:{line}"), &said);
        };
        let boolean = format!("--dry-run={text} is deprecated (boolean value)");
        match text {
            "none" => Ok(DryRun::None),
            "false" | "0" | "f" | "F" | "FALSE" | "False" => {
                old(731, &boolean, "none");
                Ok(DryRun::None)
            }
            "client" => Ok(DryRun::Client),
            "unchanged" => {
                old(714, "--dry-run is deprecated", "client");
                Ok(DryRun::Client)
            }
            "true" | "1" | "t" | "T" | "TRUE" | "True" => {
                old(728, &boolean, "client");
                Ok(DryRun::Client)
            }
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

/// Refuses a dry run of the server for objects that no server sees.
pub fn local_dry_run(k: &Kubectl<'_>) -> Result<(), Error> {
    if k.flags.bool("local") && DryRun::of(k)? == DryRun::Server {
        return Err(Error::text("cannot specify --local and --dry-run=server - did you mean --dry-run=client?"));
    }
    Ok(())
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

/// The field manager of a command: the flag, if it is there, whose own default is not that of every way to apply.
pub fn manager(k: &Kubectl<'_>, default: &str) -> String {
    let name = if k.flags.changed("field-manager") { k.flags.str("field-manager") } else { default };
    name.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found() {
        let words = |s: &str| s.split(' ').map(String::from).collect::<Vec<_>>();
        let found = |s: &str| find(&words(s)).map(|(c, r)| (c.full_path(), r.join(" "))).map_err(|e| e.checked().0);
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
