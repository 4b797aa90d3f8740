//! Image references, as containerd and the kubelet read them (distribution/reference).

use std::fmt;

/// A reference in full: `nginx` is `docker.io/library/nginx:latest`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Reference {
    /// Registry host, with a port if it has one: `docker.io`.
    pub host: String,
    /// Repository path: `library/nginx`.
    pub path: String,
    /// Tag; `latest` when the reference had neither tag nor digest.
    pub tag: String,
    /// `sha256:...` when the reference names one.
    pub digest: Option<String>,
}

/// Why a text is no reference; its `Display` is Go's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReferenceError {
    /// Not of the form.
    Format,
    /// The repository of that name has capital letters.
    Uppercase(String),
    /// The repository's name is over 255 characters.
    TooLong,
}

impl fmt::Display for ReferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format => f.write_str("invalid reference format"),
            Self::Uppercase(name) => write!(f, "invalid reference format: repository name ({name}) must be lowercase"),
            Self::TooLong => f.write_str("repository name must not be more than 255 characters"),
        }
    }
}

impl Reference {
    /// Reads a reference and fills in host, `library/` and tag as Docker does.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) if is_digest(digest) => (rest, Some(digest.to_string())),
            Some(_) => return Err(ReferenceError::Format),
            None => (text, None),
        };
        // A host is what stands before the first slash, if it has a dot, a port, capitals or is localhost.
        let (host, remainder) = match rest.split_once('/') {
            Some((first, after))
                if first.contains(['.', ':'])
                    || first == "localhost"
                    || first.chars().any(|c| c.is_ascii_uppercase()) =>
            {
                (first, after)
            }
            _ => ("docker.io", rest),
        };
        let (path, tag) = match remainder.rsplit_once(':') {
            Some((path, tag)) if !tag.contains('/') => (path, Some(tag)),
            _ => (remainder, None),
        };
        if !is_host(host) || tag.is_some_and(|t| !is_tag(t)) {
            return Err(ReferenceError::Format);
        }
        if path.chars().any(|c| c.is_ascii_uppercase()) && path.to_ascii_lowercase().split('/').all(is_path_component) {
            let of_hub =
                if host == "docker.io" && !path.contains('/') { format!("library/{path}") } else { path.to_string() };
            return Err(ReferenceError::Uppercase(of_hub));
        }
        if path.is_empty() || !path.split('/').all(is_path_component) {
            return Err(ReferenceError::Format);
        }
        let (host, path) = match host {
            "index.docker.io" | "docker.io" => {
                ("docker.io", if path.contains('/') { path.to_string() } else { format!("library/{path}") })
            }
            _ => (host, path.to_string()),
        };
        if host.len() + path.len() + 1 > 255 {
            return Err(ReferenceError::TooLong);
        }
        Ok(Self { host: host.to_string(), path, tag: tag.unwrap_or("latest").to_string(), digest })
    }

    /// `docker.io/library/nginx`.
    pub fn repository(&self) -> String {
        format!("{}/{}", self.host, self.path)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.digest {
            Some(digest) => write!(f, "{}/{}@{digest}", self.host, self.path),
            None => write!(f, "{}/{}:{}", self.host, self.path, self.tag),
        }
    }
}

fn is_digest(text: &str) -> bool {
    match text.split_once(':') {
        Some(("sha256", hex)) => {
            hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        }
        _ => false,
    }
}

fn is_tag(text: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    !text.is_empty()
        && text.len() <= 128
        && text.bytes().next().is_some_and(word)
        && text.bytes().all(|b| word(b) || b == b'.' || b == b'-')
}

fn is_host(text: &str) -> bool {
    let (name, port) = match text.split_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (text, None),
    };
    let label = |l: &str| {
        !l.is_empty()
            && l.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !l.starts_with('-')
            && !l.ends_with('-')
    };
    name.split('.').all(label) && port.is_none_or(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()))
}

/// Lower case letters and digits, joined by one dot, one or two underscores, or any number of dashes.
fn is_path_component(text: &str) -> bool {
    let bytes = text.as_bytes();
    let alnum = |b: &u8| b.is_ascii_digit() || b.is_ascii_lowercase();
    if !bytes.first().is_some_and(alnum) || !bytes.last().is_some_and(alnum) {
        return false;
    }
    let mut separator = String::new();
    for &b in bytes {
        if alnum(&b) {
            if !matches!(separator.as_str(), "" | "." | "_" | "__") && !separator.bytes().all(|s| s == b'-') {
                return false;
            }
            separator.clear();
        } else if matches!(b, b'.' | b'_' | b'-') {
            separator.push(b as char);
        } else {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_normalised() {
        let of = |t: &str| Reference::parse(t).map(|r| r.to_string()).map_err(|e| e.to_string());
        let rows = [
            ("nginx", "docker.io/library/nginx:latest"),
            ("nginx:1.27", "docker.io/library/nginx:1.27"),
            ("bitnami/redis:7.2-debian", "docker.io/bitnami/redis:7.2-debian"),
            ("docker.io/nginx", "docker.io/library/nginx:latest"),
            ("registry.k8s.io/pause:3.10", "registry.k8s.io/pause:3.10"),
            ("localhost:5000/app", "localhost:5000/app:latest"),
        ];
        for (text, full) in rows {
            assert_eq!(of(text).as_deref(), Ok(full), "{text}");
        }
        let long = format!("a@sha256:{}", "0".repeat(64));
        assert_eq!(of(&long), Ok(format!("docker.io/library/a@sha256:{}", "0".repeat(64))));
        for text in ["", "Not A Valid Image", ":x", "a//b", "a:", "-a", "a@sha256:1", "a..b", "x/y:z:w"] {
            assert_eq!(of(text), Err("invalid reference format".to_string()), "{text}");
        }
        assert_eq!(
            of("Not/Valid"),
            Err("invalid reference format: repository name (Valid) must be lowercase".to_string())
        );
        assert_eq!(
            of("NGINX"),
            Err("invalid reference format: repository name (library/NGINX) must be lowercase".to_string())
        );
    }
}
