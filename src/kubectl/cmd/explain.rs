//! `kubectl explain`: a resource's type or one of its fields, from the server's OpenAPI document (kubectl
//! `pkg/cmd/explain`, `pkg/explain/v2` and its template `plaintext`).

use crate::error::{Error, NO_PREFIX};
use crate::mapping::{qualified, split_version};
use crate::print::human::quote;
use crate::raw::text;
use crate::session::Kubectl;
use crate::value::Value;

/// Values of an enumeration that a list of fields shows.
const SHOWN: usize = 4;

/// The command.
pub async fn explain(k: &Kubectl<'_>) -> Result<(), Error> {
    let (f, args) = (&k.flags, k.args());
    let Some(asked) = args.first() else {
        return Err(Error::text(
            "You must specify the type of resource to explain. Use \"kubectl api-resources\" for a complete list of supported resources.\n",
        ));
    };
    if args.len() > 1 {
        return Err(Error::text("We accept only this format: explain RESOURCE\n"));
    }
    let depth = usize::try_from(f.int("max-depth")).map_err(|_| Error::text("--max-depth must be non-negative"))?;
    if depth > 0 && !f.bool("recursive") {
        return Err(Error::text("--max-depth requires --recursive"));
    }
    let asked = asked.strip_suffix('.').unwrap_or(asked);
    let typed = asked.split('.').next().unwrap_or("");
    if typed.is_empty() {
        return Err(Error::text("a resource must be present, got: /, Resource="));
    }
    let m = k
        .mapper()
        .find_argument(typed)
        .ok_or_else(|| Error::text(format!("{NO_PREFIX}the server doesn't have a resource type {}", quote(typed))))?;
    crate::builder::warn(k, &k.mapper(), typed);
    let given = f.str("api-version");
    // Without a version the resource can have its group behind it.
    let behind = asked.strip_prefix(&qualified(&m.plural, &m.group)).filter(|_| given.is_empty());
    let fields = behind.or_else(|| asked.strip_prefix(typed)).unwrap_or("");
    if fields.contains('[') {
        let which = if given.is_empty() { "first node must be field node" } else { "all nodes must be field nodes" };
        return Err(Error::text(format!("invalid jsonpath syntax, {which}")));
    }
    let fields: Vec<&str> = fields.split('.').filter(|field| !field.is_empty()).collect();
    if given.split('/').nth(2).is_some() {
        return Err(Error::text(format!("unexpected GroupVersion string: {given}")));
    }
    let (group, version) = if given.is_empty() { (m.group.as_str(), m.version.as_str()) } else { split_version(given) };
    let shown = format!("{group}/{version}, Resource={}", m.plural);

    let root = match group {
        "" => format!("api/{version}"),
        group => format!("apis/{group}/{version}"),
    };
    let documents = parse(&text(k, "/openapi/v3").await?);
    let Some(url) = documents.key("paths").key(&root).key("serverRelativeURL").as_str() else {
        return Err(Error::text(format!("couldn't find resource for \"{shown}\"")));
    };
    let document = parse(&text(k, url).await?);
    if !matches!(f.str("output"), "plaintext" | "plaintext-openapiv2") {
        return Err(Error::text(format!("unrecognized format: {}", f.str("output"))));
    }
    let gvk = kind_of(&document, &root, &m.plural);
    let Some(gvk) = gvk else {
        return Err(Error::text(format!("GVR ({shown}) not found in OpenAPI schema")));
    };
    if !gvk.str("group").is_empty() {
        k.out(&format!("GROUP:      {}\n", gvk.str("group")));
    }
    k.out(&format!("KIND:       {}\nVERSION:    {}\n\n", gvk.str("kind"), gvk.str("version")));
    let has = |schema: &Value| schema.list("x-kubernetes-group-version-kind").contains(gvk);
    let Some((_, schema)) = document.map("components/schemas").find(|(_, schema)| has(schema)) else {
        return Err(Error::text(format!("GVK {} not found in OpenAPI schema", gvk.go_v())));
    };
    let page = Page { document: &document, recursive: f.bool("recursive"), depth };
    let told = page.tell(schema, &fields, &[]);
    if told.is_empty() {
        let field = fields.last().copied().unwrap_or_default();
        return Err(Error::text(format!("field {} does not exist", quote(field))));
    }
    k.out(&told);
    k.out("\n");
    Ok(())
}

fn parse(text: &str) -> Value {
    Value::parse(text).unwrap_or_default()
}

/// The kind of a resource, as the operations of its paths name it.
fn kind_of<'a>(document: &'a Value, root: &str, plural: &str) -> Option<&'a Value> {
    let (all, within) = (format!("/{root}/{plural}"), format!("/{root}/namespaces/{{namespace}}/{plural}"));
    let paths = [all.clone(), format!("{all}/{{name}}"), within.clone(), format!("{within}/{{name}}")];
    paths.iter().map(|path| document.key("paths").key(path)).find_map(|path| {
        let kinds = ["get", "post", "put", "patch", "delete"].map(|method| path.key(method));
        kinds.into_iter().map(|o| o.key("x-kubernetes-group-version-kind")).find(|kind| !kind.is_null())
    })
}

/// The document and what is asked of it.
struct Page<'a> {
    document: &'a Value,
    recursive: bool,
    /// How deep to go; 0 is without end.
    depth: usize,
}

impl<'a> Page<'a> {
    /// What a schema stands for: itself, or the one that it refers to.
    fn resolve(&self, schema: &'a Value) -> &'a Value {
        let referred = schema.str("$ref").strip_prefix("#/").map(|path| self.document.at(path));
        referred.filter(|found| !found.is_empty()).unwrap_or(schema)
    }

    /// The schema at the end of a path of fields; nothing if there is none. `seen` has the references since the last field.
    fn tell(&self, schema: &'a Value, fields: &[&str], seen: &[&str]) -> String {
        let (referred, resolved) = (schema.str("$ref"), self.resolve(schema));
        let Some((field, rest)) = fields.split_first() else {
            let mut text = String::new();
            self.describe(schema, &mut text);
            let text = indent(&wrap(if text.is_empty() { "<empty>" } else { &text }, 76), 4);
            let mut list = String::new();
            self.list(resolved, 1, &[], &mut list);
            let title = if list.is_empty() { "" } else { "FIELDS:\n" };
            return format!("DESCRIPTION:\n{text}\n{title}{list}");
        };
        if seen.contains(&referred) {
            return String::new();
        }
        let next = with(seen, referred);
        let own = resolved.key("properties").key(field);
        if !own.is_empty() {
            let mut out = String::new();
            if rest.is_empty() {
                out = format!("FIELD: {field} <{}>\n", self.type_of(own));
                let values = own.list("enum");
                if !values.is_empty() {
                    out.push_str("ENUM:");
                    values.iter().for_each(|value| out.push_str(&format!("\n    {}", one_of(value))));
                }
                out.push_str("\n\n");
            }
            return out + &self.tell(own, rest, &[]);
        }
        if let Some(inner) = inner(resolved).next() {
            return self.tell(inner, fields, &next);
        }
        let told = resolved.list("allOf").iter().map(|part| self.tell(part, fields, &next));
        told.into_iter().find(|told| !told.is_empty()).unwrap_or_default()
    }

    /// The description of a schema and of all that it stands for.
    fn describe(&self, schema: &'a Value, out: &mut String) {
        let resolved = self.resolve(schema);
        if !resolved.str("description").is_empty() {
            out.push_str(resolved.str("description"));
            out.push('\n');
        }
        resolved.list("allOf").iter().chain(inner(resolved)).for_each(|part| self.describe(part, out));
    }

    /// The fields of a schema. `seen` has the references on the way here.
    fn list(&self, schema: &'a Value, level: usize, seen: &[&str], out: &mut String) {
        let (referred, resolved) = (schema.str("$ref"), self.resolve(schema));
        if seen.contains(&referred) {
            return;
        }
        let next = with(seen, referred);
        for (name, field) in resolved.map("properties") {
            let required = resolved.list("required").iter().any(|other| other.as_str() == Some(name));
            let (by, required) = (level.saturating_mul(2), if required { " -required-" } else { "" });
            out.push_str(&format!("{}\t<{}>{required}", indent(name, by), self.type_of(field)));
            let values = field.list("enum");
            if !values.is_empty() {
                let shown: Vec<&str> = values.iter().take(SHOWN).map(one_of).collect();
                let more = if values.len() > SHOWN { ", ...." } else { "" };
                out.push_str(&format!("\n{}enum: {}{more}", indent("", by), shown.join(", ")));
            }
            out.push('\n');
            if !self.recursive {
                let text = field.str("description");
                let text = if text.is_empty() { "<no description>" } else { text };
                out.push_str(&indent(&wrap(text, 78_usize.saturating_sub(by)), by.saturating_add(2)));
                out.push_str("\n\n");
            } else if self.depth == 0 || level < self.depth {
                self.list(field, level.saturating_add(1), &next, out);
            }
        }
        resolved.list("allOf").iter().chain(inner(resolved)).for_each(|part| self.list(part, level, &next, out));
    }

    fn type_of(&self, schema: &'a Value) -> String {
        let inner =
            |key: &str| Some(schema.key(key)).filter(|inner| matches!(inner, Value::Object(o) if !o.is_empty()));
        if let Some(items) = inner("items") {
            return format!("[]{}", self.type_of(items));
        }
        if let Some(values) = inner("additionalProperties") {
            return format!("map[string]{}", self.type_of(values));
        }
        if let ([only], true) = (schema.list("allOf"), schema.key("properties").is_empty()) {
            return self.type_of(only);
        }
        let mut name = schema.str("type");
        let referred = schema.str("$ref");
        if !referred.is_empty() {
            name = self.resolve(schema).str("type");
            if matches!(name, "" | "object") {
                name = referred.rsplit(['/', '.']).next().unwrap_or_default();
            }
        }
        if matches!(name, "" | "object") { "Object".into() } else { name.into() }
    }
}

/// What a list or a map holds.
fn inner(schema: &Value) -> impl Iterator<Item = &Value> {
    let parts = ["items", "additionalProperties"].into_iter().map(|key| schema.key(key));
    parts.filter(|inner| matches!(inner, Value::Object(o) if !o.is_empty()))
}

/// The references, and one more if it is one.
fn with<'s>(seen: &[&'s str], referred: &'s str) -> Vec<&'s str> {
    seen.iter().copied().chain(Some(referred).filter(|referred| !referred.is_empty())).collect()
}

fn one_of(value: &Value) -> &str {
    value.as_str().filter(|text| !text.is_empty()).unwrap_or("\"\"")
}

fn indent(text: &str, by: usize) -> String {
    let pad = " ".repeat(by);
    format!("{pad}{}", text.replace('\n', &format!("\n{pad}")))
}

/// The text in lines of no more than so many letters, but for longer words (go-wordwrap).
fn wrap(text: &str, limit: usize) -> String {
    let mut out = String::new();
    // Letters of the line so far, and the space and the word that are still to be written.
    let (mut line, mut space, mut word) = (0_usize, String::new(), String::new());
    let count = |text: &str| text.chars().count();
    for c in text.chars().chain(['\0']) {
        if c.is_whitespace() || c == '\0' {
            // Space before the end of a line stands only where it fits.
            let end = matches!(c, '\n' | '\0');
            if !word.is_empty() || end && line.saturating_add(count(&space)) <= limit {
                line = line.saturating_add(count(&space)).saturating_add(count(&word));
                out.push_str(&space);
                out.push_str(&word);
                space.clear();
                word.clear();
            }
            match c {
                '\0' => {}
                '\n' => {
                    out.push('\n');
                    space.clear();
                    line = 0;
                }
                c => space.push(c),
            }
            continue;
        }
        word.push(c);
        let length = count(&word);
        if line.saturating_add(length).saturating_add(count(&space)) > limit && length < limit {
            out.push('\n');
            line = 0;
            space.clear();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = r##"{"components": {"schemas": {
        "a.b.Thing": {"description": "A thing.", "type": "object", "required": ["mode"], "properties": {
            "spec": {"description": "What it is made of.", "default": {}, "allOf": [{"$ref": "#/components/schemas/a.b.Spec"}]},
            "mode": {"description": "How it works; a sentence that is longer than a line can be, so that it has to go on.",
                "type": "string", "enum": ["", "A", "B", "C", "D"]},
            "sizes": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/a.b.Size"}}}},
        "a.b.Spec": {"type": "object", "properties": {
            "when": {"allOf": [{"$ref": "#/components/schemas/a.b.Time"}]},
            "inner": {"type": "array", "items": {"$ref": "#/components/schemas/a.b.Spec"}}}},
        "a.b.Size": {"description": "A size.", "oneOf": [{"type": "string"}, {"type": "number"}]},
        "a.b.Time": {"description": "A time.", "type": "string"}}}}"##;

    fn told(fields: &[&str], recursive: bool, depth: usize) -> String {
        let document = Value::parse(DOCUMENT).unwrap();
        let page = Page { document: &document, recursive, depth };
        page.tell(document.at("components/schemas/a.b.Thing"), fields, &[])
    }

    #[test]
    fn types_and_fields() {
        assert_eq!(
            told(&[], false, 0),
            "DESCRIPTION:\n    A thing.\n    \nFIELDS:\n  mode\t<string> -required-\n  enum: \"\", A, B, C, ....\n    \
             How it works; a sentence that is longer than a line can be, so that it has\n    to go on.\n\n  \
             sizes\t<map[string]Size>\n    <no description>\n\n  spec\t<Spec>\n    What it is made of.\n\n"
        );
        assert_eq!(
            told(&["mode"], false, 0),
            "FIELD: mode <string>\nENUM:\n    \"\"\n    A\n    B\n    C\n    D\n\nDESCRIPTION:\n    \
             How it works; a sentence that is longer than a line can be, so that it has\n    to go on.\n    \n"
        );
        assert_eq!(
            told(&["spec", "inner"], false, 0),
            "FIELD: inner <[]Spec>\n\n\nDESCRIPTION:\n    <empty>\nFIELDS:\n  inner\t<[]Spec>\n    <no description>\n\n  \
             when\t<string>\n    <no description>\n\n"
        );
        assert_eq!(told(&["sizes"], false, 0), "FIELD: sizes <map[string]Size>\n\n\nDESCRIPTION:\n    A size.\n    \n");
        assert_eq!(told(&["spec", "when"], false, 0), "FIELD: when <string>\n\n\nDESCRIPTION:\n    A time.\n    \n");
        assert_eq!((told(&["nope"], false, 0), told(&["mode", "x"], false, 0)), (String::new(), String::new()));
    }

    #[test]
    fn fields_of_fields() {
        let start = "DESCRIPTION:\n    A thing.\n    \nFIELDS:\n  mode\t<string> -required-\n  enum: \"\", A, B, C, ....\n  \
                     sizes\t<map[string]Size>\n  spec\t<Spec>\n";
        assert_eq!(told(&[], true, 1), start);
        // A type within itself is not gone into again.
        assert_eq!(told(&[], true, 0), format!("{start}    inner\t<[]Spec>\n    when\t<string>\n"));
    }

    #[test]
    fn lines_wrap_at_words() {
        assert_eq!(wrap("one two three", 7), "one two\nthree");
        assert_eq!(wrap("one two  three\n", 8), "one two\nthree\n");
        assert_eq!(wrap("a veryverylongword b", 6), "a\nveryverylongword\nb");
        assert_eq!((wrap("", 7), wrap("\n", 7), indent("a\nb\n", 2)), ("".into(), "\n".into(), "  a\n  b\n  ".into()));
    }
}
