//! `kubectl edit`, and `apply edit-last-applied`: objects through the editor of the caller.

use super::{DryRun, manager, validation};
use crate::builder::{Builder, Info};
use crate::error::Error;
use crate::merge;
use crate::print::human::quote;
use crate::print::object::{for_write, omit_managed_fields};
use crate::server::Write;
use crate::session::Kubectl;
use crate::value::Value;
use ::api::rest::PatchType;

/// What stands above the object.
const HEADER: &str = "# Please edit the object below. Lines beginning with a '#' will be ignored,
# and an empty file will abort the edit. If an error occurs while saving this file will be
# reopened with the relevant failures.
#
";

/// Times that an editor is opened again at most.
const MAX_ROUNDS: usize = 100;

/// `kubectl edit`
pub async fn edit(k: &Kubectl<'_>) -> Result<(), Error> {
    let mut b = Builder::new(k).arguments(k, true, k.args());
    b.latest = true;
    b.continue_on_error = false;
    b.subresource = k.flags.str("subresource").to_string();
    let (infos, failed) = b.run(k).await?.infos();
    failed?;
    let dry_run = DryRun::None;
    let write =
        Write { dry_run: false, manager: manager(k, "kubectl-edit"), validation: validation(&k.flags)?, force: false };
    let objects: Vec<Value> = infos.iter().map(|i| i.object.clone()).collect();
    let Some(mut round) = Round::new(k, &objects) else {
        return Err(Error::text("edit cancelled, no objects found"));
    };
    for _ in 0..MAX_ROUNDS {
        let Some(edited) = round.open(k).await? else { return Ok(()) };
        let mut reasons: Vec<String> = Vec::new();
        for (info, wanted) in infos.iter().zip(round.split(edited)) {
            if let Err(e) = save(k, info, &wanted, &write, dry_run).await {
                let kind = info.mapping.group_resource();
                reasons.push(match &e {
                    Error::Status(s) if s.str("reason") == "Invalid" => {
                        let causes: String = s
                            .list("details/causes")
                            .iter()
                            .map(|c| format!("# * {}: {}\n", c.str("field"), c.str("message")))
                            .collect();
                        k.err(&format!("error: {kind} {} is invalid\n", quote(&info.name)));
                        format!("# {kind} {} was not valid:\n{causes}#\n", quote(&info.name))
                    }
                    other => {
                        k.err(&format!(
                            "error: {kind} {} could not be patched: {}\n",
                            quote(&info.name),
                            other.message()
                        ));
                        k.err("You can run `kubectl replace -f ");
                        k.err(&format!("{}` to try this update again.\n", round.path));
                        format!("# {}\n#\n", other.message())
                    }
                });
            }
        }
        if reasons.is_empty() {
            return Ok(());
        }
        round.reasons = reasons;
    }
    Err(Error::text("Edit cancelled, no valid changes were saved."))
}

/// Patches one object with what became of it, and prints it.
async fn save(k: &Kubectl<'_>, info: &Info, wanted: &Value, write: &Write, dry_run: DryRun) -> Result<(), Error> {
    let mut original = info.object.clone();
    omit_managed_fields(&mut original);
    if wanted.str("kind") != original.str("kind") || wanted.str("metadata/name") != original.str("metadata/name") {
        return Err(Error::text("At least one of apiVersion, kind and name was changed"));
    }
    let mut wanted = wanted.clone();
    k.record(&mut wanted);
    let schema = merge::schema_of(&info.mapping.api_version(), &info.mapping.kind);
    let patch = merge::two_way(&original, &wanted, schema).to_json();
    if patch == "{}" {
        k.out(&format!("{} skipped\n", info.printed_name()));
        return Ok(());
    }
    if k.flags.bool("output-patch") {
        k.out(&format!("Patch: {patch}\n"));
    }
    let kind = if schema.is_some() { PatchType::Strategic } else { PatchType::Merge };
    let sub = k.flags.str("subresource");
    let o = k.patch(&info.mapping, &info.namespace, &info.name, sub, kind, patch.as_bytes(), write).await?;
    let mut printer = match k.flags.str("output") {
        "json" | "yaml" => crate::print::object::Printer::Name(" edited".into()),
        _ => for_write(k, &dry_run.operation("edited"))?,
    };
    printer.show(k, &o)
}

/// A file in the editor.
struct Round {
    path: String,
    json: bool,
    original: String,
    last: String,
    reasons: Vec<String>,
}

/// A text without its comments.
fn stripped(text: &str) -> String {
    text.lines().filter(|l| !l.starts_with('#')).map(|l| format!("{l}\n")).collect()
}

impl Round {
    fn new(k: &Kubectl<'_>, objects: &[Value]) -> Option<Round> {
        let mut shown = match objects {
            [] => return None,
            [one] => one.clone(),
            many => crate::builder::list_of(many.to_vec()),
        };
        if !k.flags.bool("show-managed-fields") {
            omit_managed_fields(&mut shown);
        }
        let json = k.flags.str("output") == "json";
        let body =
            if json { format!("{}\n", shown.to_json_indent("    ")) } else { crate::print::object::yaml(&shown) };
        let name = k.ctx.rng("kubectl-edit").below(u32::MAX);
        let path = format!("/tmp/kubectl-edit-{name}.{}", if json { "json" } else { "yaml" });
        Some(Round { path, json, original: body.clone(), last: body, reasons: Vec::new() })
    }

    /// Opens the editor; none once the reader is done without a change.
    async fn open(&mut self, k: &Kubectl<'_>) -> Result<Option<Value>, Error> {
        let failed = !self.reasons.is_empty();
        let text = format!("{HEADER}{}{}", self.reasons.concat(), self.last);
        let io = |e: crate::io::FileError| Error::text(format!("open {}: {e}", self.path));
        k.io.write_file(&self.path, text.as_bytes()).map_err(io)?;
        k.io.edit(&self.path).await.map_err(Error::Text)?;
        let bytes = k.io.read_file(&self.path).map_err(io)?;
        let edited = String::from_utf8_lossy(&bytes).into_owned();
        let body = stripped(&edited);
        if failed && body == stripped(&self.last) {
            k.err(&format!("A copy of your changes has been stored to {}\n", quote(&self.path)));
            return Err(Error::text("Edit cancelled, no valid changes were saved."));
        }
        if body == stripped(&self.original) {
            k.err("Edit cancelled, no changes made.\n");
            return Ok(None);
        }
        if body.trim().is_empty() {
            k.err("Edit cancelled, saved file was empty.\n");
            return Ok(None);
        }
        self.last.clone_from(&body);
        let parsed = if self.json { Value::parse(&body) } else { crate::manifest::yaml(&body) };
        match parsed {
            Ok(v) => Ok(Some(v)),
            Err(e) => {
                k.err(&format!("error: couldn't parse {}: {e}\n", self.path));
                self.reasons = vec![format!("# The edited file had a syntax error: {e}\n#\n")];
                Box::pin(self.open(k)).await
            }
        }
    }

    fn split(&self, edited: Value) -> Vec<Value> {
        match edited.at("items") {
            Value::Array(items) if edited.str("kind").ends_with("List") => items.clone(),
            _ => vec![edited],
        }
    }
}

/// `kubectl apply edit-last-applied`
pub async fn edit_last_applied(k: &Kubectl<'_>) -> Result<(), Error> {
    let mut b = Builder::new(k).arguments(k, true, k.args());
    b.latest = true;
    let (infos, failed) = b.run(k).await?.infos();
    failed?;
    for info in infos {
        let annotation = info.object.at("metadata/annotations").key(super::apply::LAST_APPLIED);
        let Some(applied) = annotation.as_str().and_then(|t| Value::parse(t).ok()) else {
            return Err(Error::text(format!(
                "no last-applied-configuration annotation found on resource: {}, to create the annotation, use the command with --create-annotation",
                info.name
            )));
        };
        let Some(mut round) = Round::new(k, &[applied]) else { continue };
        let Some(edited) = round.open(k).await? else { continue };
        let w = Write { manager: manager(k, "kubectl-client-side-apply"), ..Write::default() };
        super::apply::set_annotation(k, &info, &edited, &w).await?;
        k.out(&format!("{} edited\n", info.printed_name()));
    }
    Ok(())
}
