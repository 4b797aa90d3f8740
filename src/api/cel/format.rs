//! `format.dns1123Label().validate('x')` (library/format.go).

use std::rc::Rc;

use super::eval::{Activation, Eval};
use super::network::Url;
use super::value::{Other, Val};
use crate::names;

const NAMES: [&str; 13] = [
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
];

pub(super) fn of_formats(_: &mut Activation, name: &str, args: &[Val]) -> Option<Eval> {
    let named = |name: &str| {
        let known = NAMES.into_iter().find(|known| *known == name);
        known.map(|name| Val::other(Other::Format(name)))
    };
    Some(Ok(match (name, args) {
        ("format.named", [Val::Str(name)]) => Val::Optional(named(name).map(Rc::new)),
        ("validate", [Val::Other(of), Val::Str(text)]) => {
            let Other::Format(format) = &**of else { return None };
            let wrong = validate(format, text);
            let wrong = (!wrong.is_empty()).then(|| Val::list(wrong.into_iter().map(Val::from).collect()));
            Val::Optional(wrong.map(Rc::new))
        }
        (name, []) => named(name.strip_prefix("format.")?)?,
        _ => return None,
    }))
}

fn validate(format: &str, text: &str) -> Vec<String> {
    let unless = |fits: bool, why: &str| if fits { Vec::new() } else { vec![why.to_string()] };
    let prefix = names::mask_trailing_dash(text);
    match format {
        "dns1123Label" => names::dns1123_label(text),
        "dns1123Subdomain" => names::dns1123_subdomain(text),
        "dns1035Label" => names::dns1035_label(text),
        "qualifiedName" => names::qualified_name(text),
        "dns1123LabelPrefix" => names::dns1123_label(&prefix),
        "dns1123SubdomainPrefix" => names::dns1123_subdomain(&prefix),
        "dns1035LabelPrefix" => names::dns1035_label(&prefix),
        "labelValue" => names::label_value(text),
        "uri" => Url::parse(text).err().into_iter().collect(),
        "uuid" => {
            let hex: String = text.chars().filter(|c| *c != '-').collect();
            let fits = hex.len() == 32 && hex.bytes().all(|b| b.is_ascii_hexdigit());
            unless(fits, "does not match the UUID format")
        }
        "byte" => unless(crate::value::unbase64(text.as_bytes()).is_ok(), "invalid base64"),
        "date" => {
            let fits = text.len() == 10 && crate::value::parse_rfc3339(&format!("{text}T00:00:00Z")).is_ok();
            unless(fits, "invalid date")
        }
        _ => unless(crate::value::parse_rfc3339(text).is_ok(), "invalid datetime"),
    }
}
