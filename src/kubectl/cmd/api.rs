//! `kubectl api-resources` and `api-versions`.

use crate::error::Error;
use crate::mapping::qualified;
use crate::print::human::quote;
use crate::print::tabwriter::{TABLE, TabWriter};
use crate::session::Kubectl;
use api::SortSmall;

/// The command.
pub async fn resources(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    if !k.args().is_empty() {
        return Err(k.usage_error(&format!("unexpected arguments: [{}]", k.args().join(" "))));
    }
    let output = f.str("output");
    if !["", "wide", "name"].contains(&output) {
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
