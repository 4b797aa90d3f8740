//! Help as kubectl's templates lay it out, from the tree of commands.

use crate::commands::{Command, root};
use crate::error::Error;
use crate::flags::Flag;
use crate::session::Kubectl;
use api::SortSmall;

/// kubectl's commands by the groups of its own help.
const GROUPS: &[(&str, &[&str])] = &[
    ("Basic Commands (Beginner):", &["create", "expose", "run", "set"]),
    ("Basic Commands (Intermediate):", &["explain", "get", "edit", "delete"]),
    ("Deploy Commands:", &["rollout", "scale", "autoscale"]),
    ("Cluster Management Commands:", &["certificate", "cluster-info", "top", "cordon", "uncordon", "drain", "taint"]),
    (
        "Troubleshooting and Debugging Commands:",
        &["describe", "logs", "attach", "exec", "port-forward", "proxy", "cp", "auth", "debug", "events"],
    ),
    ("Advanced Commands:", &["diff", "apply", "patch", "replace", "wait", "kustomize"]),
    ("Settings Commands:", &["label", "annotate", "completion"]),
    ("Subcommands provided by plugins:", &[]),
    ("Other Commands:", &["api-resources", "api-versions", "config", "kuberc", "plugin", "version"]),
];

/// Columns that a list of commands leaves for their names at least.
const NAME_PADDING: usize = 11;

/// The help of a command.
pub fn help(command: &Command) -> String {
    let children: Vec<&Command> = command.children().collect();
    let usage = command.usage_line();
    let long = command.long();
    if usage.is_empty() && children.is_empty() {
        return if command.path == "options" { String::new() } else { long + "\n" };
    }
    long + &self::usage(command)
}

/// What follows the words of a command's help.
pub fn usage(command: &Command) -> String {
    let children: Vec<&Command> = command.children().collect();
    let is_root = command.path.is_empty();
    let usage = command.usage_line();
    let mut out = "\n\n".to_string();
    if !command.aliases.is_empty() {
        out.push_str(&format!("Aliases:\n{}, {}\n\n", command.name(), command.aliases.join(", ")));
    }
    if !command.example().is_empty() {
        out.push_str(&format!("Examples:\n{}\n\n", command.example()));
    }
    if !children.is_empty() {
        let width = children.iter().map(|c| c.name().len()).max().unwrap_or(0).max(NAME_PADDING);
        let line = |c: &&Command| format!("\n  {:width$}   {}", c.name(), c.short);
        let groups: Vec<String> = if is_root {
            let named = |n: &&str| children.iter().find(|c| c.name() == *n).map(line);
            GROUPS
                .iter()
                .map(|(title, names)| title.to_string() + &names.iter().filter_map(named).collect::<String>())
                .collect()
        } else {
            let mut sorted = children.clone();
            sorted.sort_small_by_key(|c| c.name());
            vec!["Available Commands:".to_string() + &sorted.iter().map(line).collect::<String>()]
        };
        out.push_str(&groups.join("\n\n"));
        out.push_str("\n\n");
    }
    if !is_root && command.flags.iter().any(|f| !f.hidden) {
        out.push_str(&format!("Options:\n{}\n\n", flags(&command.flags).trim_end()));
    }
    out.push_str(&format!("Usage:\n  {usage}\n\n"));
    if !children.is_empty() {
        let path = command.full_path();
        out.push_str(&format!("Use \"{path} <command> --help\" for more information about a given command.\n"));
    }
    out.push_str("Use \"kubectl options\" for a list of global command-line options (applies to all commands).\n");
    out
}

fn flags(flags: &[Flag]) -> String {
    let mut out = String::new();
    for f in flags.iter().filter(|f| !f.hidden) {
        let short = f.short.map_or(String::new(), |c| format!("-{c}, "));
        let quote = if f.quoted { "'" } else { "" };
        let usage = f.usage().replace("\\n", " ").replace("\\t", "\t").replace("\\\\", "\\");
        let default = f.default.replace("\\\\", "\\");
        out.push_str(&format!("    {short}--{}={quote}{default}{quote}:\n\t{usage}\n\n", f.name));
    }
    out
}

/// `kubectl options`: the flags of every command.
pub async fn show_options(k: &Kubectl<'_>) -> Result<(), Error> {
    let home = k.io.env("HOME").unwrap_or_else(|| "/root".into());
    let text = flags(&root().flags).replace("'$HOME/", &format!("'{home}/"));
    k.out(&format!("The following options can be passed to any command:\n\n{text}"));
    Ok(())
}
