//! `kubectl plugin list`: programs whose names begin with `kubectl-` in the directories of PATH.

use crate::error::Error;
use crate::session::Kubectl;

/// The command.
pub async fn list(k: &Kubectl<'_>) -> Result<(), Error> {
    let path = k.io.env("PATH").unwrap_or_default();
    let mut found = Vec::new();
    for dir in path.split(':').filter(|d| !d.is_empty()) {
        for (name, is_dir) in k.io.list_dir(dir).unwrap_or_default() {
            if !is_dir && name.starts_with("kubectl-") {
                found.push(if k.flags.bool("name-only") { name } else { format!("{dir}/{name}") });
            }
        }
    }
    if found.is_empty() {
        return Err(Error::text("unable to find any kubectl plugins in your PATH"));
    }
    k.out("The following compatible plugins are available:\n\n");
    found.iter().for_each(|f| k.out(&format!("{f}\n")));
    Ok(())
}
