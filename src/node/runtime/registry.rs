//! The registries outside: what they offer, what they refuse in which words, and how long a download takes.
//!
//! A name is looked up in [`REPOSITORIES`]; a name that is not there is refused as the real registry refuses an unknown
//! one: Docker Hub with `pull access denied`, registry.k8s.io with `not found`, any other host by DNS.

use super::cri::CriError;
use super::images::{REPOSITORIES, Repository, Tag};
use super::reference::Reference;
use sim::Duration;

/// Hosts that answer; all others don't resolve.
const HOSTS: &[&str] = &["docker.io", "registry.k8s.io"];

/// How the registries are reached.
#[derive(Clone, Debug)]
pub struct Registry {
    /// For the token, the manifest and the unpacking of each pull. In the recorded clusters a pull of 1.4 MB took
    /// between 65 and 200 ms.
    pub latency: Duration,
    /// Bytes a second of a node's downloads.
    pub bandwidth: u64,
    /// The name server that is asked for hosts, as its error names it.
    pub resolver: String,
}

impl Default for Registry {
    fn default() -> Self {
        Self { latency: Duration::from_millis(140), bandwidth: 60_000_000, resolver: "172.18.0.1:53".to_string() }
    }
}

/// An image that a registry has.
#[derive(Clone, Copy)]
pub struct Found {
    /// Its repository.
    pub repository: &'static Repository,
    /// Its tag.
    pub tag: &'static Tag,
}

impl Registry {
    /// Looks an image up. The error is containerd's for a pull.
    pub fn resolve(&self, reference: &Reference) -> Result<Found, CriError> {
        let failed = |code, why: String| {
            CriError::new(
                code,
                format!("failed to pull and unpack image \"{reference}\": failed to resolve image: {why}"),
            )
        };
        if !HOSTS.contains(&reference.host.as_str()) {
            let (host, target) = (
                reference.host.split(':').next().unwrap_or_default(),
                reference.digest.as_ref().unwrap_or(&reference.tag),
            );
            return Err(failed(
                "Unknown",
                format!(
                    "failed to do request: Head \"https://{}/v2/{}/manifests/{target}\": dial tcp: lookup {host} on {}: no such host",
                    reference.host, reference.path, self.resolver
                ),
            ));
        }
        let Some(repository) = REPOSITORIES.iter().find(|r| r.host == reference.host && r.path == reference.path)
        else {
            if reference.host == "docker.io" {
                return Err(failed(
                    "Unknown",
                    "pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed".to_string(),
                ));
            }
            return Err(failed("NotFound", format!("{reference}: not found")));
        };
        let tag = match &reference.digest {
            Some(wanted) => repository.tags.iter().find(|t| digest(repository, t) == *wanted),
            None => repository.tags.iter().find(|t| t.name == reference.tag),
        };
        match tag {
            Some(tag) => Ok(Found { repository, tag }),
            None => Err(failed("NotFound", format!("{reference}: not found"))),
        }
    }

    /// How long the download of `size` bytes takes.
    pub fn transfer(&self, size: u64) -> Duration {
        let micros = size.saturating_mul(1_000_000).checked_div(self.bandwidth).unwrap_or(0);
        self.latency + Duration::from_micros(micros)
    }
}

/// `sha256:...` of an image's manifest: the recorded one, or one made from repository and version.
pub fn digest(repository: &Repository, tag: &Tag) -> String {
    if !tag.digest.is_empty() {
        return format!("sha256:{}", tag.digest);
    }
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for byte in repository.path.bytes().chain(*b"@").chain(tag.version.bytes()).chain(tag.size.to_le_bytes()) {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let mut hex = String::from("sha256:");
    for _ in 0..4 {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hex.push_str(&format!("{:016x}", z ^ (z >> 31)));
    }
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_registries_refuse() {
        let registry = Registry::default();
        let of = |text: &str| {
            registry.resolve(&Reference::parse(text).unwrap()).map(|f| f.tag.version).map_err(|e| e.to_string())
        };
        assert_eq!(of("nginx:1.27"), Ok("1.27.0"));
        assert_eq!(of("registry.k8s.io/pause:3.10"), Ok("3.10"));
        assert_eq!(
            of("nginx:nope"),
            Err("rpc error: code = NotFound desc = failed to pull and unpack image \"docker.io/library/nginx:nope\": failed to resolve image: docker.io/library/nginx:nope: not found".into())
        );
        assert!(of("nosuch/image").is_err_and(|e| e.contains("pull access denied")));
        assert!(
            of("nowhere.example/x:1")
                .is_err_and(|e| e.ends_with("dial tcp: lookup nowhere.example on 172.18.0.1:53: no such host"))
        );
        let nginx = registry.resolve(&Reference::parse("nginx").unwrap()).unwrap();
        let by_digest = format!("nginx@{}", digest(nginx.repository, nginx.tag));
        assert_eq!(of(&by_digest), Ok("1.28.0"));
    }

    #[test]
    fn every_repository_has_distinct_tags_and_a_program() {
        for repository in REPOSITORIES {
            let mut names: Vec<_> = repository.tags.iter().map(|t| t.name).collect();
            names.dedup();
            assert_eq!(names.len(), repository.tags.len(), "{}", repository.path);
            let first = repository.entrypoint.first().or(repository.cmd.first()).copied().unwrap();
            assert!(
                repository.shell || repository.programs.iter().any(|(name, _)| *name == first),
                "{}",
                repository.path
            );
        }
    }
}
