//! `kubectl api-resources`, `api-versions`, and a first `explain`.

use crate::error::{Error, NO_PREFIX};
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

/// The command.
pub async fn explain(k: &Kubectl<'_>) -> Result<(), Error> {
    use ::api::object::Type as FieldType;
    let Some(path) = k.args().first() else {
        return Err(Error::text(
            "You must specify the type of resource to explain. Use \"kubectl api-resources\" for a complete list of supported resources.\n",
        ));
    };
    if k.args().len() > 1 {
        return Err(Error::text("We accept only this format: explain RESOURCE\n"));
    }
    let output = k.flags.str("output");
    if !matches!(output, "" | "plaintext" | "plaintext-openapiv2") {
        return Err(Error::text(format!("unrecognized format: {output}")));
    }
    let mut parts = path.split('.');
    let typed = parts.next().unwrap_or("");
    let m = k
        .mapper()
        .find_argument(typed)
        .ok_or_else(|| Error::text(format!("{NO_PREFIX}the server doesn't have a resource type {}", quote(typed))))?;
    let version = k.flags.str("api-version");
    if !version.is_empty() && version != m.api_version() {
        return Err(Error::text(format!("couldn't find resource for \"{version}, Resource={}\"", m.plural)));
    }
    let mut out = String::new();
    if !m.group.is_empty() {
        out.push_str(&format!("GROUP:      {}\n", m.group));
    }
    out.push_str(&format!("KIND:       {}\nVERSION:    {}\n\n", m.kind, m.version));
    let mut desc = ::api::scheme::by_kind(&m.group, &m.version, &m.kind).map(|i| i.desc);
    let mut last = None;
    for part in parts {
        let field = desc.and_then(|d| d.field(part));
        let Some(field) = field else {
            k.out(&out);
            let asked = path.rsplit('.').next().unwrap_or(part);
            return Err(Error::text(format!("field {} does not exist", quote(asked))));
        };
        desc = match &field.ty {
            FieldType::List(_) => field.ty.element_desc(),
            ty => ty.desc(),
        };
        last = Some(field);
    }
    let name_of = |f: &::api::object::FieldDesc| type_name(&f.ty);
    if let Some(f) = last {
        out.push_str(&format!("FIELD: {} <{}>\n", f.name, name_of(f)));
        if let Some(values) = f.enumeration() {
            out.push_str("ENUM:\n");
            for v in values {
                out.push_str(&format!("    {v}\n"));
            }
        }
        out.push('\n');
    }
    if let Some(d) = desc {
        out.push_str("FIELDS:\n");
        let depth = if k.flags.bool("recursive") { EXPLAIN_DEPTH } else { 0 };
        list_fields(d, 1, depth, &mut Vec::new(), &mut out);
        out.push('\n');
    }
    k.out(&out);
    Ok(())
}

/// Levels that `--recursive` follows.
const EXPLAIN_DEPTH: usize = 16;

/// The fields of a type, and with depth left those of their types.
fn list_fields(
    d: &'static ::api::object::TypeDesc,
    indent: usize,
    depth: usize,
    within: &mut Vec<&'static str>,
    out: &mut String,
) {
    let mut fields: Vec<_> = d.fields.iter().collect();
    fields.sort_small_by_key(|f| f.name);
    within.push(d.name);
    for f in fields {
        let required = if f.is(::api::object::REQUIRED) { " -required-" } else { "" };
        out.push_str(&format!("{}{}\t<{}>{required}\n", "  ".repeat(indent), f.name, type_name(&f.ty)));
        let inner = match &f.ty {
            ::api::object::Type::List(_) | ::api::object::Type::Map(_) => f.ty.element_desc(),
            ty => ty.desc(),
        };
        if let Some(inner) = inner.filter(|i| depth > 0 && !within.contains(&i.name)) {
            list_fields(inner, indent + 1, depth - 1, within, out);
        }
    }
    within.pop();
}

/// A type as OpenAPI names it.
fn type_name(ty: &::api::object::Type) -> String {
    use ::api::object::Type as T;
    match ty {
        T::Str | T::OStr | T::Time | T::MicroTime | T::Bytes => "string".into(),
        T::Bool | T::OBool => "boolean".into(),
        T::I32 | T::OI32 | T::I64 | T::OI64 => "integer".into(),
        T::OF64 => "number".into(),
        T::Quantity | T::OQuantity => "Quantity".into(),
        T::IntOrString | T::OIntOrString => "IntOrString".into(),
        T::Raw => "Object".into(),
        T::Struct(d) | T::Ptr(d) => d.name.rsplit('.').next().unwrap_or(d.name).into(),
        T::List(_) => format!("[]{}", ty.element().map(type_name).unwrap_or_default()),
        T::Map(_) => format!("map[string]{}", ty.element().map(type_name).unwrap_or_default()),
    }
}
