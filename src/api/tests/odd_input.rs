//! No input makes anything panic: seeded mutations of documents, patches, selectors and quantities.
use api::core_v1::Pod;
use api::json::{self, Value};
use api::{IntOrString, Quantity, patch, selector, yaml};

/// A small generator: the same numbers every time.
struct Rng(u64);
impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

const TEXTS: &[&str] = &[
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {a: b}}\nspec:\n  containers:\n  - {name: c, image: \"nginx:1.27\"}\n  - name: d\n    args: |\n      x\n       y\n    command: >-\n      a b\n",
    r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","creationTimestamp":"2026-01-02T03:04:05.5Z"},"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"1.5","memory":"10Gi"}}}]}}"#,
    "a: &x [1, 2, {b: *y}]\n? k\n: !!binary aGk=\n<<: [*x, {c: 1}]\n%YAML 1.1\n---\n...\n",
    "app in (web, db),tier!=x,!y,z>5",
    "spec.nodeName=n,status.phase!=Running\\,x",
    "-123456789012345678901234567890.123e-5Ki",
    r#"[{"op":"add","path":"/a/b~1c/-","value":{"$patch":"delete","$setElementOrder/containers":[{"name":"c"}]}}]"#,
];
const PIECES: &[&str] = &[
    ":",
    "-",
    "?",
    "{",
    "}",
    "[",
    "]",
    ",",
    "#",
    "&a",
    "*a",
    "!",
    "|",
    ">",
    "'",
    "\"",
    "%",
    "@",
    "`",
    "\t",
    "\n",
    " ",
    "\\",
    "\u{0}",
    "é",
    "\u{2028}",
    "\u{feff}",
    "😀",
    "9",
    "1e999",
    "0x",
    "-1",
    "e",
    "Ki",
    "~",
    "null",
    "$patch",
    "/",
    "\\u",
    "\r",
    "...",
    "---",
    "<<",
    "99999999999999999999",
];

fn mutated(r: &mut Rng) -> String {
    let mut chars: Vec<char> = TEXTS[r.below(TEXTS.len())].chars().collect();
    for _ in 0..1 + r.below(6) {
        let at = r.below(chars.len() + 1);
        match r.below(4) {
            0 => {
                let piece = PIECES[r.below(PIECES.len())];
                chars.splice(at..at, piece.chars());
            }
            1 => {
                let end = (at + r.below(8)).min(chars.len());
                chars.drain(at..end);
            }
            2 => chars.truncate(at),
            _ => {
                let end = (at + r.below(20)).min(chars.len());
                let copy: Vec<char> = chars[at..end].to_vec();
                let to = r.below(chars.len() + 1);
                chars.splice(to..to, copy);
            }
        }
    }
    chars.into_iter().collect()
}

#[test]
fn nothing_panics() {
    let mut r = Rng(0x7ab3_12e7_e501);
    let base = Value::parse(TEXTS[1]).unwrap_or_default();
    for _ in 0..6_000 {
        let text = mutated(&mut r);
        let mut pod = Pod::default();
        let _ = json::decode(text.as_bytes(), &mut pod, true);
        let _ = json::encode(&pod);
        let _ = selector::LabelSelector::parse(&text).map(|s| s.to_string());
        let _ = selector::FieldSelector::parse(&text).map(|s| s.to_string());
        let _ = IntOrString::from(text.as_str()).scaled_value(7, true);
        if let Ok(mut q) = Quantity::parse(text.trim()) {
            let other = q.clone();
            q.add(&other);
            q.sub(&Quantity::parse("1Gi").unwrap_or_default());
            let _ = (q.to_string(), q.value(), q.milli_value(), q.as_f64(), q.as_i64());
            q.mul(i64::MIN);
            q.round_up(0);
        }
        let parsed = Value::parse(&text).ok().or_else(|| yaml::parse(&text).ok());
        for d in yaml::documents(&text).flatten() {
            let _ = Value::parse(&d.value.to_json());
        }
        if let Some(v) = parsed {
            let printed = yaml::print(&v);
            let _ = yaml::parse(&printed);
            let _ = json::from_value(&v, &mut pod, true);
            let _ = patch::json(&base, &v);
            let _ = patch::merge(&base, &v);
            let _ = patch::strategic(&base, &v, &api::core_v1::POD);
            let _ = patch::create_three_way(&v, &base, &v, &api::core_v1::POD);
            let reset = api::apply::reset_fields("");
            let request = api::apply::Request {
                manager: "m",
                subresource: "",
                api_version: "v1",
                now: Default::default(),
                reset: &reset,
            };
            let _ = api::apply::apply(&Pod::default(), &v, &request, false);
        }
    }
}

#[test]
fn depth_is_bounded() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("- ", ""), ("{a: ", "}"), ("a:\n", "")] {
        let text = open.repeat(20_000) + &close.repeat(20_000);
        let _ = Value::parse(&text);
        let _ = yaml::parse(&text);
        let mut pod = Pod::default();
        let _ = json::decode(text.as_bytes(), &mut pod, true);
    }
    let mut nested = String::new();
    for i in 0..20_000 {
        nested.push_str(&" ".repeat(i.min(3000)));
        nested.push_str("a:\n");
    }
    let _ = yaml::parse(&nested);
}
