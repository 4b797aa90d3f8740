//! What `-f PATH` means: a file, the manifests of a directory, or those that a pattern matches.

use crate::io::FileError;
use crate::session::Kubectl;

/// What the names of a directory's manifests end in; other files are passed over.
const FILE_EXTENSIONS: [&str; 3] = [".json", ".yaml", ".yml"];

/// The files that a path means; None when it is not there.
pub(crate) fn expand(k: &Kubectl<'_>, path: &str, recursive: bool) -> Option<Vec<String>> {
    match k.io.list_dir(path) {
        Err(FileError::NOT_DIRECTORY) => Some(vec![path.to_string()]),
        Err(_) => glob(k, path),
        Ok(_) => {
            let mut out = Vec::new();
            walk(k, path, recursive, &mut out, 0);
            Some(out)
        }
    }
}

/// Directories deeper than this are not followed.
const MAX_DEPTH: usize = 32;

fn walk(k: &Kubectl<'_>, dir: &str, recursive: bool, out: &mut Vec<String>, depth: usize) {
    let Ok(entries) = k.io.list_dir(dir) else { return };
    for (name, is_dir) in entries {
        let path = if dir.ends_with('/') {
            format!("{dir}{name}")
        } else if dir == "." {
            name.clone()
        } else {
            format!("{}/{name}", dir.strip_prefix("./").unwrap_or(dir))
        };
        if is_dir {
            if recursive && depth < MAX_DEPTH {
                walk(k, &path, recursive, out, depth + 1);
            }
        } else if FILE_EXTENSIONS.iter().any(|e| name.ends_with(e)) {
            out.push(path);
        }
    }
}

/// `*` and `?` in the last part of a path.
fn glob(k: &Kubectl<'_>, pattern: &str) -> Option<Vec<String>> {
    if !pattern.contains(['*', '?']) {
        return None;
    }
    let (dir, last) = pattern.rsplit_once('/').unwrap_or((".", pattern));
    let found: Vec<String> =
        k.io.list_dir(dir)
            .ok()?
            .into_iter()
            .filter(|(n, is_dir)| !is_dir && wild(last.as_bytes(), n.as_bytes()))
            .map(|(n, _)| if pattern.contains('/') { format!("{dir}/{n}") } else { n })
            .collect();
    (!found.is_empty()).then_some(found)
}

fn wild(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some((b'*', p)), _) => wild(p, text) || text.split_first().is_some_and(|(_, t)| wild(pattern, t)),
        (Some((b'?', p)), Some((_, t))) => wild(p, t),
        (Some((a, p)), Some((b, t))) if a == b => wild(p, t),
        _ => false,
    }
}
