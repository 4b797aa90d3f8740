//! Mistaken objects of every kind and what a real v1.37.2 server said of them (testdata/asked, whose form
//! tools/refusals.py tells): here the whole server answers, so its strategies, admission and warnings are held too.

use super::*;

const NAMESPACE: &str = "refusals";

/// What is said of a request, as the files have it.
fn said(response: &Response) -> Vec<String> {
    let mut lines = Vec::new();
    if let Answer::Status(status) = &response.answer
        && response.code >= 400
    {
        let body = (**status).clone().into_object();
        if response.code == 422 {
            for cause in body.details.get().iter().flat_map(|details| details.causes.iter()) {
                lines.push(format!("{}: {}", cause.field, cause.message));
            }
        } else {
            lines.push(format!("! {} {}", response.code, body.message));
        }
    }
    lines.extend(response.warnings.iter().map(|warning| format!("warning: {warning}")));
    lines.into_iter().map(|line| line.replace('\n', "\\n")).collect()
}

/// Unique names and moments are each server's own.
fn masked(text: &str) -> String {
    let own = |word: &str| {
        let uid = word.len() == 36 && word.matches('-').count() == 4;
        let moment = word.len() == 20 && word.ends_with('Z') && word.matches(':').count() == 2;
        uid || moment && !word.starts_with("2026-01-01")
    };
    let mut out = String::new();
    for word in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && !"-:".contains(c)) {
        let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        out.push_str(if own(bare) { "<own>" } else { bare });
        out.push_str(word.strip_prefix(bare).unwrap_or_default());
    }
    out
}

/// Sets a field, an item, or the item behind the last; null removes.
fn set(at: &mut Value, steps: &[String], value: &Value) {
    let Some((first, rest)) = steps.split_first() else { return };
    if let Some(list) = at.as_array_mut() {
        let i: usize = first.parse().expect("an index");
        let list = list.make();
        match (rest.is_empty(), list.get_mut(i)) {
            (false, Some(item)) => set(item, rest, value),
            (true, Some(_)) if value.is_null() => {
                list.remove(i);
            }
            (true, Some(item)) => *item = value.clone(),
            (_, None) => list.push(value.clone()),
        }
    } else if !rest.is_empty() {
        set(at.make_object().entry(first.as_str(), Value::object), rest, value);
    } else if value.is_null() {
        at.make_object().remove(first);
    } else {
        at.set(first.as_str(), value.clone());
    }
}

/// A kind's base object at the server.
struct Asked<'a> {
    client: &'a Client,
    kind: &'static KindInfo,
    base: Value,
    lives: bool,
}

impl Asked<'_> {
    async fn write(&self, verb: Verb, subresource: &str, body: &Value, dry_run: bool) -> Response {
        let namespace = if self.kind.namespaced { NAMESPACE } else { "" };
        let name = if verb == Verb::Create { "" } else { self.base.str_at(&["metadata", "name"]) };
        let target = Client::target(self.kind, subresource, namespace, name);
        let query = match verb {
            Verb::Get | Verb::Delete => Query::None,
            _ => Query::Write(WriteOptions { dry_run, ..WriteOptions::default() }),
        };
        let empty = matches!(verb, Verb::Get | Verb::Delete);
        let body = if empty { Body::Empty } else { Body::Bytes(Rc::from(body.to_json().as_bytes())) };
        self.client.response(self.client.request(verb, target, body, query)).await
    }

    async fn live(&self) -> Value {
        match self.write(Verb::Get, "", &Value::default(), false).await.answer {
            Answer::Object(found) => api::json::to_value(&*found.body, Some(found.revision)),
            _ => panic!("{} is not there", self.kind.kind),
        }
    }

    /// Creates the object, with its status.
    async fn exists(&mut self) {
        if std::mem::replace(&mut self.lives, true) {
            return;
        }
        let created = self.write(Verb::Create, "", &self.base, false).await;
        assert!(created.code < 300, "{}: {:?}", self.kind.kind, said(&created));
        if self.base.get("status").is_some() {
            let mut with = self.base.clone();
            with.set("metadata", self.live().await.get("metadata").cloned().unwrap_or_default());
            let put = self.write(Verb::Update, "status", &with, false).await;
            assert!(put.code < 300, "{}: {:?}", self.kind.kind, said(&put));
        }
    }

    async fn answer(&mut self, verb: &str, changes: &str) -> Vec<String> {
        let mut new = self.base.clone();
        for (pointer, value) in Value::parse(changes).expect("JSON").as_object().expect("an object") {
            let steps: Vec<String> = api::patch::pointer(pointer).collect();
            set(&mut new, &steps, value);
        }
        if matches!(verb, "create" | "default") {
            let response = self.write(Verb::Create, "", &new, true).await;
            let (Answer::Object(made), "default") = (&response.answer, verb) else { return said(&response) };
            let mut value = api::json::to_value(&*made.body, None);
            for gone in ["apiVersion", "kind", "metadata", "status"] {
                value.make_object().remove(gone);
            }
            return vec![value.to_json_unescaped(0)];
        }
        self.exists().await;
        let version = self.live().await.str_at(&["metadata", "resourceVersion"]).to_string();
        let metadata = new.make_object().entry("metadata", Value::object).make_object();
        metadata.entry("resourceVersion", || version.as_str().into());
        said(&self.write(Verb::Update, if verb == "status" { "status" } else { "" }, &new, true).await)
    }
}

fn play(text: &'static str) {
    with_server(move |_, client, _| async move {
        let namespace = format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{NAMESPACE}"}}}}"#);
        client.create_json("", &namespace).await.unwrap();
        let account = r#"{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}"#;
        client.create_json(NAMESPACE, account).await.unwrap();
        let mut wrong = Vec::new();
        for part in text.split("=== ").skip(1) {
            let (name, rest) = part.split_once('\n').expect("a name");
            let (base, questions) = rest.split_once("\n---\n").expect("questions");
            let base = api::yaml::parse(base).expect("YAML");
            let of = (base.str_at(&["apiVersion"]), base.str_at(&["kind"]));
            let kind = api::scheme::by_api_version(of.0, of.1).expect("a kind");
            let mut asked = Asked { client: &client, kind, base, lives: false };
            let mut lines = questions.lines().peekable();
            while let Some(question) = lines.next() {
                let mut want = Vec::new();
                while let Some(line) = lines.next_if(|line| line.starts_with("  ")) {
                    want.push(masked(line.trim_start()));
                }
                let (verb, changes) = question.split_once(' ').expect("a verb");
                let found: Vec<String> = asked.answer(verb, changes).await.iter().map(|line| masked(line)).collect();
                if found != want {
                    let only = |these: &[String], others: &[String], mark: &str| -> String {
                        let own = these.iter().filter(|line| !others.contains(line));
                        own.map(|line| format!("{mark}{line}\n")).collect()
                    };
                    let mut difference = only(&want, &found, "-") + &only(&found, &want, "+");
                    if difference.is_empty() {
                        difference =
                            format!("wanted {}\nin another order than {}\n", want.join("\n"), found.join("\n"));
                    }
                    wrong.push(format!("=== {name}: {question}\n{difference}"));
                }
            }
            if asked.lives {
                asked.write(Verb::Delete, "", &Value::default(), false).await;
            }
        }
        assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    });
}

#[test]
fn core_kinds() {
    play(include_str!("../testdata/asked/core.txt"));
}

#[test]
fn networking() {
    play(include_str!("../testdata/asked/network.txt"));
}

#[test]
fn pods() {
    play(include_str!("../testdata/asked/pods.txt"));
}

#[test]
fn policies() {
    play(include_str!("../testdata/asked/policy.txt"));
}

#[test]
fn workloads() {
    play(include_str!("../testdata/asked/workloads.txt"));
}
