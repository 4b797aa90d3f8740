//! The questions of tools/go-codec, answered by this crate: for the example `codec` and the test `judged`.
use api::apply::{self, Request};
use api::json::{self, Value};
use api::{KindInfo, Object, Quantity, Time, patch, scheme, yaml};

fn kind(s: &str) -> &'static KindInfo {
    let p: Vec<&str> = s.split('/').collect();
    let (group, version, kind) = match p.as_slice() {
        [g, v, k] => (*g, *v, *k),
        [v, k] => ("", *v, *k),
        _ => ("", "", ""),
    };
    scheme::by_kind(group, version, kind).expect("a kind of the table")
}

fn text(v: &str) -> String {
    Value::parse(v).ok().and_then(|v| v.as_str().map(str::to_string)).unwrap_or_default()
}
fn parse(v: &str) -> Value {
    Value::parse(v).unwrap_or_default()
}

type Answer = Result<String, String>;

fn codec(c: &[&str]) -> Answer {
    let mut o = kind(c[0]).new_object();
    let strict = json::decode(c[1].as_bytes(), &mut *o, true).map_err(|e| match e.syntax {
        true => format!("couldn't get version/kind; json parse error: {}", e.message),
        false => e.message,
    })?;
    if !strict.is_empty() {
        let all: Vec<String> = strict.into_iter().map(|e| e.0).collect();
        return Err(format!("strict decoding error: {}", all.join(", ")));
    }
    let direct = String::from_utf8_lossy(&json::encode(&*o)).into_owned();
    assert_eq!(direct, json::to_value(&*o, None).to_json(), "both ways of encoding agree");
    Ok(direct)
}

fn quantity(c: &[&str]) -> Answer {
    let q = Quantity::parse(&text(c[0])).map_err(|e| e.to_string())?;
    let of = |s: &str| Quantity::parse(s).unwrap_or_default();
    let (mut sum, mut less) = (q.clone(), q.clone());
    sum.add(&of("1500m"));
    less.sub(&of("1Ki"));
    Ok(format!("{q} {} {} {sum} {less} {}", q.value(), q.milli_value(), q.cmp(&of("1")) as i32))
}

fn apply_steps(c: &[&str]) -> Answer {
    let k = kind(c[0]);
    let reset = apply::Set::default();
    let mut live = k.new_object();
    let mut answers: Vec<Value> = Vec::new();
    for s in parse(c[1]).as_array().cloned().unwrap_or_default().iter() {
        let r = Request {
            manager: s.str_at(&["manager"]),
            subresource: "",
            api_version: k.api_version,
            now: Time::default(),
            reset: &reset,
        };
        let object = s.get("object").cloned().unwrap_or_default();
        let force = s.get("force").and_then(Value::as_bool).unwrap_or(false);
        let next: Result<Box<dyn Object>, String> = if s.str_at(&["op"]) == "apply" {
            apply::apply(&*live, &object, &r, force).map_err(|e| api::Status::from(e).to_string())
        } else {
            let mut new = k.new_object();
            match json::from_value(&object, &mut *new, true) {
                Ok(_) => {
                    apply::update(&*live, &mut *new, &r);
                    Ok(new)
                }
                Err(e) => Err(e.message),
            }
        };
        match next {
            Ok(n) => {
                live = n;
                if let Some(m) = live.metadata_mut() {
                    m.uid = "u".into();
                }
                answers.push(json::to_value(&*live, None).to_json().into());
            }
            Err(e) => answers.push(format!("error: {e}").into()),
        }
    }
    Ok(Value::from(answers).to_json())
}

/// The answer to a case of a mode, `OK ...` or `ERR ...`.
pub fn answer(mode: &str, case: &str) -> String {
    let c: Vec<&str> = case.split('\t').collect();
    let answer: Answer = match mode {
        "codec" => codec(&c),
        "quantity" => quantity(&c),
        "yaml" => yaml::parse(&text(c[0])).map(|v| v.to_json()).map_err(|e| e.message),
        "print" => Ok(Value::from(yaml::print(&parse(c[0]))).to_json()),
        "strategic" => {
            patch::strategic(&parse(c[1]), &parse(c[2]), kind(c[0]).desc).map(|v| v.to_json()).map_err(|e| e.0)
        }
        "threeway" => patch::create_three_way(&parse(c[1]), &parse(c[2]), &parse(c[3]), kind(c[0]).desc)
            .map(|v| v.to_json())
            .map_err(|e| e.0),
        "json" => patch::json(&parse(c[0]), &parse(c[1])).map(|v| v.to_json()).map_err(|e| e.0),
        "apply" => apply_steps(&c),
        other => Err(format!("no such question: {other}")),
    };
    match answer {
        Ok(a) => format!("OK {a}"),
        Err(e) => format!("ERR {}", Value::from(e).to_json()),
    }
}
