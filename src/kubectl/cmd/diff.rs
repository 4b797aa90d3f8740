//! `kubectl diff`.

use super::manager;
use crate::builder::{Builder, Info};
use crate::error::Error;
use crate::merge;
use crate::print::object::{omit_managed_fields, yaml};
use crate::print::time::rfc3339;
use crate::server::Write;
use crate::session::Kubectl;
use crate::value::Value;
use ::api::rest::PatchType;
use api::SortSmall;

/// The command.
pub async fn diff(k: &Kubectl<'_>) -> Result<(), Error> {
    let failed = |e: Error| {
        let (text, code) = e.checked();
        Error::Exit(code + 1, text)
    };
    if !k.args().is_empty() {
        return Err(failed(k.usage_error(&format!("Unexpected args: [{}]", k.args().join(" ")))));
    }
    if k.flags.bool("force-conflicts") && !k.flags.bool("server-side") {
        return Err(failed(Error::text("--force-conflicts only works with --server-side")));
    }
    if k.flags.list("filename").is_empty() {
        return Err(failed(Error::text("must specify one of -f and -k")));
    }
    match run(k).await {
        Ok(false) => Ok(()),
        Ok(true) => Err(Error::silent()),
        Err(e) => Err(failed(e)),
    }
}

async fn run(k: &Kubectl<'_>) -> Result<bool, Error> {
    let b = Builder::new(k).labels(k.flags.str("selector"));
    let (infos, found) = b.run(k).await?.infos();
    found?;
    let mut files: Vec<(String, String, String)> = Vec::new();
    for info in infos {
        let live = match k.get(&info.mapping, &info.namespace, &info.name, "").await {
            Ok(o) => Some(o),
            Err(e) if e.is_not_found() => None,
            Err(e) => return Err(e),
        };
        let mut merged = merged(k, &info, live.as_ref()).await?;
        let mut live = live.unwrap_or_default();
        if !k.flags.bool("show-managed-fields") {
            omit_managed_fields(&mut live);
            omit_managed_fields(&mut merged);
        }
        if info.mapping.kind == "Secret" {
            mask(&mut live, &mut merged);
        }
        let m = &info.mapping;
        let group = if m.group.is_empty() { String::new() } else { format!("{}.", m.group) };
        let name = format!("{group}{}.{}.{}.{}", m.version, m.kind, info.namespace, info.name);
        let text = |v: &Value| if v.is_null() { String::new() } else { yaml(v) };
        files.push((name, text(&live), text(&merged)));
    }
    files.sort_small();
    let mut rng = k.ctx.rng("kubectl diff");
    let (live_dir, merged_dir) =
        (format!("/tmp/LIVE-{}", rng.below(u32::MAX)), format!("/tmp/MERGED-{}", rng.below(u32::MAX)));
    let stamp = rfc3339(k.now()).replace('T', " ").replace('Z', ".000000000 +0000");
    let mut changed = false;
    for (name, a, b) in files {
        if a == b {
            continue;
        }
        changed = true;
        k.out(&format!(
            "diff -u -N {live_dir}/{name} {merged_dir}/{name}\n--- {live_dir}/{name}\t{stamp}\n+++ {merged_dir}/{name}\t{stamp}\n{}",
            unified(&a, &b)
        ));
    }
    Ok(changed)
}

async fn merged(k: &Kubectl<'_>, info: &Info, live: Option<&Value>) -> Result<Value, Error> {
    let server_side = k.flags.bool("server-side");
    let w = Write {
        dry_run: true,
        manager: manager(k, if server_side { "kubectl" } else { "kubectl-client-side-apply" }),
        force: k.flags.bool("force-conflicts"),
        ..Write::default()
    };
    let (m, ns, name) = (&info.mapping, &info.namespace, &info.name);
    if server_side {
        let body = info.object.to_json();
        return k.patch(m, ns, name, "", PatchType::Apply, body.as_bytes(), &w).await;
    }
    let Some(live) = live else {
        return k.create(m, ns, &info.object, &w).await;
    };
    let modified = super::apply::modified_text(&info.object);
    let modified = Value::parse(modified.trim()).unwrap_or_default();
    let original = live.at("metadata/annotations").key(super::apply::LAST_APPLIED).as_str().unwrap_or("");
    let original = Value::parse(original.trim()).unwrap_or_default();
    let schema = merge::schema_of(&m.api_version(), &m.kind);
    let patch = merge::three_way(&original, &modified, live, schema).map_err(Error::Text)?.to_json();
    if patch == "{}" {
        return Ok(live.clone());
    }
    let kind = if schema.is_some() { PatchType::Strategic } else { PatchType::Merge };
    k.patch(m, ns, name, "", kind, patch.as_bytes(), &w).await
}

/// Secret data is told apart, not shown.
fn mask(a: &mut Value, b: &mut Value) {
    let keys: Vec<String> = a.map("data").chain(b.map("data")).map(|(k, _)| k.to_string()).collect();
    for key in keys {
        let (x, y) = (a.at("data").key(&key).clone(), b.at("data").key(&key).clone());
        let (left, right) =
            if x == y || x.is_null() || y.is_null() { ("***", "***") } else { ("*** (before)", "*** (after)") };
        if !x.is_null() {
            a.set_key("data", &key, left);
        }
        if !y.is_null() {
            b.set_key("data", &key, right);
        }
    }
}

/// Lines around a change.
const CONTEXT: usize = 3;
/// More lines than this are shown as replaced whole.
const MAX_LINES: usize = 4000;

/// `diff -u` of two texts, without its head.
pub fn unified(a: &str, b: &str) -> String {
    let a: Vec<&str> = a.split_inclusive('\n').collect();
    let b: Vec<&str> = b.split_inclusive('\n').collect();
    // ops: (kind, line); kind ' ', '-', '+'
    let mut ops: Vec<(char, &str)> = Vec::new();
    let head = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let tail = a.iter().skip(head).rev().zip(b.iter().skip(head).rev()).take_while(|(x, y)| x == y).count();
    let (am, bm) = (a.get(head..a.len() - tail).unwrap_or(&[]), b.get(head..b.len() - tail).unwrap_or(&[]));
    ops.extend(a.iter().take(head).map(|l| (' ', *l)));
    if am.len() > MAX_LINES || bm.len() > MAX_LINES {
        ops.extend(am.iter().map(|l| ('-', *l)));
        ops.extend(bm.iter().map(|l| ('+', *l)));
    } else {
        // Longest common subsequence, from the end.
        let width = bm.len() + 1;
        let mut best = vec![0u32; (am.len() + 1) * width];
        let at = |best: &[u32], i: usize, j: usize| best.get(i * width + j).copied().unwrap_or(0);
        for (i, x) in am.iter().enumerate().rev() {
            for (j, y) in bm.iter().enumerate().rev() {
                let v = if x == y { at(&best, i + 1, j + 1) + 1 } else { at(&best, i + 1, j).max(at(&best, i, j + 1)) };
                if let Some(slot) = best.get_mut(i * width + j) {
                    *slot = v;
                }
            }
        }
        let (mut i, mut j) = (0, 0);
        loop {
            match (am.get(i), bm.get(j)) {
                (Some(x), Some(y)) if x == y => {
                    ops.push((' ', x));
                    i += 1;
                    j += 1;
                }
                (Some(x), y) if y.is_none() || at(&best, i + 1, j) >= at(&best, i, j + 1) => {
                    ops.push(('-', x));
                    i += 1;
                }
                (_, Some(y)) => {
                    ops.push(('+', y));
                    j += 1;
                }
                _ => break,
            }
        }
    }
    ops.extend(a.iter().skip(a.len() - tail).map(|l| (' ', *l)));
    hunks(&ops)
}

fn hunks(ops: &[(char, &str)]) -> String {
    let mut out = String::new();
    let mut i = 0;
    let (mut line_a, mut line_b) = (1usize, 1usize);
    let mut positions = Vec::with_capacity(ops.len());
    for (kind, _) in ops {
        positions.push((line_a, line_b));
        line_a += usize::from(*kind != '+');
        line_b += usize::from(*kind != '-');
    }
    while i < ops.len() {
        let Some(first) = ops.iter().skip(i).position(|o| o.0 != ' ').map(|p| p + i) else { break };
        let start = first.saturating_sub(CONTEXT).max(i);
        let mut end = first;
        let mut quiet = 0;
        for (j, op) in ops.iter().enumerate().skip(first) {
            if op.0 == ' ' {
                quiet += 1;
                if quiet > 2 * CONTEXT {
                    break;
                }
            } else {
                quiet = 0;
                end = j + 1;
            }
        }
        let end = (end + CONTEXT).min(ops.len());
        let slice = ops.get(start..end).unwrap_or(&[]);
        let count = |skip: char| slice.iter().filter(|o| o.0 != skip).count();
        let (na, nb) = (count('+'), count('-'));
        let (la, lb) = positions.get(start).copied().unwrap_or((1, 1));
        let range = |line: usize, n: usize| match n {
            1 => line.to_string(),
            0 => format!("{},0", line - 1),
            n => format!("{line},{n}"),
        };
        out.push_str(&format!("@@ -{} +{} @@\n", range(la, na), range(lb, nb)));
        for (kind, line) in slice {
            out.push(*kind);
            out.push_str(line);
            if !line.ends_with('\n') {
                out.push_str("\n\\ No newline at end of file\n");
            }
        }
        i = end;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unified_diff() {
        let a = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let b = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
        assert_eq!(unified(a, b), "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
        assert_eq!(unified("", "x\n"), "@@ -0,0 +1 @@\n+x\n");
        assert_eq!(unified("a\n", "a\n"), "");
    }
}
