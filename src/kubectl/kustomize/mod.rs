//! Kustomize: a directory's kustomization.yaml made into objects, for `kubectl kustomize` and `-k`.
//!
//! Follows sigs.k8s.io/kustomize v5's order of work: resources, generators, patches, namespace, names, labels,
//! annotations, replicas, images; then references and hashes.

mod generate;
mod names;
mod patches;
mod transform;

pub use generate::hash;

use crate::io::FileError;
use crate::manifest;
use crate::print::human::quote;
use crate::session::Kubectl;
use crate::value::Value;
use api::SortSmall;

/// An object on its way.
#[derive(Clone, Debug)]
pub struct Res {
    /// The object as it is so far.
    pub object: Value,
    /// Its name before anything was done to it.
    pub first_name: String,
    /// Its name gets a hash of its content in the end.
    pub hashed: bool,
}

impl Res {
    fn new(object: Value) -> Res {
        Res { first_name: object.str("metadata/name").to_string(), object, hashed: false }
    }

    fn kind(&self) -> &str {
        self.object.str("kind")
    }

    fn name(&self) -> &str {
        self.object.str("metadata/name")
    }

    /// `Deployment.v1.apps/web.[noNs]`
    fn id(&self) -> String {
        let (group, version) = crate::mapping::split_version(self.object.str("apiVersion"));
        let or = |s: &str, none: &str| if s.is_empty() { none.to_string() } else { s.to_string() };
        format!(
            "{}.{}.{}/{}.{}",
            self.kind(),
            or(version, "[noVer]"),
            or(group, "[noGrp]"),
            self.name(),
            or(self.object.str("metadata/namespace"), "[noNs]")
        )
    }
}

/// The names of the file, in the order in which they are looked for.
const FILES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Directories that lead to each other deeper than this are refused.
const MAX_DEPTH: usize = 32;

/// What a kustomization may say; true for what is followed here.
const FIELDS: &[(&str, bool)] = &[
    ("apiVersion", true),
    ("kind", true),
    ("metadata", true),
    ("resources", true),
    ("bases", true),
    ("components", true),
    ("namespace", true),
    ("namePrefix", true),
    ("nameSuffix", true),
    ("commonLabels", true),
    ("labels", true),
    ("commonAnnotations", true),
    ("patches", true),
    ("patchesStrategicMerge", true),
    ("patchesJson6902", true),
    ("images", true),
    ("replicas", true),
    ("configMapGenerator", true),
    ("secretGenerator", true),
    ("generatorOptions", true),
    ("sortOptions", true),
    ("buildMetadata", false),
    ("configurations", false),
    ("crds", true),
    ("generators", false),
    ("helmCharts", false),
    ("helmChartInflationGenerator", false),
    ("helmGlobals", false),
    ("imageTags", false),
    ("inventory", false),
    ("openapi", true),
    ("replacements", false),
    ("transformers", false),
    ("validators", false),
    ("vars", false),
];

/// Older fields and what took their place.
const DEPRECATED: [(&str, &str); 4] = [
    ("commonLabels", "labels"),
    ("bases", "resources"),
    ("patchesJson6902", "patches"),
    ("patchesStrategicMerge", "patches"),
];

/// The objects of a directory; the error is kustomize's.
pub fn build(k: &Kubectl<'_>, directory: &str) -> Result<Vec<Value>, String> {
    let absolute = k.io.absolute(directory);
    match k.io.list_dir(directory) {
        Ok(_) => {}
        Err(FileError::NOT_DIRECTORY) => {
            return Err(format!("must build at directory: '{directory}': file is not directory"));
        }
        Err(_) if directory.starts_with("http://") || directory.starts_with("https://") => {
            return Err(format!("no network outside the cluster: {directory}"));
        }
        Err(e) => {
            return Err(format!(
                "must build at directory: not a valid directory: evalsymlink failure on '{directory}' : lstat {absolute}: {e}"
            ));
        }
    }
    let (mut resources, fifo) = load(k, &absolute, 0)?;
    generate::add_hashes(&mut resources);
    if !fifo {
        resources.sort_small_by(|a, b| order(a).cmp(&order(b)));
    }
    Ok(resources.into_iter().map(|r| r.object).collect())
}

/// The objects as a YAML stream.
pub fn print(objects: &[Value]) -> String {
    objects.iter().map(crate::print::object::yaml).collect::<Vec<_>>().join("---\n")
}

/// Kinds that come first, in this order.
const FIRST: [&str; 22] = [
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];
/// Kinds that come last.
const LAST: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

fn order(r: &Res) -> (usize, String) {
    let place = match (FIRST.iter().position(|k| *k == r.kind()), LAST.iter().position(|k| *k == r.kind())) {
        (Some(at), _) => at,
        (_, Some(at)) => FIRST.len() + 1 + at,
        _ => FIRST.len(),
    };
    let (group, version) = crate::mapping::split_version(r.object.str("apiVersion"));
    let id = format!("{group}_{version}_{} {} {}", r.kind(), r.object.str("metadata/namespace"), r.name());
    (place, id)
}

/// Reads one directory's kustomization and does what it says. The flag says that the order is to be kept.
fn load(k: &Kubectl<'_>, directory: &str, depth: usize) -> Result<(Vec<Res>, bool), String> {
    if depth > MAX_DEPTH {
        return Err(format!("cycle detected: candidate root '{directory}' contains visited root"));
    }
    let found: Vec<Vec<u8>> = FILES.iter().filter_map(|f| k.io.read_file(&join(directory, f)).ok()).collect();
    let bytes = match found.as_slice() {
        [] => {
            return Err(format!(
                "unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory '{directory}'"
            ));
        }
        [one] => one,
        _ => return Err(format!("Found multiple kustomization files: {directory}")),
    };
    let text = String::from_utf8_lossy(bytes);
    if text.trim().is_empty() {
        return Err("kustomization.yaml is empty".into());
    }
    let file = manifest::yaml(&text).map_err(|e| format!("invalid Kustomization: {e}"))?;
    for (key, _) in file.map_entries() {
        match FIELDS.iter().find(|f| f.0 == key) {
            None => return Err(format!("invalid Kustomization: json: unknown field {}", quote(key))),
            Some((_, false)) => return Err(format!("the field {} is not followed here", quote(key))),
            _ => {}
        }
    }
    for (old, new) in DEPRECATED {
        if file.has(old) {
            k.err(&format!(
                "# Warning: '{old}' is deprecated. Please use '{new}' instead. Run 'kustomize edit fix' to update your Kustomization automatically.\n"
            ));
        }
    }
    let mut resources = Vec::new();
    for path in file.list("resources").iter().chain(file.list("bases")).filter_map(Value::as_str) {
        add(k, directory, path, depth, &mut resources).map_err(|e| format!("accumulating resources: {e}"))?;
    }
    for path in file.list("components").iter().filter_map(Value::as_str) {
        let inner = join(directory, path);
        component(k, &inner, depth, &mut resources).map_err(|e| format!("accumulating components: {e}"))?;
    }
    let fifo = file.str("sortOptions/order") == "fifo";
    apply(k, directory, &file, resources).map(|r| (r, fifo))
}

/// A component: a kustomization done to what is there already.
fn component(k: &Kubectl<'_>, directory: &str, depth: usize, into: &mut Vec<Res>) -> Result<(), String> {
    let bytes = FILES.iter().find_map(|f| k.io.read_file(&join(directory, f)).ok());
    let Some(bytes) = bytes else {
        return Err(format!(
            "unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory '{directory}'"
        ));
    };
    let file = manifest::yaml(&String::from_utf8_lossy(&bytes)).map_err(|e| format!("invalid Kustomization: {e}"))?;
    for path in file.list("resources").iter().filter_map(Value::as_str) {
        add(k, directory, path, depth + 1, into)?;
    }
    *into = apply(k, directory, &file, std::mem::take(into))?;
    Ok(())
}

/// What a kustomization does to resources.
fn apply(k: &Kubectl<'_>, directory: &str, file: &Value, mut resources: Vec<Res>) -> Result<Vec<Res>, String> {
    let before: Vec<String> = resources.iter().map(|r| r.name().to_string()).collect();
    generate::run(k, directory, file, &mut resources)?;
    let mut names = before;
    names.extend(resources.iter().skip(names.len()).map(|r| r.name().to_string()));
    patches::run(k, directory, file, &mut resources, &mut names)?;
    transform::run(file, &mut resources)?;
    names::settle(&mut resources, &names);
    Ok(resources)
}

/// Adds a file's objects, or a directory's.
fn add(k: &Kubectl<'_>, directory: &str, path: &str, depth: usize, into: &mut Vec<Res>) -> Result<(), String> {
    let full = join(directory, path);
    let outer = |inner: String, second: String| format!("accumulation err='{inner}': {second}");
    let found = match k.io.list_dir(&full) {
        Ok(_) => {
            let (inner, _) = load(k, &full, depth + 1).map_err(|e| {
                outer(
                    format!("accumulating resources from '{path}': '{full}' must resolve to a file"),
                    format!("recursed accumulation of path '{full}': {e}"),
                )
            })?;
            inner
        }
        Err(FileError::NOT_DIRECTORY) => read(k, &full, path).map_err(|e| {
            outer(
                format!("accumulating resources from '{path}': {e}"),
                format!("must build at directory: '{full}': file is not directory"),
            )
        })?,
        Err(e) => {
            let missing = format!("evalsymlink failure on '{full}' : lstat {full}: {e}");
            return Err(outer(
                format!("accumulating resources from '{path}': {missing}"),
                format!("must build at directory: not a valid directory: {missing}"),
            ));
        }
    };
    for r in found {
        if into.iter().any(|have| have.id() == r.id()) {
            return Err(outer(
                format!(
                    "merging resources from '{path}': may not add resource with an already registered id: {}",
                    r.id()
                ),
                format!("must build at directory: '{full}': file is not directory"),
            ));
        }
        into.push(r);
    }
    Ok(())
}

/// The objects of a file.
fn read(k: &Kubectl<'_>, full: &str, path: &str) -> Result<Vec<Res>, String> {
    let bytes = k.io.read_file(full).map_err(|e| format!("open {full}: {e}"))?;
    let mut out = Vec::new();
    for document in manifest::documents(&bytes) {
        let object = document.map_err(|e| format!("MalformedYAMLError: {e} in File: {path}"))?;
        if object.is_null() {
            continue;
        }
        let items = match object.at("items") {
            Value::Array(items) if object.str("kind").ends_with("List") => items.clone(),
            _ => vec![object],
        };
        for item in items {
            if item.str("kind").is_empty() {
                return Err(format!("missing Resource metadata in File: {path}"));
            }
            if item.str("metadata/name").is_empty() {
                return Err("missing metadata.name in object".to_string());
            }
            out.push(Res::new(item));
        }
    }
    Ok(out)
}

/// A path within a directory, without `.` and `..`.
fn join(directory: &str, path: &str) -> String {
    let whole = if path.starts_with('/') { path.to_string() } else { format!("{directory}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|p| *p != "..") => {
                parts.pop();
            }
            p => parts.push(p),
        }
    }
    let root = if whole.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}
