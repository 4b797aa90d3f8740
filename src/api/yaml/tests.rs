use super::*;

fn json(yaml: &str) -> String {
    match parse(yaml) {
        Ok(v) => v.to_json(),
        Err(e) => e.message,
    }
}

#[test]
fn scalars() {
    for (yaml, want) in [
        ("a: yes", r#"{"a":true}"#),
        ("a: 'yes'", r#"{"a":"yes"}"#),
        ("a: 010", r#"{"a":8}"#),
        ("a: 0o14", r#"{"a":12}"#),
        ("a: 08", r#"{"a":8}"#),
        ("a: 0x1F", r#"{"a":31}"#),
        ("a: 1_000", r#"{"a":1000}"#),
        ("a: 1e3", r#"{"a":1000}"#),
        ("a: 1.50", r#"{"a":1.5}"#),
        ("a: ~", r#"{"a":null}"#),
        ("a:", r#"{"a":null}"#),
        ("a: 2026-01-02", r#"{"a":"2026-01-02"}"#),
        ("a: 12:30:45", r#"{"a":"12:30:45"}"#),
        ("1: x", r#"{"1":"x"}"#),
        ("true: x", r#"{"true":"x"}"#),
        ("a: !!str 1", r#"{"a":"1"}"#),
        ("a: &x {b: 1}\nc: *x", r#"{"a":{"b":1},"c":{"b":1}}"#),
        ("a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}", r#"{"a":{"b":1,"c":2},"d":{"b":1,"c":3}}"#),
        ("", "null"),
        ("# only a comment", "null"),
        ("a: 1\na: 2", r#"{"a":2}"#),
        ("a: 18446744073709551615", r#"{"a":18446744073709552000}"#),
        ("a: .inf", "json: unsupported value: +Inf"),
        ("a: |\n  x\n  y\n", r#"{"a":"x\ny\n"}"#),
        ("a: >-\n  x\n  y\n", r#"{"a":"x y"}"#),
    ] {
        assert_eq!(json(yaml), want, "{yaml}");
    }
}

/// As kubectl shows them on a real v1.37.2 cluster.
#[test]
fn errors() {
    for (yaml, want) in [
        (
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n labels: {a: b}\n",
            "yaml: line 4: did not find expected key",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata:\n\tname: p\n",
            "yaml: line 4: found character that cannot start any token",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: scribe\nspec:\n  containers:\n  - name: pen\n    image: alpine:3.20\n\tcommand: [\"sleep\", \"600\"]\n",
            "yaml: line 9: found a tab character that violates indentation",
        ),
        ("a: *x", "yaml: unknown anchor 'x' referenced"),
        ("a: &x [*x]", "yaml: anchor 'x' value contains itself"),
        ("name: {{ x }}", "yaml: invalid map key: map[interface {}]interface {}{\"x\":interface {}(nil)}"),
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("x: 1\na: b: c", "yaml: line 2: mapping values are not allowed in this context"),
        ("a: \"x", "yaml: found unexpected end of stream"),
    ] {
        assert_eq!(json(yaml), want, "{yaml}");
    }
    assert_eq!(
        parse_strict("a: 1\na: 2").map_err(|e| e.message),
        Err("yaml: unmarshal errors:\n  line 2: key \"a\" already set in map".to_string())
    );
}

#[test]
fn splits() {
    let all = |s: &str| -> Vec<String> {
        documents(s).map(|d| d.map_or_else(|e| e.message, |d| d.value.to_json())).collect()
    };
    assert_eq!(all("a: 1\n---\n# x\n---\nb: 2\n"), [r#"{"a":1}"#, "null", r#"{"b":2}"#]);
    assert_eq!(all("---\na: 1\n--- # c\nb: 2"), [r#"{"a":1}"#, r#"{"b":2}"#]);
    assert_eq!(all("a: 1\n--- x\n"), ["invalid Yaml document separator: x"]);
    assert_eq!(all(""), Vec::<String>::new());
    assert_eq!(all("{\"a\":1}\n{\"b\":2}"), [r#"{"a":1}"#, r#"{"b":2}"#]);
    assert_eq!(all("{a: 1}\n"), [r#"{"a":1}"#]);
    assert_eq!(
        all("a: 1\n---\nm:\n  x: 1\n y: 2\n---\nc: 3\n"),
        [r#"{"a":1}"#, "error converting YAML to JSON: yaml: line 2: did not find expected key"]
    );
}

#[test]
fn too_deep_names_the_bound_that_holds() {
    let error = |text: String| documents(&text).find_map(|d| d.err().map(|e| e.message)).unwrap_or_default();
    let flow = error("[".repeat(300));
    let block = error((0..300).map(|i| format!("{}a:\n", " ".repeat(i))).collect());
    for told in [flow, block] {
        assert!(told.ends_with("exceeded max depth of 200"), "{told}");
    }
    assert_eq!(error("[".repeat(150) + &"]".repeat(150)), "");
}

#[test]
fn prints() {
    let print = |json: &str| Value::parse(json).map(|v| print(&v)).unwrap_or_default();
    assert_eq!(
        print(
            r#"{"b":[{"x":1,"y":[]},"s",[1,2]],"a":{"c":null,"d":{}},"t":"2026-01-02T03:04:05Z","yes":"no","n":"1","m":"l1\nl2\n","q":"a: b","e":"","at":"@x"}"#
        ),
        r#"a:
  c: null
  d: {}
at: '@x'
b:
- x: 1
  "y": []
- s
- - 1
  - 2
e: ""
m: |
  l1
  l2
"n": "1"
q: 'a: b'
t: "2026-01-02T03:04:05Z"
"yes": "no"
"#
    );
    assert_eq!(
        print(
            r#"{"message":"0/1 nodes are available: 1 node(s) had untolerated taint. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."}"#
        ),
        "message: '0/1 nodes are available: 1 node(s) had untolerated taint. preemption: 0/1\n  nodes are available: 1 Preemption is not helpful for scheduling.'\n"
    );
    assert_eq!(print(r#"{"a10":1,"a9":2,"B":3,"a-1":4}"#), "B: 3\na-1: 4\na9: 2\na10: 1\n");
    assert_eq!(print("1.5"), "1.5\n");
}
