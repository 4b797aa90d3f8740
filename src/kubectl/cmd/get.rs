//! `kubectl get`.

use crate::builder::{Builder, Info, Visit, list_of};
use crate::error::Error;
use crate::mapping::Mapping;
use crate::print::object::{GET_FORMATS, Printer, by_format, omit_managed_fields};
use crate::print::table::{Options, Table, TablePrinter, sort_objects, sort_table};
use crate::print::tabwriter::{TABLE, TabWriter};
use crate::server::Watched;
use crate::session::Kubectl;
use crate::value::Value;
use ::api::rest::{EventType, ListOptions};
use std::rc::Rc;

struct Get<'a, 'b> {
    k: &'a Kubectl<'b>,
    human: bool,
    sort_by: String,
    all_namespaces: bool,
}

/// The command.
pub async fn get(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let raw = f.str("raw");
    let only_one = !f.list("filename").is_empty() && !f.str("kustomize").is_empty();
    if only_one {
        return Err(Error::text("only one of -f or -k can be specified"));
    }
    if !raw.is_empty() {
        if !k.args().is_empty() {
            return Err(Error::text("arguments may not be passed when --raw is specified"));
        }
        if f.bool("watch") || f.bool("watch-only") || !f.str("selector").is_empty() {
            return Err(Error::text(
                "--raw may not be specified with other flags that filter the server request or alter the output",
            ));
        }
        if !f.str("output").is_empty() {
            return Err(Error::text("--raw and --output are mutually exclusive"));
        }
        return crate::raw::get(k, raw).await;
    }
    let watch = f.bool("watch") || f.bool("watch-only");
    let output = f.str("output");
    if watch {
        if !f.str("sort-by").is_empty() {
            k.err(if f.bool("watch") {
                "warning: --watch requested, --sort-by will be ignored for watch events received\n"
            } else {
                "warning: --watch-only requested, --sort-by will be ignored\n"
            });
        }
    } else if k.args().is_empty() && f.list("filename").is_empty() && f.str("kustomize").is_empty() {
        k.err("You must specify the type of resource to get. Use \"kubectl api-resources\" for a complete list of supported resources.\n\n");
        return Err(k.usage_error(
            "Required resource not specified.\nUse \"kubectl explain <resource>\" for a detailed description of that resource (e.g. kubectl explain pods).",
        ));
    }
    if f.bool("show-labels") && !output.is_empty() && output != "wide" {
        return Err(Error::text(format!("--show-labels option cannot be used with {output} printer")));
    }
    if !f.list("label-columns").is_empty() && output.starts_with("custom-columns") {
        return Err(Error::text(format!("--label-columns option cannot be used with {output} printer")));
    }
    if f.bool("output-watch-events") && !watch {
        return Err(Error::text("--output-watch-events option can only be used with --watch or --watch-only"));
    }
    let g = Get {
        k,
        human: (output.is_empty() && f.str("template").is_empty()) || output == "wide",
        sort_by: f.str("sort-by").to_string(),
        all_namespaces: f.bool("all-namespaces"),
    };
    if watch {
        return g.watch().await;
    }
    let mut b = Builder::new(k)
        .all_namespaces(g.all_namespaces)
        .labels(f.str("selector"))
        .fields(f.str("field-selector"))
        .arguments(k, true, k.args());
    b.latest = true;
    b.table = g.human;
    b.chunk = if g.sort_by.is_empty() { f.int("chunk-size") } else { 0 };
    b.subresource = f.str("subresource").to_string();
    let mut visit = b.run(k).await?;
    if f.bool("ignore-not-found") {
        visit.items.retain(|i| !i.as_ref().is_err_and(Error::is_not_found));
    }
    if g.human { g.print_tables(visit) } else { g.print_objects(visit) }
}

impl Get<'_, '_> {
    fn table_options(&self, mapping: &Mapping, with_kind: bool) -> Options {
        let f = &self.k.flags;
        Options {
            no_headers: f.bool("no-headers"),
            wide: f.str("output") == "wide",
            namespace: self.all_namespaces && mapping.namespaced,
            kind: (with_kind || f.bool("show-kind")).then(|| mapping.printed_kind()),
            show_labels: f.bool("show-labels"),
            label_columns: f.list("label-columns"),
        }
    }

    fn print_tables(&self, visit: Visit) -> Result<(), Error> {
        let k = self.k;
        let (mut infos, failed) = visit.infos();
        let mut errors = match failed {
            Ok(()) => Vec::new(),
            Err(Error::Aggregate(list)) => list,
            Err(e) => vec![e],
        };
        let kinds = infos.first().is_some_and(|f| infos.iter().any(|i| i.mapping != f.mapping));
        if !self.sort_by.is_empty() {
            let many = infos.len() > 1;
            let field = crate::jsonpath::relaxed(&self.sort_by).unwrap_or_else(|_| self.sort_by.clone());
            for info in &mut infos {
                // A single Table that can't be sorted is not printed at all, and nobody says why; one row is sorted.
                if let Some(t) = &mut info.table
                    && (many || t.rows.len() > 1)
                    && let Err(e) = sort_table(t, &field)
                {
                    if many {
                        return Err(e);
                    }
                    info.table = Some(Table::default());
                }
            }
        }
        let mut w = TabWriter::new(TABLE);
        let mut printer: Option<(Rc<Mapping>, TablePrinter)> = None;
        let mut written = false;
        let mut separate = false;
        let mut namespaced = !self.all_namespaces;
        let flush = |w: &mut TabWriter, written: &mut bool, separate: &mut bool| {
            let text = w.flush();
            if !text.is_empty() {
                if std::mem::take(separate) {
                    k.out("\n");
                }
                *written = true;
                k.out(&text);
            }
        };
        for info in infos {
            namespaced = namespaced && info.mapping.namespaced;
            let same = printer.as_ref().is_some_and(|(m, _)| *m == info.mapping);
            if !same {
                flush(&mut w, &mut written, &mut separate);
                w.forget();
                if printer.is_some() && !k.flags.bool("no-headers") && written {
                    separate = true;
                }
                let options = self.table_options(&info.mapping, kinds);
                printer = Some((info.mapping.clone(), TablePrinter::new(options)));
            }
            let Some((_, p)) = &mut printer else { continue };
            match info.table {
                Some(t) => p.print(t, None, &mut w),
                None => p.print(name_and_age(&info, k), None, &mut w),
            }
        }
        flush(&mut w, &mut written, &mut separate);
        if !written && !k.flags.bool("ignore-not-found") && errors.is_empty() {
            if namespaced {
                k.err(&format!("No resources found in {} namespace.\n", k.namespace()));
            } else {
                k.err("No resources found\n");
            }
        }
        if errors.len() > 1 {
            let mut seen = Vec::new();
            errors.retain(|e| {
                let text = e.in_list();
                let fresh = !seen.contains(&text);
                seen.push(text);
                fresh
            });
        }
        if errors.is_empty() { Ok(()) } else { Err(Error::Listed(errors)) }
    }

    fn print_objects(&self, visit: Visit) -> Result<(), Error> {
        let k = self.k;
        let single = visit.single_item;
        let (infos, failed) = visit.infos();
        let mut errors = Vec::new();
        if let Err(e) = failed {
            if single {
                return Err(e);
            }
            errors.push(e);
        }
        if infos.is_empty() && k.flags.bool("ignore-not-found") {
            return Error::aggregate(errors);
        }
        let mut printer = by_format(k, k.flags.str("output"), GET_FORMATS)?;
        let mut objects: Vec<Value> = infos.into_iter().map(|i| i.object).collect();
        let mut object = if single && objects.len() == 1 {
            objects.remove(0)
        } else {
            if !self.sort_by.is_empty() {
                sort_objects(&mut objects, &self.sort_by)?;
            }
            list_of(objects)
        };
        if !k.flags.bool("show-managed-fields") && printer.omits_managed_fields() {
            omit_managed_fields(&mut object);
        }
        if let Err(e) = printer.show(k, &object) {
            errors.push(e);
        }
        Error::aggregate(errors)
    }

    async fn watch(&self) -> Result<(), Error> {
        let k = self.k;
        let f = &k.flags;
        let mut b = Builder::new(k)
            .all_namespaces(self.all_namespaces)
            .labels(f.str("selector"))
            .fields(f.str("field-selector"))
            .arguments(k, true, k.args());
        b.single_type = true;
        b.continue_on_error = false;
        b.latest = true;
        b.flatten = false;
        b.table = self.human;
        b.chunk = f.int("chunk-size");
        let visit = b.run(k).await?;
        let (infos, failed) = visit.infos();
        match failed {
            Err(e) if e.is_not_found() && f.bool("ignore-not-found") => return Ok(()),
            other => other?,
        }
        if infos.len() != 1 {
            return Err(Error::text(
                "watch is only supported on individual resources and resource collections - more than 1 resource was found",
            ));
        }
        let Some(info) = infos.into_iter().next() else { return Ok(()) };
        let mapping = info.mapping.clone();
        let is_list = info.name.is_empty();
        let mut tables = TablePrinter::new(self.table_options(&mapping, false));
        let mut printer = if self.human { None } else { Some(by_format(k, f.str("output"), GET_FORMATS)?) };
        let mut w = TabWriter::new(TABLE);
        let show_events = f.bool("output-watch-events");
        let print = |event: EventType,
                     what: Watched,
                     w: &mut TabWriter,
                     tables: &mut TablePrinter,
                     printer: &mut Option<Printer>|
         -> Result<(), Error> {
            match (what, printer) {
                (Watched::Table(t), _) => {
                    tables.print(t, show_events.then(|| event.name()), w);
                    k.out(&w.flush());
                }
                (Watched::Object(mut o), Some(p)) => {
                    if !f.bool("show-managed-fields") && p.omits_managed_fields() {
                        omit_managed_fields(&mut o);
                    }
                    if show_events {
                        o = crate::value::object([("object", o), ("type", event.name().into())]);
                    }
                    p.show(k, &o)?;
                }
                (Watched::Object(_), None) => {}
            }
            Ok(())
        };
        let first = match (info.table.clone(), is_list) {
            (Some(t), _) => vec![Watched::Table(t)],
            (None, true) => info.object.list("items").iter().cloned().map(Watched::Object).collect(),
            (None, false) => vec![Watched::Object(info.object.clone())],
        };
        let revision = if !is_list {
            "0".to_string()
        } else if self.human {
            info.revision.to_string()
        } else {
            info.object.str("metadata/resourceVersion").to_string()
        };
        if !f.bool("watch-only") {
            for what in first {
                print(EventType::Added, what, &mut w, &mut tables, &mut printer)?;
            }
        }
        let fields = if is_list { f.str("field-selector").to_string() } else { format!("metadata.name={}", info.name) };
        let options = ListOptions {
            label_selector: f.str("selector").into(),
            field_selector: fields.as_str().into(),
            resource_version: revision.as_str().into(),
            ..ListOptions::default()
        };
        let mut stream = k.watch(&mapping, &info.namespace, options, self.human).await?;
        // A watch of one object begins with its state, which was printed already.
        let mut skip = !is_list;
        while let Some((event, what)) = stream.event().await? {
            if std::mem::take(&mut skip) {
                continue;
            }
            print(event, what, &mut w, &mut tables, &mut printer)?;
        }
        Ok(())
    }
}

/// What is shown of an object without a table: its name and age.
fn name_and_age(info: &Info, k: &Kubectl<'_>) -> Table {
    use crate::print::human::human_duration;
    use crate::print::table::{Column, Row};
    use crate::print::time::parse_rfc3339;
    let column = |name: &str, format: &str| Column {
        name: name.into(),
        kind: "string".into(),
        format: format.into(),
        priority: 0,
    };
    let age = match parse_rfc3339(info.object.str("metadata/creationTimestamp")) {
        Some(t) => human_duration(k.now() - t),
        None => "<unknown>".into(),
    };
    Table {
        columns: vec![column("Name", "name"), column("Age", "")],
        rows: vec![Row { cells: vec![info.object.str("metadata/name").into(), age.into()], object: None }],
    }
}
