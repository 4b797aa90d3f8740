//! `kubectl cp`: files to and from containers. kubectl's own sends them through `tar`; here they go one by one through
//! the container's shell, which every image that has a shell can do.

use super::exec::capture;
use crate::error::Error;
use crate::io::FileError;
use crate::print::human::quote;
use crate::session::Kubectl;

/// Directories that lie deeper than this are left out.
const MAX_DEPTH: usize = 32;

/// One side of a copy.
struct Place {
    namespace: String,
    pod: String,
    path: String,
}

fn place(k: &Kubectl<'_>, text: &str) -> Result<Place, Error> {
    let Some((pod, path)) = text.split_once(':') else {
        return Ok(Place { namespace: String::new(), pod: String::new(), path: text.to_string() });
    };
    if pod.is_empty() || path.is_empty() {
        return Err(Error::text("filespec must match the canonical format: [[namespace/]pod:]file/path"));
    }
    let parts: Vec<&str> = pod.split('/').collect();
    match parts.as_slice() {
        [pod] => Ok(Place { namespace: k.namespace(), pod: pod.to_string(), path: path.to_string() }),
        [ns, pod] => Ok(Place { namespace: ns.to_string(), pod: pod.to_string(), path: path.to_string() }),
        _ => Err(Error::text("filespec must match the canonical format: [[namespace/]pod:]file/path")),
    }
}

/// The command.
pub async fn cp(k: &Kubectl<'_>) -> Result<(), Error> {
    let [from, to] = k.args() else {
        return Err(Error::text("source and destination are required"));
    };
    let (from, to) = (place(k, from)?, place(k, to)?);
    match (from.pod.is_empty(), to.pod.is_empty()) {
        (false, false) => Err(Error::text("one of src or dest must be a local file specification")),
        (true, true) => Err(Error::text("one of src or dest must be a remote file specification")),
        _ if from.path.is_empty() || to.path.is_empty() => Err(Error::text("filepath can not be empty")),
        (true, false) => upload(k, &from.path, &to).await,
        (false, true) => download(k, &from, &to.path).await,
    }
}

/// The container that is meant.
async fn container(k: &Kubectl<'_>, at: &Place) -> Result<String, Error> {
    let pods = k.known("", "pods")?;
    let pod = k.get(&pods, &at.namespace, &at.pod, "").await?;
    let given = k.flags.str("container");
    if !given.is_empty() {
        return Ok(given.to_string());
    }
    let annotated = pod.at("metadata/annotations").key("kubectl.kubernetes.io/default-container");
    if let Some(name) = annotated.as_str() {
        return Ok(name.to_string());
    }
    let name = pod.str("spec/containers/0/name").to_string();
    if pod.list("spec/containers").len() > 1 || !pod.list("spec/initContainers").is_empty() {
        k.err(&format!("Defaulted container {} out of: {}\n", quote(&name), super::logs::container_names(&pod)));
    }
    Ok(name)
}

fn base(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

async fn upload(k: &Kubectl<'_>, from: &str, to: &Place) -> Result<(), Error> {
    let is_dir = match k.io.list_dir(from) {
        Ok(_) => true,
        Err(FileError::NOT_DIRECTORY) => false,
        Err(_) if k.io.read_file(from).is_ok() => false,
        Err(_) => return Err(Error::text(format!("{from} doesn't exist in local filesystem"))),
    };
    let container = container(k, to).await?;
    // Into a directory that is there.
    let test = ["test", "-d", to.path.as_str()];
    let into = capture(k, &to.namespace, &to.pod, &container, &test, None).await?.2.is_ok();
    let target = if into { format!("{}/{}", to.path.trim_end_matches('/'), base(from)) } else { to.path.clone() };
    let mut waiting = vec![(from.to_string(), target, is_dir, 0)];
    while let Some((local, remote, is_dir, depth)) = waiting.pop() {
        let (command, bytes) = if is_dir {
            (["sh", "-c", "mkdir -p \"$0\"", remote.as_str()], None)
        } else {
            let bytes = k.io.read_file(&local).map_err(|e| Error::text(format!("open {local}: {e}")))?;
            (["sh", "-c", "cat > \"$0\"", remote.as_str()], Some(bytes))
        };
        let (_, err, ended) = capture(k, &to.namespace, &to.pod, &container, &command, bytes.as_deref()).await?;
        k.io.stderr(&err);
        ended?;
        if is_dir && depth < MAX_DEPTH {
            for (name, dir) in k.io.list_dir(&local).unwrap_or_default() {
                waiting.push((format!("{local}/{name}"), format!("{remote}/{name}"), dir, depth + 1));
            }
        }
    }
    Ok(())
}

async fn download(k: &Kubectl<'_>, from: &Place, to: &str) -> Result<(), Error> {
    let container = container(k, from).await?;
    if from.path.starts_with('/') {
        k.err("tar: removing leading '/' from member names\n");
    }
    let into = k.io.list_dir(to).is_ok();
    let target = if into { format!("{}/{}", to.trim_end_matches('/'), base(&from.path)) } else { to.to_string() };
    let mut waiting = vec![(from.path.clone(), target, 0)];
    while let Some((remote, local, depth)) = waiting.pop() {
        let list = ["sh", "-c", "test -d \"$0\" && ls -A \"$0\"", remote.as_str()];
        let (names, _, is_dir) = capture(k, &from.namespace, &from.pod, &container, &list, None).await?;
        if is_dir.is_ok() {
            if depth < MAX_DEPTH {
                for name in String::from_utf8_lossy(&names).lines() {
                    waiting.push((format!("{remote}/{name}"), format!("{local}/{name}"), depth + 1));
                }
            }
            continue;
        }
        let (bytes, _, ended) =
            capture(k, &from.namespace, &from.pod, &container, &["cat", remote.as_str()], None).await?;
        if ended.is_err() {
            k.err(&format!("tar: {remote}: No such file or directory\ntar: error exit delayed from previous errors\n"));
            return Err(Error::Exit(1, "command terminated with exit code 1".into()));
        }
        k.io.write_file(&local, &bytes).map_err(|e| Error::text(format!("open {local}: {e}")))?;
    }
    Ok(())
}
