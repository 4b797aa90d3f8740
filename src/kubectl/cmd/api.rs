//! `kubectl api-resources` and `api-versions`.

use crate::error::Error;
use crate::mapping::{Mapping, qualified};
use crate::print::human::quote;
use crate::print::tabwriter::{TABLE, TabWriter};
use crate::session::Kubectl;
use crate::value::Value;
use api::json::{Encoder, Order};
use api::{SortSmall, Str};
use std::rc::Rc;

/// The command.
pub async fn resources(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    if !k.args().is_empty() {
        return Err(k.usage_error(&format!("unexpected arguments: [{}]", k.args().join(" "))));
    }
    let output = f.str("output");
    if !["", "wide", "name", "json", "yaml", "kyaml"].contains(&output) {
        return Err(Error::text(format!(
            "unable to match a printer suitable for the output format {}, allowed formats are: json,kyaml,name,wide,yaml",
            quote(output)
        )));
    }
    let sort = f.str("sort-by");
    if !["", "name", "kind"].contains(&sort) {
        return Err(Error::text("--sort-by accepts only name or kind"));
    }
    // The list is read from the server, not from the cache.
    k.connect("/api?timeout=32s").await?;
    let (verbs, categories) = (f.list("verbs"), f.list("categories"));
    let mapper = k.mapper();
    let mut list: Vec<_> = mapper
        .resources
        .iter()
        .filter(|m| mapper.resources.iter().find(|o| o.group == m.group && o.plural == m.plural) == Some(m))
        .filter(|m| !m.verbs.is_empty())
        .filter(|m| !f.changed("api-group") || m.group == f.str("api-group"))
        .filter(|m| !f.changed("namespaced") || m.namespaced == f.bool("namespaced"))
        .filter(|m| verbs.iter().all(|v| m.verbs.contains(v)))
        .filter(|m| categories.iter().all(|c| m.categories.contains(c)))
        .cloned()
        .collect();
    list.sort_small_by_key(|m| {
        let key = match sort {
            "name" => m.plural.clone(),
            "kind" => m.kind.clone(),
            _ => m.group.clone(),
        };
        (key, m.plural.clone())
    });
    if matches!(output, "json" | "yaml" | "kyaml") {
        k.out(&as_list(output, &list));
        return Ok(());
    }
    let mut w = TabWriter::new(TABLE);
    if !f.bool("no-headers") && output != "name" {
        w.write("NAME\tSHORTNAMES\tAPIVERSION\tNAMESPACED\tKIND");
        w.write(if output == "wide" { "\tVERBS\tCATEGORIES\n" } else { "\n" });
    }
    for m in list {
        if output == "name" {
            w.write(&format!("{}\n", qualified(&m.plural, &m.group)));
            continue;
        }
        w.write(&format!(
            "{}\t{}\t{}\t{}\t{}",
            m.plural,
            m.short_names.join(","),
            m.api_version(),
            m.namespaced,
            m.kind
        ));
        if output == "wide" {
            w.write(&format!("\t{}\t{}", m.verbs.join(","), m.categories.join(",")));
        }
        w.write("\n");
    }
    k.out(&w.flush());
    Ok(())
}

/// The fields of a list of resources and of its items in Go's order.
const IN_GO: [&str; 12] = [
    "name",
    "singularName",
    "namespaced",
    "group",
    "version",
    "kind",
    "apiVersion",
    "groupVersion",
    "resources",
    "verbs",
    "shortNames",
    "categories",
];

/// The resources as one object.
fn as_list(output: &str, list: &[Rc<Mapping>]) -> String {
    use api::meta_v1::{APIResource, APIResourceList};
    let strings = |list: &[String]| list.iter().map(|s| Str::from(s.as_str())).collect();
    let resources = list.iter().map(|m| APIResource {
        name: m.plural.as_str().into(),
        singular_name: m.singular.as_str().into(),
        namespaced: m.namespaced,
        group: m.group.as_str().into(),
        version: m.version.as_str().into(),
        kind: m.kind.as_str().into(),
        verbs: strings(&m.verbs),
        short_names: strings(&m.short_names),
        categories: strings(&m.categories),
        ..APIResource::default()
    });
    let object = APIResourceList {
        kind: "APIResourceList".into(),
        api_version: "v1".into(),
        resources: if list.is_empty() { Default::default() } else { resources.collect() },
        ..APIResourceList::default()
    };
    let value = || Value::from(&api::json::to_value_bare(&object));
    match output {
        "yaml" => crate::print::object::yaml(&value()),
        "kyaml" => crate::print::kyaml::ordered(&value(), &IN_GO),
        _ => {
            let mut encoder = Encoder::new(Order::Go, 4);
            encoder.object(&object);
            format!("{}\n", encoder.finish())
        }
    }
}

/// The command.
pub async fn versions(k: &Kubectl<'_>) -> Result<(), Error> {
    if !k.args().is_empty() {
        return Err(k.usage_error(&format!("unexpected arguments: [{}]", k.args().join(" "))));
    }
    k.connect("/api?timeout=32s").await?;
    let mut versions: Vec<String> = k.mapper().resources.iter().map(|m| m.api_version()).collect();
    versions.sort_small();
    versions.dedup();
    for v in versions {
        k.out(&format!("{v}\n"));
    }
    Ok(())
}
