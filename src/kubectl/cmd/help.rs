//! Help: cobra's layout, the groups' own words, and the commands that have no body here.

use super::{Command, GLOBAL, ROOT};
use crate::flags::{Flag, Type};

/// The words above a group's list of commands where they are more than its short ones.
const LONG: &[(&str, &str)] = &[
    (
        "kubectl rollout",
        "Manage the rollout of one or many resources.
        
 Valid resource types include:

  *  deployments
  *  daemonsets
  *  statefulsets

Examples:
  # Rollback to the previous deployment
  kubectl rollout undo deployment/abc
  
  # Check the rollout status of a daemonset
  kubectl rollout status daemonset/foo
  
  # Restart a deployment
  kubectl rollout restart deployment/abc
  
  # Restart deployments with the 'app=nginx' label
  kubectl rollout restart deployment --selector=app=nginx",
    ),
    (
        "kubectl set",
        "Configure application resources.

 These commands help you make changes to existing application resources.",
    ),
    (
        "kubectl create secret",
        "Create a secret with specified type.

 A docker-registry type secret is for accessing a container registry.

 A generic type secret indicate an Opaque secret type.

 A tls type secret holds TLS certificate and its associated key.",
    ),
    (
        "kubectl top",
        "Display resource (CPU/memory) usage.

 This command provides a view of recent resource consumption for nodes and pods. It fetches metrics from the Metrics Server, which aggregates this data from the kubelet on each node. The Metrics Server must be installed and running in the cluster for this command to work.

 The metrics shown are specifically optimized for Kubernetes autoscaling decisions, such as those made by the Horizontal Pod Autoscaler (HPA) and Vertical Pod Autoscaler (VPA). Because of this, the values may not match those from standard OS tools like 'top', as the metrics are designed to provide a stable signal for autoscalers rather than for pinpoint accuracy.

 FAQ for Metrics Server: https://github.com/kubernetes-sigs/metrics-server/blob/master/FAQ.md

 When to use this command:

  *  For on-the-fly spot-checks of resource usage (e.g. identify which pods are consuming the most resources at a glance, or get a quick sense of the load on your nodes)
  *  Understand current resource consumption patterns
  *  Validate the behavior of your HPA or VPA configurations by seeing the metrics they use for scaling decisions.

 It is not intended to be a replacement for full-featured monitoring solutions. Its primary design goal is to provide a low-overhead signal for autoscalers, not to be a perfectly accurate monitoring tool. For high-accuracy reporting, historical analysis, dashboarding, or alerting, you should use a dedicated monitoring solution.",
    ),
    (
        "kubectl config",
        r#"Modify kubeconfig files using subcommands like "kubectl config set current-context my-context".

 The loading order follows these rules:

  1.  If the --kubeconfig flag is set, then only that file is loaded. The flag may only be set once and no merging takes place.
  2.  If $KUBECONFIG environment variable is set, then it is used as a list of paths (normal path delimiting rules for your system). These paths are merged. When a value is modified, it is modified in the file that defines the stanza. When a value is created, it is created in the first file that exists. If no files in the chain exist, then it creates the last file in the list.
  3.  Otherwise, ${HOME}/.kube/config is used and no merging takes place."#,
    ),
    (
        "kubectl plugin",
        "Provides utilities for interacting with plugins.

 Plugins provide extended functionality that is not part of the major command-line distribution. Please refer to the documentation and examples for more information about how write your own plugins.

 The easiest way to discover and install plugins is via the kubernetes sub-project krew: [krew.sigs.k8s.io]. To install krew, visit https://krew.sigs.k8s.io/docs/user-guide/setup/install

Examples:
  # List all available plugins
  kubectl plugin list
  
  # List only binary names of available plugins without paths
  kubectl plugin list --name-only",
    ),
    ("kubectl create service", "Create a service using a specified subcommand.\n\nAliases:\nservice, svc"),
];

/// kubectl's commands by the groups of its own help.
const GROUPS: &[(&str, &[&str])] = &[
    ("Basic Commands (Beginner)", &["create", "expose", "run", "set"]),
    ("Basic Commands (Intermediate)", &["explain", "get", "edit", "delete"]),
    ("Deploy Commands", &["rollout", "scale", "autoscale"]),
    ("Cluster Management Commands", &["certificate", "cluster-info", "top", "cordon", "uncordon", "drain", "taint"]),
    (
        "Troubleshooting and Debugging Commands",
        &["describe", "logs", "attach", "exec", "port-forward", "proxy", "cp", "auth", "debug", "events"],
    ),
    ("Advanced Commands", &["diff", "apply", "patch", "replace", "wait", "kustomize"]),
    ("Settings Commands", &["label", "annotate", "completion"]),
    ("Subcommands provided by plugins", &[]),
    ("Other Commands", &["api-resources", "api-versions", "config", "kuberc", "plugin", "version"]),
];

/// kubectl's own help.
pub fn root() -> String {
    let mut out =
        format!("{}.\n\n Find more information at: https://kubernetes.io/docs/reference/kubectl/\n\n", ROOT.short);
    for (title, names) in GROUPS {
        out.push_str(&format!("{title}:\n"));
        for name in *names {
            let short = ROOT.children.iter().find(|c| c.name == *name).map_or("", |c| c.short);
            out.push_str(&format!("  {name:13}   {short}\n"));
        }
        out.push('\n');
    }
    out.push_str("Usage:\n  kubectl [flags] [options]\n");
    out.push_str(&more("kubectl"));
    out
}

fn more(path: &str) -> String {
    format!("\nUse \"{path} <command> --help\" for more information about a given command.\n{OPTIONS}")
}

const OPTIONS: &str = "Use \"kubectl options\" for a list of global command-line options (applies to all commands).\n";

/// The help of a command.
pub fn help(command: &Command, path: &str) -> String {
    if std::ptr::eq(command, &ROOT) {
        return root();
    }
    let long = LONG.iter().find(|(p, _)| *p == path).map(|(_, t)| t.to_string());
    let mut out = long.unwrap_or_else(|| format!("{}.", command.short));
    out.push('\n');
    if !command.children.is_empty() {
        out.push_str("\nAvailable Commands:\n");
        let width = command.children.iter().map(|c| c.name.len()).max().unwrap_or(0).max(11);
        let mut children = command.children.to_vec();
        children.sort_by_key(|c| c.name);
        for c in children {
            out.push_str(&format!("  {:width$}   {}\n", c.name, c.short));
        }
    }
    let sets: Vec<&Flag> = command.flags.iter().flat_map(|s| s.iter()).collect();
    if !sets.is_empty() {
        out.push_str("\nOptions:\n");
        out.push_str(&flags(sets));
    }
    let usage =
        if command.usage.is_empty() { "[flags] [options]".to_string() } else { format!("{} [options]", command.usage) };
    out.push_str(&format!("\nUsage:\n  {path} {usage}\n"));
    if command.children.is_empty() {
        out.push('\n');
        out.push_str(OPTIONS);
    } else {
        out.push_str(&more(path));
    }
    out
}

fn flags(mut flags: Vec<&Flag>) -> String {
    flags.sort_by_key(|f| f.name);
    let shown: Vec<String> = flags
        .iter()
        .map(|f| {
            let short = f.short.map_or(String::new(), |c| format!("-{c}, "));
            let default = match f.kind {
                Type::String if f.name != "vmodule" => format!("'{}'", f.default),
                Type::StringArray | Type::StringSlice => format!("[{}]", f.default),
                _ => f.default.to_string(),
            };
            format!("    {short}--{}={default}:\n\t{}\n", f.name, f.usage)
        })
        .collect();
    shown.join("\n")
}

/// `kubectl options`
pub fn options() -> String {
    format!("The following options can be passed to any command:\n\n{}", flags(GLOBAL.iter().collect()))
}

/// A command of the real kubectl that does nothing here.
pub const fn absent(name: &'static str, short: &'static str) -> Command {
    Command { name, aliases: &[], short, usage: "", flags: &[], required: &[], run: None, children: &[] }
}

/// What a command without a body says: the real one's words where it fails for want of something.
pub fn refusal(path: &str) -> Option<&'static str> {
    Some(match path {
        "kubectl edit" => "unable to launch the editor \"vi\"",
        "kubectl completion" => "Shell not specified.\nSee 'kubectl completion -h' for help and examples",
        "kubectl plugin list" => "unable to find any kubectl plugins in your PATH",
        "kubectl attach"
        | "kubectl port-forward"
        | "kubectl proxy"
        | "kubectl cp"
        | "kubectl debug"
        | "kubectl kustomize"
        | "kubectl kuberc"
        | "kubectl certificate" => "this command is not part of this kubectl yet",
        _ => return None,
    })
}
