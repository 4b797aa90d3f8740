//! `kubectl completion`: a shell function that asks `kubectl __complete`, which answers from the tree of commands.

use crate::complete::{Candidates, complete};
use crate::error::Error;
use crate::print::human::quote;
use crate::session::Kubectl;

/// Prints the shell's code.
pub async fn completion(k: &Kubectl<'_>) -> Result<(), Error> {
    let shell = match k.args() {
        [] => return Err(k.usage_error("Shell not specified.")),
        [one] => one.as_str(),
        _ => return Err(k.usage_error("Too many arguments. Expected only the shell type.")),
    };
    k.out(match shell {
        "bash" => BASH,
        "zsh" => ZSH,
        "fish" => FISH,
        "powershell" => POWERSHELL,
        other => return Err(k.usage_error(&format!("Unsupported shell type {}.", quote(other)))),
    });
    Ok(())
}

/// `kubectl __complete WORDS`: what could stand in the place of the last word, one a line with its description, then
/// `:4`, which tells the shell not to look for files.
pub async fn candidates(k: &Kubectl<'_>) -> Result<(), Error> {
    let (word, words) = match k.args().split_last() {
        Some((last, words)) => (last.as_str(), words),
        None => ("", k.args()),
    };
    let mut lines: Vec<(String, String)> = Vec::new();
    for part in complete(words, word) {
        match part {
            Candidates::Words(w) => lines.extend(w),
            Candidates::Kinds => {
                let kinds = k.mapper();
                lines.extend(kinds.resources.iter().map(|m| (m.plural.clone(), String::new())));
            }
            Candidates::Names { kind, namespace, prefix } => {
                let Some(m) = k.mapper().find_argument(&kind) else { continue };
                let namespace = if m.namespaced { namespace } else { String::new() };
                for o in k.list(&m, &namespace, "", "").await? {
                    lines.push((format!("{prefix}{}", o.str("metadata/name")), String::new()));
                }
            }
            Candidates::Containers { pod, namespace } => {
                let pods = k.known("", "pods")?;
                let pod = k.get(&pods, &namespace, &pod, "").await?;
                lines.extend(pod.list("spec/containers").iter().map(|c| (c.str("name").to_string(), String::new())));
            }
            Candidates::Contexts => lines.push((k.config.context.clone(), String::new())),
        }
    }
    for (text, detail) in lines.iter().filter(|l| l.0.starts_with(word)) {
        k.out(&if detail.is_empty() { format!("{text}\n") } else { format!("{text}\t{detail}\n") });
    }
    k.out(":4\n");
    Ok(())
}

const BASH: &str = r#"# bash completion for kubectl

__kubectl_complete() {
    local current=${COMP_WORDS[COMP_CWORD]} line
    COMPREPLY=()
    while IFS=$'\t' read -r line _; do
        [[ $line == :* ]] && continue
        [[ $line == "$current"* ]] && COMPREPLY+=("$line")
    done < <(kubectl __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}

complete -o default -F __kubectl_complete kubectl
"#;

const ZSH: &str = r#"#compdef kubectl
compdef _kubectl kubectl

# zsh completion for kubectl

_kubectl() {
    local -a found
    local line detail
    while IFS=$'\t' read -r line detail; do
        [[ $line == :* ]] && continue
        found+=("${line//:/\\:}:$detail")
    done < <(kubectl __complete "${words[@]:1:$((CURRENT - 1))}" 2>/dev/null)
    _describe 'kubectl' found
}
"#;

const FISH: &str = r#"# fish completion for kubectl

function __kubectl_complete
    set -l words (commandline -opc) (commandline -ct)
    kubectl __complete $words[2..-1] 2>/dev/null | string match -v ':*'
end

complete -c kubectl -f -a '(__kubectl_complete)'
"#;

const POWERSHELL: &str = r#"# powershell completion for kubectl

Register-ArgumentCompleter -Native -CommandName kubectl -ScriptBlock {
    param($word, $ast, $position)
    $words = $ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" }
    kubectl __complete @words 2>$null | Where-Object { $_ -notlike ':*' } | ForEach-Object {
        $text, $detail = $_ -split "`t", 2
        [System.Management.Automation.CompletionResult]::new($text, $text, 'ParameterValue', "$detail ")
    }
}
"#;
