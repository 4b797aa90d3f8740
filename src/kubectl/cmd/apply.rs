//! `kubectl apply`: client-side three-way merge, and server-side apply.

use super::{DryRun, manager, validation};
use crate::builder::{Builder, Info};
use crate::error::Error;
use crate::merge;
use crate::print::human::quote;
use crate::print::object::{Printer, for_write, omit_managed_fields};
use crate::server::{Delete, Write};
use crate::session::Kubectl;
use crate::value::Value;
use ::api::rest::PatchType;
use std::collections::BTreeSet;
use std::time::Duration;

/// The command.
pub async fn view_last_applied(k: &Kubectl<'_>) -> Result<(), Error> {
    let b = Builder::new(k).labels(k.flags.str("selector")).arguments(k, true, k.args());
    let (infos, failed) = b.run(k).await?.infos();
    failed?;
    let texts = infos
        .iter()
        .filter_map(|i| i.object.at("metadata/annotations").key(LAST_APPLIED).as_str())
        .map(|text| Value::parse(text).map_err(Error::text))
        .collect::<Result<Vec<_>, _>>()?;
    for v in texts {
        match k.flags.str("output") {
            "json" => k.out(&format!("{}\n", v.to_json_indent("  "))),
            "yaml" => k.out(&crate::print::object::yaml(&v)),
            other => {
                return Err(k.usage_error(&format!(
                    "Unexpected -o output mode: {other}, the flag 'output' must be one of yaml|json"
                )));
            }
        }
    }
    Ok(())
}

/// The annotation that holds what was applied last.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Tries of a patch that meets conflicts.
const MAX_RETRIES: usize = 5;

struct Apply<'a, 'b> {
    k: &'a Kubectl<'b>,
    dry_run: DryRun,
    write: Write,
    force: bool,
}

/// The command.
pub async fn apply(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    if !k.args().is_empty() {
        return Err(k.usage_error(&format!("Unexpected args: [{}]", k.args().join(" "))));
    }
    let server_side = f.bool("server-side");
    let dry_run = DryRun::of(k)?;
    super::delete::cascading(f)?;
    if f.list("filename").is_empty() && f.str("kustomize").is_empty() {
        return Err(Error::text("must specify one of -f and -k"));
    }
    let validation = validation(f)?;
    let force = f.bool("force");
    if f.bool("force-conflicts") && !server_side {
        return Err(Error::text("--force-conflicts only works with --server-side"));
    }
    if dry_run == DryRun::Client && server_side {
        return Err(Error::text(
            "--dry-run=client doesn't work with --server-side (did you mean --dry-run=server instead?)",
        ));
    }
    if server_side && force {
        return Err(Error::text("--force cannot be used with --server-side"));
    }
    if dry_run == DryRun::Server && force {
        return Err(Error::text("--dry-run=server cannot be used with --force"));
    }
    if f.bool("all") && !f.str("selector").is_empty() {
        return Err(Error::text("cannot set --all and --selector at the same time"));
    }
    if !f.str("subresource").is_empty() && !server_side {
        return Err(Error::text("--subresource can only be specified for --server-side"));
    }
    if f.bool("prune") && !f.bool("all") && f.str("selector").is_empty() {
        return Err(Error::text(
            "all resources selected for prune without explicitly passing --all. To prune all resources, pass the --all flag. If you did not mean to prune all resources, specify a label selector",
        ));
    }
    let prunes = f.bool("prune");
    let allowed = if prunes { super::prune::allowed(k)? } else { Vec::new() };
    let mut b = Builder::new(k).labels(f.str("selector"));
    b.validate = validation != ::api::rest::FieldValidation::Ignore;
    let visit = b.run(k).await?;
    let (infos, failed) = visit.infos();
    let mut errors: Vec<Error> = failed.err().into_iter().collect();
    if infos.is_empty() && errors.is_empty() {
        return Err(Error::text("no objects passed to apply"));
    }
    let default = if server_side { "kubectl" } else { "kubectl-client-side-apply" };
    let a = Apply {
        k,
        dry_run,
        write: Write {
            dry_run: dry_run == DryRun::Server,
            manager: manager(k, default),
            validation,
            force: f.bool("force-conflicts"),
        },
        force,
    };
    let prints_objects = prints_objects(k);
    let mut applied = Vec::new();
    let (mut namespaces, mut uids) = (BTreeSet::new(), BTreeSet::new());
    for mut info in infos {
        k.record(&mut info.object);
        let done = if server_side { a.server_side(info).await } else { a.client_side(info).await };
        match done {
            Ok((info, word)) => {
                if info.mapping.namespaced {
                    namespaces.insert(info.namespace.clone());
                }
                uids.insert(info.object.str("metadata/uid").to_string());
                if prints_objects {
                    applied.push(info.object);
                } else {
                    let mut printer = for_write(k, &dry_run.operation(word))?;
                    printer.show(k, &info.object)?;
                }
            }
            Err(e) => errors.push(e),
        }
    }
    let mut flat = Vec::new();
    for e in errors {
        match e {
            Error::Aggregate(list) => flat.extend(list),
            e => flat.push(e),
        }
    }
    Error::aggregate(flat)?;
    if prints_objects {
        print_all(k, applied, &dry_run.operation("unchanged"))?;
    }
    if prunes {
        super::prune::prune(k, allowed, &namespaces, &uids, dry_run).await?;
    }
    Ok(())
}

fn prints_objects(k: &Kubectl<'_>) -> bool {
    let output = k.flags.str("output");
    (!output.is_empty() && output != "name") || !k.flags.str("template").is_empty()
}

fn print_all(k: &Kubectl<'_>, mut objects: Vec<Value>, operation: &str) -> Result<(), Error> {
    let mut printer: Printer = for_write(k, operation)?;
    let mut object = if objects.len() == 1 {
        objects.remove(0)
    } else {
        let mut list = crate::builder::list_of(objects);
        list.remove_key("metadata", "resourceVersion");
        list
    };
    if !k.flags.bool("show-managed-fields") {
        omit_managed_fields(&mut object);
    }
    printer.show(k, &object)?;
    Ok(())
}

/// The object as `last-applied-configuration` holds it.
pub fn modified_text(object: &Value) -> String {
    let mut bare = object.clone();
    if !matches!(bare.at("metadata/annotations"), Value::Object(_)) {
        bare.set("metadata/annotations", Value::object());
    }
    bare.remove_key("metadata/annotations", LAST_APPLIED);
    format!("{}\n", bare.to_json())
}

/// The object with what it was applied from in its annotation.
pub fn annotated(object: &Value) -> Value {
    let text = modified_text(object);
    let mut out = object.clone();
    out.set_key("metadata/annotations", LAST_APPLIED, text);
    out
}

fn prune_nulls(v: &mut Value) {
    match v {
        Value::Object(m) => {
            m.retain(|_, v| !v.is_null());
            m.values_mut().for_each(prune_nulls);
        }
        Value::Array(a) => a.iter_mut().for_each(prune_nulls),
        _ => {}
    }
}

/// The error of a live object that could not be read.
pub fn retrieving(info: &Info, e: Error) -> Error {
    let verb = format!("retrieving current configuration of:\n{}\nfrom server for:", describe(info));
    e.with_source(&verb, &info.source)
}

fn describe(info: &Info) -> String {
    let m = &info.mapping;
    format!(
        "Resource: {}, GroupVersionKind: {}\nName: {}, Namespace: {}",
        quote(&m.gvr()),
        quote(&format!("{}/{}, Kind={}", m.group, m.version, m.kind)),
        quote(&info.name),
        quote(&info.namespace)
    )
}

impl Apply<'_, '_> {
    fn warn_deleting(&self, object: &Value) {
        if object.has("metadata/deletionTimestamp") {
            self.k.err(&format!(
                "Warning: Detected changes to resource {} which is currently being deleted.\n",
                object.str("metadata/name")
            ));
        }
    }

    fn named(&self, info: &Info) -> Result<(), Error> {
        let generated = info.object.str("metadata/generateName");
        if info.name.is_empty() && !generated.is_empty() {
            return Err(Error::text(format!("from {generated}: cannot use generate name with apply")));
        }
        Ok(())
    }

    async fn client_side(&self, mut info: Info) -> Result<(Info, &'static str), Error> {
        let k = self.k;
        self.named(&info)?;
        let given = info.object.clone();
        let modified = annotated(&given);
        let (m, ns, name) = (info.mapping.clone(), info.namespace.clone(), info.name.clone());
        let current = match k.get(&m, &ns, &name, "").await {
            Ok(o) => o,
            Err(e) if e.is_not_found() => {
                let mut fresh = modified;
                prune_nulls(&mut fresh);
                fresh.remove_key("metadata", "resourceVersion");
                if self.dry_run == DryRun::Client {
                    info.object = fresh;
                } else {
                    let made = k
                        .create(&m, &ns, &fresh, &self.write)
                        .await
                        .map_err(|e| e.with_source("creating", &info.source))?;
                    info.refresh(made);
                }
                return Ok((info, "created"));
            }
            Err(e) => return Err(retrieving(&info, e)),
        };
        if current.at("metadata/annotations").key(LAST_APPLIED).as_str().is_none_or(str::is_empty) {
            k.err(&format!(
                "Warning: resource {} is missing the {LAST_APPLIED} annotation which is required by kubectl apply. kubectl apply should only be used on resources created declaratively by either kubectl create --save-config or kubectl apply. The missing annotation will be patched automatically.\n",
                info.object_name()
            ));
        }
        let schema = merge::schema_of(&m.api_version(), &m.kind);
        let kind = if schema.is_some() { PatchType::Strategic } else { PatchType::Merge };
        let mut live = current;
        let mut tries = 0;
        let patched = loop {
            let original = live.at("metadata/annotations").key(LAST_APPLIED).as_str().unwrap_or("");
            let original = Value::parse(original.trim()).unwrap_or_default();
            let patch = merge::three_way(&original, &modified, &live, schema).map_err(|e| {
                Error::text(format!(
                    "creating patch with:\noriginal:\n{}\nmodified:\n{}\ncurrent:\n{}\nfor: {e}",
                    original.to_json(),
                    modified.to_json(),
                    live.to_json()
                ))
            })?;
            let text = patch.to_json();
            if text == "{}" {
                info.refresh(live);
                self.warn_deleting(&info.object);
                return Ok((info, "unchanged"));
            }
            if self.dry_run == DryRun::Client {
                let mut local = live.clone();
                apply_locally(&mut local, &modified);
                break local;
            }
            match k.patch(&m, &ns, &name, "", kind, text.as_bytes(), &self.write).await {
                Ok(o) => break o,
                Err(e) if e.reason() == "Conflict" && tries < MAX_RETRIES => {
                    tries += 1;
                    k.ctx.sleep(Duration::from_secs(1)).await;
                    live = k.get(&m, &ns, &name, "").await?;
                }
                Err(e) if self.force && matches!(e.reason(), "Conflict" | "Invalid") => {
                    break self.replace(&info, &modified).await?;
                }
                Err(e) => {
                    let verb = format!("applying patch:\n{text}\nto:\n{}\nfor:", describe(&info));
                    return Err(e.with_source("patching", &info.source).with_source(&verb, &info.source));
                }
            }
        };
        info.refresh(patched);
        self.warn_deleting(&info.object);
        Ok((info, "configured"))
    }

    /// `--force`: the object is deleted and made anew.
    async fn replace(&self, info: &Info, modified: &Value) -> Result<Value, Error> {
        let k = self.k;
        let (m, ns, name) = (&info.mapping, &info.namespace, &info.name);
        let grace = k.flags.int("grace-period");
        let options = Delete {
            grace_period: (grace >= 0).then_some(grace),
            propagation: Some(super::delete::cascading(&k.flags)?),
            dry_run: false,
        };
        k.delete(m, ns, name, &options).await?;
        while !k.get(m, ns, name, "").await.is_err_and(|e| e.is_not_found()) {
            k.ctx.sleep(Duration::from_secs(1)).await;
        }
        k.create(m, ns, modified, &self.write).await
    }

    async fn server_side(&self, mut info: Info) -> Result<(Info, &'static str), Error> {
        let k = self.k;
        self.named(&info)?;
        let (m, ns, name) = (info.mapping.clone(), info.namespace.clone(), info.name.clone());
        let sub = k.flags.str("subresource").to_string();
        let body = info.object.to_json();
        let send = |w: Write| {
            let (m, ns, name, sub, body) = (&m, &ns, &name, &sub, &body);
            async move { k.patch(m, ns, name, sub, PatchType::Apply, body.as_bytes(), &w).await }
        };
        let object = match send(self.write.clone()).await {
            Ok(o) => o,
            Err(e) if e.reason() == "Conflict" => {
                return Err(Error::text(format!(
                    "{}\nPlease review the fields above--they currently have other managers. Here\nare the ways you can resolve this warning:\n* If you intend to manage all of these fields, please re-run the apply\n  command with the `--force-conflicts` flag.\n* If you do not intend to manage all of the fields, please edit your\n  manifest to remove references to the fields that should keep their\n  current managers.\n* You may co-own fields by updating your manifest to match the existing\n  value; in this case, you'll become the manager if the other manager(s)\n  stop managing the field (remove it from their configuration).\nSee https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts",
                    e.message()
                )));
            }
            Err(e) => return Err(e),
        };
        info.refresh(object);
        if self.keep_last_applied(&mut info).await? && self.migrate(&mut info).await? {
            let object = send(self.write.clone()).await?;
            info.refresh(object);
        }
        self.warn_deleting(&info.object);
        Ok((info, "serverside-applied"))
    }

    /// Whether an entry of managed fields owns the last-applied annotation.
    fn owns_annotation(entry: &Value, operation: &str) -> bool {
        entry.str("operation") == operation
            && entry.at("fieldsV1").key("f:metadata").key("f:annotations").key(&format!("f:{LAST_APPLIED}"))
                != &Value::Null
    }

    /// Gives the last-applied annotation a manager of its own, so that it stays. False when there is none.
    async fn keep_last_applied(&self, info: &mut Info) -> Result<bool, Error> {
        let k = self.k;
        if self.write.manager != "kubectl" {
            return Ok(true);
        }
        let Some(text) = info.object.at("metadata/annotations").key(LAST_APPLIED).as_str() else {
            return Ok(true);
        };
        if info.object.list("metadata/managedFields").iter().any(|e| Self::owns_annotation(e, "Apply")) {
            return Ok(true);
        }
        let mut just = crate::value::object([
            ("apiVersion", info.object.at("apiVersion").clone()),
            ("kind", info.object.at("kind").clone()),
        ]);
        just.set("metadata/name", info.name.clone());
        if !info.namespace.is_empty() {
            just.set("metadata/namespace", info.namespace.clone());
        }
        just.set_key("metadata/annotations", LAST_APPLIED, text);
        let w = Write { manager: "kubectl-last-applied".into(), ..self.write.clone() };
        let body = just.to_json();
        match k.patch(&info.mapping, &info.namespace, &info.name, "", PatchType::Apply, body.as_bytes(), &w).await {
            Ok(o) => {
                info.refresh(o);
                Ok(true)
            }
            Err(e) => {
                k.err(&format!(
                    "Warning: failed to migrate {LAST_APPLIED} for Server-Side Apply. This is non-fatal and will be retried next time you apply. Error: {}\n",
                    e.message()
                ));
                Ok(false)
            }
        }
    }

    /// Joins what client-side apply managed into this manager's entry. True when something was changed.
    async fn migrate(&self, info: &mut Info) -> Result<bool, Error> {
        let k = self.k;
        let fields = info.object.list("metadata/managedFields");
        let client: Vec<String> = fields
            .iter()
            .filter(|e| Self::owns_annotation(e, "Update") && e.str("subresource").is_empty())
            .map(|e| e.str("manager").to_string())
            .collect();
        if client.is_empty() {
            return Ok(false);
        }
        let is_client = |e: &Value| e.str("operation") == "Update" && client.iter().any(|c| c == e.str("manager"));
        let mut joined = fields
            .iter()
            .find(|e| e.str("operation") == "Apply" && e.str("manager") == self.write.manager)
            .or_else(|| fields.iter().find(|e| is_client(e)))
            .cloned()
            .unwrap_or_default();
        for e in fields.iter().filter(|e| is_client(e)) {
            union(joined.slot("fieldsV1"), e.at("fieldsV1"));
        }
        if let Value::Object(meta) = joined.slot("fieldsV1/f:metadata/f:annotations") {
            meta.remove(&format!("f:{LAST_APPLIED}"));
        }
        joined.set("manager", self.write.manager.clone());
        joined.set("operation", "Apply");
        let mut entries: Vec<Value> = vec![joined];
        entries.extend(
            fields
                .iter()
                .filter(|e| !(is_client(e) || e.str("operation") == "Apply" && e.str("manager") == self.write.manager))
                .cloned(),
        );
        let patch = Value::Array(vec![
            crate::value::object([
                ("op", "replace".into()),
                ("path", "/metadata/managedFields".into()),
                ("value", Value::Array(entries)),
            ]),
            crate::value::object([
                ("op", "replace".into()),
                ("path", "/metadata/resourceVersion".into()),
                ("value", info.object.at("metadata/resourceVersion").clone()),
            ]),
        ]);
        let body = patch.to_json();
        match k
            .patch(&info.mapping, &info.namespace, &info.name, "", PatchType::Json, body.as_bytes(), &self.write)
            .await
        {
            Ok(o) => {
                info.refresh(o);
                Ok(true)
            }
            Err(e) => {
                k.err(&format!(
                    "Warning: server rejected managed fields migration to Server-Side Apply. This is non-fatal and will be retried next time you apply. Error: {}\n",
                    e.message()
                ));
                Ok(false)
            }
        }
    }
}

/// Adds a set of fields to another.
fn union(into: &mut Value, from: &Value) {
    if let (Value::Object(a), Value::Object(b)) = (&mut *into, from) {
        for (k, v) in b {
            union(a.entry(k.clone()).or_insert_with(Value::object), v);
        }
    } else if !from.is_null() && !matches!(into, Value::Object(_)) {
        *into = from.clone();
    }
}

/// What a patch would give, without the server: the modified fields laid over the live ones.
fn apply_locally(live: &mut Value, modified: &Value) {
    match (&mut *live, modified) {
        (Value::Object(a), Value::Object(b)) => {
            for (k, v) in b {
                apply_locally(a.entry(k.clone()).or_default(), v);
            }
        }
        (slot, v) => *slot = v.clone(),
    }
}

/// Sets the annotation of a live object to what was applied.
pub async fn set_annotation(k: &Kubectl<'_>, info: &Info, applied: &Value, w: &Write) -> Result<Value, Error> {
    let text = format!("{}\n", applied.to_json());
    let mut patch = Value::object();
    patch.set_key("metadata/annotations", LAST_APPLIED, text);
    let body = patch.to_json();
    k.patch(&info.mapping, &info.namespace, &info.name, "", PatchType::Merge, body.as_bytes(), w).await
}
