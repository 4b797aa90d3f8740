//! What readers type must not panic: jsonpath, templates, flags, manifests and kustomizations, each from a handful of
//! good ones changed at random. The draws are those of a fixed seed, so that a find can be repeated.

use crate::commands::{all, root};
use crate::flags::parse;
use crate::jsonpath::{JsonPath, relaxed};
use crate::template::Template;
use crate::value::Value;

/// Changed inputs of each kind.
const ROUNDS: usize = 4_000;

/// A small generator (xorshift), as good as is needed here.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (n.max(1) as u64)).unwrap_or(0)
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        let at = self.below(list.len());
        list.get(at).copied().unwrap_or("")
    }

    /// A good input with some of its characters changed, doubled, moved or left out.
    fn changed(&mut self, good: &[&str], pieces: &[&str]) -> String {
        let mut text: Vec<char> = self.pick(good).chars().collect();
        for _ in 0..=self.below(6) {
            let at = self.below(text.len() + 1);
            match self.below(5) {
                0 if at < text.len() => {
                    text.remove(at);
                }
                1 => {
                    let piece: Vec<char> = self.pick(pieces).chars().collect();
                    text.splice(at..at, piece);
                }
                2 => {
                    let other: Vec<char> = self.pick(good).chars().collect();
                    let from = self.below(other.len());
                    text.splice(at..at, other.into_iter().skip(from).take(8));
                }
                3 => text.truncate(at.max(1)),
                _ => {
                    let c = char::from_u32(self.below(0x2ff) as u32).unwrap_or('é');
                    text.insert(at, c);
                }
            }
        }
        text.into_iter().collect()
    }
}

const DATA: &str = r#"{"kind":"Pod","metadata":{"name":"é","labels":{"a.b/c":"d"}},"n":null,"spec":{"x":[{"a":1},{"a":2.5},"s",[]],"i":-9223372036854775808}}"#;

#[test]
fn jsonpath() {
    let data = Value::parse(DATA).unwrap_or_default();
    let good = [
        "{.metadata.name}{\"\\n\"}",
        "{range .spec.x[*]}{.a}{\"\\t\"}{end}",
        "{.spec.x[?(@.a>1)].a}",
        "{.spec.x[0:2:1]['a','b']}",
        "{..a}",
        "{.metadata.labels.a\\.b/c}",
        "{.spec.x[-1:]}",
    ];
    let pieces =
        ["{", "}", "[", "]", "..", "?(", "@", "$", "\\", "'", "\"", "-1", ":", "*", "é", "99999999999999999999"];
    let mut draws = Draws(1);
    for _ in 0..ROUNDS {
        let text = draws.changed(&good, &pieces);
        if let Ok(p) = JsonPath::parse_lenient(&text) {
            let _ = p.execute(&data);
            let _ = p.execute_json(&data);
        }
        let _ = relaxed(&text);
    }
}

#[test]
fn templates() {
    let data = Value::parse(DATA).unwrap_or_default();
    let good = [
        "{{range $i, $e := .spec.x}}{{$i}}{{if $e}}{{$e}}{{else}}-{{end}}{{end}}",
        "{{with .metadata}}{{.name | printf \"%5.2s|%q|%x\" }}{{end}}",
        "{{define \"a\"}}{{template \"a\" .}}{{end}}{{template \"a\" .}}",
        "{{index .spec.x 1 \"a\"}}{{slice .kind 0 1}}{{len .spec.x}}",
        "{{/* c */ -}} {{- printf \"%*d %+v %#v %T\" 3 4 . . .n}}",
        "{{if and (eq .kind \"Pod\") (lt 1 2) (not .n)}}{{html .kind}}{{js .kind}}{{urlquery .kind}}{{end}}",
        "{{range 3}}{{.}}{{break}}{{end}}{{$x := 'a'}}{{$x = 0x1F}}{{1_0.5e3}}",
    ];
    let pieces =
        ["{{", "}}", "(", ")", "|", "$x", ":=", ".", "-", "range", "end", "\"", "`", "'\\", "%", "1e400", "é", "nil"];
    let mut draws = Draws(2);
    for _ in 0..ROUNDS {
        let text = draws.changed(&good, &pieces);
        if let Ok(t) = Template::parse(&text) {
            let _ = t.execute(&data);
        }
    }
}

#[test]
fn command_lines() {
    let good = [
        "get pods -o wide",
        "-n x logs -f web -c c --tail=3",
        "create cm c --from-literal=a=b",
        "exec -it p -- sh -c x",
    ];
    let pieces = [" ", "-", "--", "=", "-o", "--v", "\u{0}", "é", ",", "\"", "--output", "-1", " -- "];
    let mut draws = Draws(3);
    for _ in 0..ROUNDS {
        let words: Vec<String> = draws.changed(&good, &pieces).split(' ').map(String::from).collect();
        let at = draws.below(all().len());
        if let Some(c) = all().get(at) {
            let _ = parse(&[&c.flags, &root().flags], &words);
        }
        let (last, first) = words.split_last().map_or(("", &[][..]), |(l, f)| (l.as_str(), f));
        let _ = crate::complete::complete(first, last);
        let _ = crate::cmd::first_word(root(), &words);
    }
}

#[test]
fn manifests() {
    let good = [
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: \"1\"}\n",
        "- a\n- &x [1, 2]\n- *x\n---\nkind: List\nitems: [{kind: A}]\n",
        "a: |\n  text\nb: >-\n  more\n",
    ];
    let pieces =
        ["\n", ":", "- ", "&a", "*a", "{", "}", "[", "]", "|", ">", "---", "\t", "!!binary", "é", "\"", "0x", "1e999"];
    let mut draws = Draws(4);
    for _ in 0..ROUNDS / 4 {
        let text = draws.changed(&good, &pieces);
        for document in crate::manifest::documents(text.as_bytes()) {
            let Ok(v) = document else { break };
            let _ = crate::manifest::check_metadata(&v);
            let _ = (crate::print::object::yaml(&v), crate::print::kyaml::print(&v), v.to_json(), v.go_sharp_v());
            let _ = crate::resource::typed(&v);
        }
    }
}
