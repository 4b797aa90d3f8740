//! Expressions and what a real v1.37.2 cluster says of them (testdata/compile.txt, testdata/run.txt: an expression of
//! a ValidatingAdmissionPolicy after `>>`, then the refusal).

use super::*;
use crate::json::Value;

/// Expressions with their answers.
fn recorded(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix(">> "), found.last_mut()) {
            (Some(expression), _) => found.push((expression.to_string(), String::new())),
            (None, Some((_, answer))) => {
                if !answer.is_empty() {
                    answer.push('\n');
                }
                answer.push_str(line);
            }
            _ => {}
        }
    }
    found
}

/// What the API server says of an expression when it is created.
fn said(env: &Env, expression: &str, wanted: &[Type]) -> String {
    match compile(env, expression, wanted) {
        Ok(_) => "ok".to_string(),
        Err(CompileError::Invalid(detail)) => {
            format!("Invalid value: {}: {detail}", crate::go::quote(expression))
        }
        Err(CompileError::Internal(detail)) => format!("Internal error: {detail}"),
    }
}

/// Holds the answers to the recorded ones; all that differ are told at once.
fn hold(answers: Vec<(String, String, String)>) {
    let wrong: Vec<String> = answers
        .into_iter()
        .filter(|(_, expected, answer)| expected != answer)
        .map(|(expression, expected, answer)| format!(">> {expression}\n  wanted {expected}\n  got    {answer}"))
        .collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn expressions_compile_as_recorded() {
    let env = Env { authorizer: true, ..Env::default() };
    let answers = recorded(include_str!("testdata/compile.txt"));
    hold(
        answers
            .into_iter()
            .map(|(expression, expected)| {
                let answer = said(&env, &expression, &[Type::Bool]);
                (expression, expected, answer)
            })
            .collect(),
    );
}

fn request() -> Vec<(&'static str, Val)> {
    let object = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b","namespace":"celq","uid":"u","labels":{"app":"x","q":"0"},"creationTimestamp":"2026-11-30T09:23:17Z","managedFields":[]},"spec":{"containers":[{"name":"b","image":"nginx","args":["("],"resources":{"requests":{"cpu":"100m"}}}],"terminationGracePeriodSeconds":30},"status":{}}"#;
    let request = r#"{"operation":"CREATE","resource":{"group":"","version":"v1","resource":"pods"},"kind":{"group":"","version":"v1","kind":"Pod"},"userInfo":{"username":"kubernetes-admin","groups":["system:masters"]},"dryRun":true,"namespace":"celq","name":"b","options":{"kind":"CreateOptions"}}"#;
    let namespace = r#"{"metadata":{"name":"celq","labels":{"kubernetes.io/metadata.name":"celq"}}}"#;
    let value = |text: &str| Val::from(&Value::parse(text).expect("JSON"));
    vec![
        ("object", value(object)),
        ("oldObject", Val::Null),
        ("request", value(request)),
        ("namespaceObject", value(namespace)),
    ]
}

#[test]
fn expressions_run_as_recorded() {
    let checks = |check: &Check| Decision { allowed: check.service_account.is_none(), ..Decision::default() };
    let mut answers = Vec::new();
    for (expression, expected) in recorded(include_str!("testdata/run.txt")) {
        let message = expression.strip_prefix("= ");
        let (text, wanted) = match message {
            Some(text) => (text, Type::Str),
            None => (&*expression, Type::Bool),
        };
        let env = Env { authorizer: message.is_none(), ..Env::default() };
        let answer = match compile(&env, text, &[wanted]) {
            Err(_) => {
                format!("COMPILE {}", said(&env, text, &[if message.is_some() { Type::Str } else { Type::Bool }]))
            }
            Ok(program) => {
                let mut activation = Activation::new(request(), &[]).with_authorizer(&checks, Check::default());
                match activation.eval(&program) {
                    Err(fail) => format!("expression '{text}' resulted in error: {}", fail.text()),
                    Ok(Val::Bool(true)) => "ok".to_string(),
                    Ok(Val::Str(text)) => text.trim().to_string(),
                    Ok(_) => format!("failed expression: {text}"),
                }
            }
        };
        answers.push((expression, expected, answer));
    }
    hold(answers);
}

/// Expressions with what the most that they cost is estimated to (of selectors of devices), and what they cost for
/// `costs-object.json` or a device, as Kubernetes' own packages say (tools/cel-costs).
#[test]
fn expressions_cost_what_they_cost_in_kubernetes() {
    let value = |text: &str| Val::from(&Value::parse(text).expect("JSON"));
    let values = || {
        vec![
            ("object", value(include_str!("testdata/costs-object.json"))),
            ("oldObject", Val::Null),
            ("params", value(r#"{"data":{"max":"3","names":"a,b,c"}}"#)),
            (
                "request",
                value(
                    r#"{"name":"web","namespace":"default","operation":"CREATE","userInfo":{"username":"kubernetes-admin","groups":["system:authenticated","admins"]},"dryRun":false}"#,
                ),
            ),
            (
                "namespaceObject",
                value(r#"{"metadata":{"name":"default","labels":{"kubernetes.io/metadata.name":"default"}}}"#),
            ),
        ]
    };
    let mut answers = Vec::new();
    for line in include_str!("testdata/costs.tsv").lines() {
        let [expression, estimate, wanted] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let (wanted, cost) = if estimate == "-" {
            let program = compile(&Env { params: true, ..Env::default() }, expression, &[]);
            let cost = program.map(|program| {
                let mut activation = Activation::new(values(), &[]);
                let _ = activation.eval(&program);
                activation.take_spent().to_string()
            });
            (wanted.to_string(), cost)
        } else {
            let program = device::estimated(expression);
            let cost = program.map(|program| format!("{} {}", program.most, device::tests::cost(&program)));
            (format!("{estimate} {wanted}"), cost)
        };
        let cost = cost.unwrap_or_else(|error| error.detail().to_string());
        answers.push((expression.to_string(), wanted, cost));
    }
    hold(answers);
}

#[test]
fn no_text_makes_it_panic() {
    let env = Env { authorizer: true, patches: true, ..Env::default() };
    let mut texts: Vec<String> = Vec::new();
    for (expression, _) in
        recorded(include_str!("testdata/compile.txt")).into_iter().chain(recorded(include_str!("testdata/run.txt")))
    {
        let chars: Vec<char> = expression.chars().collect();
        for i in (0..chars.len()).step_by(3) {
            texts.push(chars[..i].iter().collect());
            texts.push(chars[i..].iter().collect());
            let mut cut = chars.clone();
            cut.remove(i);
            texts.push(cut.into_iter().collect());
        }
    }
    texts.push("(".repeat(10_000));
    texts.push("[".repeat(10_000));
    texts.push("!".repeat(10_000));
    texts.push(format!("1{}", "+1".repeat(10_000)));
    texts.push(format!("a{}", ".b".repeat(10_000)));
    for text in texts {
        if let Ok(program) = compile(&env, &text, &[]) {
            let _ = Activation::new(request(), &[]).eval(&program);
        }
    }
}

#[test]
fn an_expression_costs_no_more_than_it_may() {
    let text = format!("[1,2,3,4,5,6,7,8,9,10]{}", ".map(x, [1,2,3,4,5,6,7,8,9,10]".repeat(6)) + &")".repeat(6);
    let program = compile(&Env::default(), &text, &[]).expect("it compiles");
    let result = Activation::new(request(), &[]).eval(&program);
    assert_eq!(result.map(|_| ()), Err(Fail::Cost));
}

#[test]
fn patterns_are_read_as_go_does() {
    for (pattern, why) in [
        ("(", "missing closing ): `(`"),
        ("[a-", "missing closing ]: `[a-`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("\\", "trailing backslash at end of expression: ``"),
        (")", "unexpected ): `)`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("\\q", "invalid escape sequence: `\\q`"),
        ("[z-a]", "invalid character class range: `z-a`"),
    ] {
        let error = regex::Regex::new(pattern).map(|_| ()).unwrap_err();
        assert_eq!(error, format!("error parsing regexp: {why}"));
    }
    for (pattern, text, matches) in [
        ("^[a-z]([-a-z0-9]*[a-z0-9])?$", "web-1", true),
        ("^[a-z]([-a-z0-9]*[a-z0-9])?$", "web-", false),
        ("^registry\\.example\\.com/.+:[^:]+$", "registry.example.com/a/b:1", true),
        ("^(nginx|redis)(:|$)", "redis:7", true),
        ("^(nginx|redis)(:|$)", "redisx", false),
        ("^a{2,3}$", "aaaa", false),
        ("^\\d+$", "12a", false),
        ("(?i)LATEST$", "nginx:latest", true),
        ("\\bb\\b", "a b c", true),
        ("a.c", "a\nc", false),
        ("(?s)a.c", "a\nc", true),
        ("^[[:alpha:]_]+$", "a_b", true),
        ("^[^:]+$", "a:b", false),
        ("(a*)*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", false),
        ("x*", "", true),
    ] {
        assert_eq!(regex::Regex::new(pattern).map(|r| r.matches(text)), Ok(matches), "{pattern} {text}");
    }
}
