//! `kubectl kustomize`.

use crate::error::Error;
use crate::session::Kubectl;

/// Prints the objects that a directory's kustomization makes.
pub async fn kustomize(k: &Kubectl<'_>) -> Result<(), Error> {
    let directory = match k.args() {
        [] => ".",
        [one] => one.as_str(),
        _ => return Err(Error::text("specify one path to kustomization.yaml")),
    };
    let text = crate::kustomize::print(&crate::kustomize::build(k, directory).map_err(Error::Text)?);
    match k.flags.str("output") {
        "" => k.out(&text),
        path => k.io.write_file(path, text.as_bytes()).map_err(|e| Error::text(format!("open {path}: {e}")))?,
    }
    Ok(())
}
