//! Tab: what could stand at the cursor. Read from tables and the store, without a request.

use crate::cluster::World;
use crate::session::cluster_view::server;
use api::SortSmall;
use kubectl::complete::Candidates;
use view::{Candidate, Completions};

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
/// Candidates at a cursor, in a shell with these aliases.
pub fn complete(world: &World, aliases: &shell::Aliases, id: u32, line: &str, cursor: usize) -> Completions {
    let before = line.get(..cursor.min(line.len())).unwrap_or(line);
    // The last simple command of the line.
    let start = before.rfind(['|', ';', '&']).map_or(0, |i| i + 1);
    let part = before.get(start..).unwrap_or_default();
    let word_at = part.rfind(char::is_whitespace).map_or(0, |i| i + part.get(i..).map_or(1, first_len));
    let word = part.get(word_at..).unwrap_or_default();
    let words: Vec<&str> = part.get(..word_at).unwrap_or_default().split_whitespace().collect();
    let words = meant(aliases, words);
    let mut found = candidates(world, &words, word);
    if words.is_empty() {
        found.extend(plain(aliases.keys().cloned()));
    }
    found.retain(|c| c.text.starts_with(word));
    // Whose short name is there already comes first: `po` means pods.
    let kind = api::scheme::resources().iter().find(|kind| kind.short_names.contains(&word)).map(|kind| kind.plural);
    found.sort_small_by(|a, b| {
        let later = |text: &str| kind != Some(text);
        later(&a.text).cmp(&later(&b.text)).then_with(|| a.text.cmp(&b.text))
    });
    found.dedup_by(|a, b| a.text == b.text);
    found.truncate(200);
    Completions { id, from: u32::try_from(start + word_at).unwrap_or(0), candidates: found }
}

/// The words with what an alias in their first place stands for, and what that becomes.
fn meant<'a>(aliases: &'a shell::Aliases, mut words: Vec<&'a str>) -> Vec<&'a str> {
    let mut seen: Vec<&str> = Vec::new();
    while let Some(name) = words.first().copied().filter(|name| !seen.contains(name))
        && let Some(value) = aliases.get(name)
    {
        seen.push(name);
        words.splice(0..1, value.split_whitespace());
    }
    words
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

/// What kubectl's own tables say, names of objects read from the store.
fn kubectl(world: &World, words: &[&str], word: &str) -> Vec<Candidate> {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    let mut out = Vec::new();
    for part in kubectl::complete::complete(&words, word) {
        match part {
            Candidates::Words(list) => out.extend(list.into_iter().map(|(text, description)| Candidate {
                closed: !text.ends_with('='),
                text,
                description,
            })),
            Candidates::Kinds => out.extend(kinds()),
            Candidates::Names { kind, namespace, prefix } => {
                let found = names(world, &kind, Some(&namespace)).into_iter();
                out.extend(plain(found.map(|name| format!("{prefix}{name}"))));
            }
            Candidates::Containers { pod, namespace } => out.extend(plain(containers(world, &pod, &namespace))),
            Candidates::Contexts => out.extend(plain(["kubernetes-admin@kubernetes".to_string()])),
        }
    }
    out
}

/// The containers of a pod.
fn containers(world: &World, pod: &str, namespace: &str) -> Vec<String> {
    let Some(server) = server(world) else { return Vec::new() };
    let Some(resource) = server.resources.iter().find(|r| r.kind.plural == "pods") else { return Vec::new() };
    let mut out = Vec::new();
    server.cache.resource(resource.index).each(namespace, |object: &api::AnyRev| {
        let found = object.downcast::<api::core_v1::Pod>().filter(|p| p.metadata.name == *pod);
        out.extend(found.iter().flat_map(|p| p.spec.containers.iter()).map(|c| c.name.to_string()));
    });
    out
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
