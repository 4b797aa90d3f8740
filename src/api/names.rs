//! Names: what is allowed, with Kubernetes' messages (apimachinery's util/validation), and generated ones.

/// Most bytes of a DNS label, a label key's name or a label value.
pub const LABEL_MAX: usize = 63;
/// Most bytes of a DNS subdomain.
pub const SUBDOMAIN_MAX: usize = 253;
/// The letters of generated suffixes: no vowels, so that no words come out (`util/rand`).
pub const SUFFIX_ALPHABET: &str = "bcdfghjklmnpqrstvwxz2456789";
/// How many letters generateName adds.
pub const SUFFIX_LENGTH: usize = 5;
/// generateName is cut so that the name has at most 63 bytes.
pub const GENERATED_BASE_MAX: usize = LABEL_MAX - SUFFIX_LENGTH;

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

/// The base of a generated name, cut to leave room for the suffix.
pub fn generate_base(generate_name: &str) -> &str {
    let mut end = generate_name.len().min(GENERATED_BASE_MAX);
    while !generate_name.is_char_boundary(end) {
        end -= 1;
    }
    generate_name.get(..end).unwrap_or("")
}

/// A suffix from random numbers below 27.
pub fn suffix(n: usize, mut below: impl FnMut(u32) -> u32) -> String {
    let letters = SUFFIX_ALPHABET.as_bytes();
    (0..n).map(|_| char::from(letters.get(below(27) as usize).copied().unwrap_or(b'b'))).collect()
}

/// `rand.SafeEncodeString`: maps each byte into the alphabet, as controllers do with hashes.
pub fn safe_encode(s: &str) -> String {
    let letters = SUFFIX_ALPHABET.as_bytes();
    s.bytes().map(|b| char::from(letters.get(usize::from(b) % letters.len()).copied().unwrap_or(b'b'))).collect()
}

fn too_long(max: usize) -> String {
    format!("must be no more than {max} characters")
}
/// The same in the words of the newer rules: those of labels, and all declared ones.
fn too_many_bytes(max: usize) -> String {
    format!("must be no more than {max} bytes")
}
/// What an older rule says, in the words of its declared counterpart.
pub fn declared(wrong: Vec<String>) -> Vec<String> {
    let in_bytes = |why: String| match why.strip_suffix(" characters") {
        Some(rest) => format!("{rest} bytes"),
        None => why,
    };
    wrong.into_iter().map(in_bytes).collect()
}
/// `msg (e.g. 'a', or 'b', regex used for validation is 'r')`
pub fn regex_error(msg: &str, regex: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{msg} (regex used for validation is '{regex}')");
    }
    let mut s = format!("{msg} (e.g. ");
    for (i, e) in examples.iter().enumerate() {
        if i > 0 {
            s.push_str(" or ");
        }
        s.push_str(&format!("'{e}', "));
    }
    s + &format!("regex used for validation is '{regex}')")
}
/// `must be between 1 and 65535, inclusive`
pub fn range_error(low: i64, high: i64) -> String {
    format!("must be between {low} and {high}, inclusive")
}

fn lower_or_digit(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit()
}
/// `first`, any of `middle`, `last`; one byte must be both first and last.
fn shape(s: &str, first: fn(u8) -> bool, middle: fn(u8) -> bool, last: fn(u8) -> bool) -> bool {
    match s.as_bytes() {
        [] => false,
        [one] => first(*one),
        [a, mid @ .., z] => first(*a) && last(*z) && mid.iter().all(|b| middle(*b)),
    }
}
fn label_shape(s: &str) -> bool {
    shape(s, lower_or_digit, |b| lower_or_digit(b) || b == b'-', lower_or_digit)
}
fn subdomain_shape(s: &str) -> bool {
    s.split('.').all(label_shape)
}
fn key_shape(s: &str) -> bool {
    let alnum = |b: u8| b.is_ascii_alphanumeric();
    shape(s, alnum, |b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'), alnum)
}

/// `IsDNS1123Label`: what is wrong, in words; empty if nothing is.
pub fn dns1123_label(s: &str) -> Vec<String> {
    let mut errs = Vec::new();
    if s.len() > LABEL_MAX {
        errs.push(too_long(LABEL_MAX));
    }
    if !label_shape(s) {
        errs.push(if subdomain_shape(s) {
            "must not contain dots".to_string()
        } else {
            regex_error(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
                LABEL,
                &["my-name", "123-abc"],
            )
        });
    }
    errs
}
/// `IsDNS1123Subdomain`
pub fn dns1123_subdomain(s: &str) -> Vec<String> {
    let mut errs = Vec::new();
    if s.len() > SUBDOMAIN_MAX {
        errs.push(too_long(SUBDOMAIN_MAX));
    }
    if !subdomain_shape(s) {
        errs.push(regex_error(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
            SUBDOMAIN,
            &["example.com"],
        ));
    }
    errs
}
/// `IsDNS1123SubdomainCaseless`
pub fn dns1123_subdomain_caseless(s: &str) -> Vec<String> {
    let mut errs = Vec::new();
    if s.len() > SUBDOMAIN_MAX {
        errs.push(too_many_bytes(SUBDOMAIN_MAX));
    }
    if !subdomain_shape(&s.to_ascii_lowercase()) {
        errs.push(regex_error(
            "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
            SUBDOMAIN,
            &["Example.com"],
        ));
    }
    errs
}
/// `IsDNS1123SubdomainWithUnderscore`, search paths of DNS.
pub fn dns1123_subdomain_with_underscore(s: &str) -> Vec<String> {
    let mut errs = Vec::new();
    if s.len() > SUBDOMAIN_MAX {
        errs.push(too_long(SUBDOMAIN_MAX));
    }
    let part = |part: &str| {
        let rest = part.strip_prefix('_').unwrap_or(part);
        shape(rest, lower_or_digit, |b| lower_or_digit(b) || matches!(b, b'-' | b'_'), lower_or_digit)
    };
    if !s.split('.').all(part) {
        errs.push(regex_error(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
            "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*",
            &["example.com"],
        ));
    }
    errs
}
/// `IsDNS1035Label`, once the names of Services.
pub fn dns1035_label(s: &str) -> Vec<String> {
    let mut errs = Vec::new();
    if s.len() > LABEL_MAX {
        errs.push(too_long(LABEL_MAX));
    }
    if !shape(s, |b| b.is_ascii_lowercase(), |b| lower_or_digit(b) || b == b'-', lower_or_digit) {
        errs.push(regex_error(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "abc-123"],
        ));
    }
    errs
}
/// `IsWildcardDNS1123Subdomain`
pub fn wildcard_dns1123_subdomain(s: &str) -> Vec<String> {
    let mut errs = Vec::new();
    if s.len() > SUBDOMAIN_MAX {
        errs.push(too_long(SUBDOMAIN_MAX));
    }
    if !s.strip_prefix("*.").is_some_and(subdomain_shape) {
        errs.push(regex_error(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
            &format!("\\*\\.{SUBDOMAIN}"),
            &["*.example.com"],
        ));
    }
    errs
}
/// `IsQualifiedName`, the keys of labels and annotations.
pub fn qualified_name(s: &str) -> Vec<String> {
    let wrong = || {
        regex_error(
            "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
            KEY,
            &["MyName", "my.name", "123-abc"],
        )
    };
    let mut errs = Vec::new();
    let mut parts = s.split('/');
    let name = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, _) => name,
        (Some(prefix), Some(name), None) => {
            if prefix.is_empty() {
                errs.push("prefix part must be non-empty".to_string());
            } else {
                errs.extend(declared(dns1123_subdomain(prefix)).into_iter().map(|e| format!("prefix part {e}")));
            }
            name
        }
        _ => {
            errs.push(format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                wrong()
            ));
            return errs;
        }
    };
    if name.is_empty() {
        errs.push("name part must be non-empty".to_string());
    } else if name.len() > LABEL_MAX {
        errs.push(format!("name part {}", too_many_bytes(LABEL_MAX)));
    }
    if !key_shape(name) {
        errs.push(format!("name part {}", wrong()));
    }
    errs
}
/// `IsValidLabelValue`
pub fn label_value(s: &str) -> Vec<String> {
    let mut errs = Vec::new();
    if s.len() > LABEL_MAX {
        errs.push(too_many_bytes(LABEL_MAX));
    }
    if !s.is_empty() && !key_shape(s) {
        errs.push(regex_error(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
            &format!("({KEY})?"),
            &["MyValue", "my_value", "12345"],
        ));
    }
    errs
}
/// `IsValidPortNum`
pub fn port_number(port: i64) -> Vec<String> {
    in_range(port, 1, 65535)
}
/// `IsInRange`
pub fn in_range(v: i64, low: i64, high: i64) -> Vec<String> {
    if (low..=high).contains(&v) { Vec::new() } else { vec![range_error(low, high)] }
}
/// `IsValidPortName`
pub fn port_name(s: &str) -> Vec<String> {
    let mut errs = Vec::new();
    if s.len() > 15 {
        errs.push(too_long(15));
    }
    if s.is_empty() || !s.bytes().all(|b| lower_or_digit(b) || b == b'-') {
        errs.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_string());
    }
    if !s.bytes().any(|b| b.is_ascii_lowercase()) {
        errs.push("must contain at least one letter (a-z)".to_string());
    }
    if s.contains("--") {
        errs.push("must not contain consecutive hyphens".to_string());
    }
    if s.starts_with('-') || s.ends_with('-') {
        errs.push("must not begin or end with a hyphen".to_string());
    }
    errs
}
/// `IsValidPercent`
pub fn percent(s: &str) -> Vec<String> {
    match s.strip_suffix('%') {
        Some(d) if !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()) => Vec::new(),
        _ => vec![regex_error(
            "a valid percent string must be a numeric string followed by an ending '%'",
            "[0-9]+%",
            &["1%", "93%"],
        )],
    }
}
/// `IsHTTPHeaderName`
pub fn http_header_name(s: &str) -> Vec<String> {
    if !s.is_empty() && s.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
        return Vec::new();
    }
    vec![regex_error(
        "a valid HTTP header must consist of alphanumeric characters or '-'",
        "[-A-Za-z0-9]+",
        &["X-Header-Name"],
    )]
}
/// `IsEnvVarName`
pub fn env_var_name(s: &str) -> Vec<String> {
    let ok = |b: u8| b.is_ascii_alphabetic() || matches!(b, b'-' | b'.' | b'_');
    let mut errs = Vec::new();
    if !(s.bytes().next().is_some_and(ok) && s.bytes().all(|b| ok(b) || b.is_ascii_digit())) {
        errs.push(regex_error(
            "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit",
            "[-._a-zA-Z][-._a-zA-Z0-9]*",
            &["my.env-name", "MY_ENV.NAME", "MyEnvName1"],
        ));
    }
    errs.extend(no_parent_prefix(s));
    errs
}
/// `IsRelaxedEnvVarName`
pub fn relaxed_env_var_name(s: &str) -> Vec<String> {
    if s.is_empty() {
        return vec!["environment variable name must be non-empty".to_string()];
    }
    if s.bytes().any(|b| !(0x20..0x7f).contains(&b) || b == b'=') {
        return vec![
            "a valid environment variable name must consist only of printable ASCII characters other than '='"
                .to_string(),
        ];
    }
    Vec::new()
}
/// `IsConfigMapKey`, the keys of ConfigMaps and Secrets.
pub fn config_map_key(s: &str) -> Vec<String> {
    let mut errs = Vec::new();
    if s.len() > SUBDOMAIN_MAX {
        errs.push(too_long(SUBDOMAIN_MAX));
    }
    if s.is_empty() || !s.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_')) {
        errs.push(regex_error(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    errs.extend(no_parent_prefix(s));
    errs
}
fn no_parent_prefix(s: &str) -> Option<String> {
    match s {
        "." => Some("must not be '.'".to_string()),
        ".." => Some("must not be '..'".to_string()),
        s if s.starts_with("..") => Some("must not start with '..'".to_string()),
        _ => None,
    }
}
/// `IsCIdentifier`
pub fn c_identifier(s: &str) -> Vec<String> {
    let ok = |b: u8| b.is_ascii_alphabetic() || b == b'_';
    if s.bytes().next().is_some_and(ok) && s.bytes().all(|b| ok(b) || b.is_ascii_digit()) {
        return Vec::new();
    }
    vec![regex_error(
        "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
        "[A-Za-z_][A-Za-z0-9_]*",
        &["my_name", "MY_NAME", "MyName"],
    )]
}
/// `IsValidPathSegmentName`, the names of RBAC objects and what may stand in a URL's path.
pub fn path_segment(s: &str) -> Vec<String> {
    match s {
        "." => return vec!["may not be '.'".to_string()],
        ".." => return vec!["may not be '..'".to_string()],
        _ => {}
    }
    ["/", "%"].iter().filter(|c| s.contains(**c)).map(|c| format!("may not contain '{c}'")).collect()
}
/// For generateName: a trailing dash is no error, since something follows (`maskTrailingDash`).
pub fn mask_trailing_dash(name: &str) -> String {
    match name.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut chars: Vec<char> = rest.chars().collect();
            chars.pop();
            chars.push('a');
            chars.into_iter().collect()
        }
        _ => name.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        assert!(dns1123_label("web-1").is_empty() && dns1123_subdomain("a.b-c").is_empty());
        assert_eq!(dns1123_label("a.b"), ["must not contain dots"]);
        assert_eq!(
            dns1123_subdomain("Web"),
            [
                "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
            ]
        );
        assert!(qualified_name("app.kubernetes.io/name").is_empty());
        assert_eq!(qualified_name("/x"), ["prefix part must be non-empty"]);
        assert!(label_value("").is_empty());
        assert_eq!(
            dns1035_label("1a"),
            [
                "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
            ]
        );
        assert_eq!(generate_base(&"x".repeat(100)).len(), 58);
        assert_eq!(mask_trailing_dash("web-"), "wea");
    }
}
