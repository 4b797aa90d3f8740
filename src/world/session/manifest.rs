//! The editor's text: run through kubectl as a client like any other, or only checked.

use super::suggest;
use crate::cluster::World;
use crate::programs::Running;
use api::SortSmall;
use node::files::{Tree, View};
use shell::process::{Buffer, Bytes, Process};
use std::rc::Rc;
use view::{DocumentResult, ManifestAction, ManifestResult, ObjectRef, Outcome, Problem, ToPage};

struct Request {
    id: u32,
    action: ManifestAction,
    text: String,
    running: Running,
    stdout: Rc<Buffer>,
    stderr: Rc<Buffer>,
}

/// Requests under way.
#[derive(Default)]
pub struct Requests {
    list: Vec<Request>,
}

/// What the reader could have typed.
pub fn command_line(action: ManifestAction) -> &'static str {
    match action {
        ManifestAction::Check => "",
        ManifestAction::Apply => "kubectl apply -f -",
        ManifestAction::Diff => "kubectl diff -f -",
        ManifestAction::Delete => "kubectl delete -f -",
    }
}

impl Requests {
    /// Starts kubectl with the text as its standard input.
    pub fn start(&mut self, world: &World, id: u32, action: ManifestAction, text: &str) {
        let (stdout, stderr) = (Rc::new(Buffer::default()), Rc::new(Buffer::default()));
        let process = Process {
            args: command_line(action).split(' ').map(str::to_string).collect(),
            env: shell::Environment::default(),
            cwd: "/".into(),
            files: Rc::new(View::new(Tree::new(), false, Vec::new())),
            stdin: Rc::new(Bytes::new(text.as_bytes())),
            stdout: stdout.clone(),
            stderr: stderr.clone(),
            family: Default::default(),
        };
        let running = world.run(process);
        self.list.push(Request { id, action, text: text.to_string(), running, stdout, stderr });
    }

    /// Something is under way.
    pub fn busy(&self) -> bool {
        !self.list.is_empty()
    }

    /// Answers of those that ended.
    pub fn collect(&mut self) -> Vec<ToPage> {
        let (done, going): (Vec<Request>, Vec<Request>) =
            std::mem::take(&mut self.list).into_iter().partition(|r| r.running.exit_code().is_some());
        self.list = going;
        done.into_iter().map(|r| ToPage::Manifest(r.result())).collect()
    }
}

impl Request {
    fn result(self) -> ManifestResult {
        let stdout = String::from_utf8_lossy(&self.stdout.take()).into_owned();
        let stderr = String::from_utf8_lossy(&self.stderr.take()).into_owned();
        let code = self.running.exit_code().unwrap_or(1);
        let mut documents = documents(&self.text);
        let outcomes = [
            (" created", Outcome::Created),
            (" configured", Outcome::Configured),
            (" unchanged", Outcome::Unchanged),
            (" deleted", Outcome::Deleted),
            (" serverside-applied", Outcome::Configured),
        ];
        for document in &mut documents {
            let line = stdout.lines().find(|l| {
                let (_, name) = l.split(' ').next().unwrap_or_default().split_once('/').unwrap_or_default();
                name == document.object.name || l.contains(&format!("\"{}\" ", document.object.name))
            });
            let found = line.and_then(|l| outcomes.iter().find(|(word, _)| l.contains(word)));
            document.outcome = found.map_or(Outcome::Refused, |(_, outcome)| *outcome);
        }
        // A diff that differs ends with 1 and that is no failure.
        let failed = code > 1 || (code == 1 && !(self.action == ManifestAction::Diff && stderr.is_empty()));
        let mut problems = if failed { problems(&self.text, &stderr) } else { Vec::new() };
        suggest(&self.text, &mut problems);
        ManifestResult {
            id: self.id,
            action: self.action,
            documents,
            problems,
            stdout,
            stderr,
            code: u8::try_from(code).unwrap_or(u8::MAX),
        }
    }
}

/// Reads the text as the server would, without it: YAML, strict decoding, defaults, validation.
pub fn check(id: u32, text: &str) -> ManifestResult {
    let mut problems = Vec::new();
    for document in api::yaml::documents(text) {
        let document = match document {
            Ok(document) => document,
            Err(error) => {
                let message = format!("error parsing STDIN: {}", error.message);
                // libyaml's own line in the message, else where the document began.
                let began = u32::try_from(error.line).unwrap_or(1).max(1);
                let line = line_number(&message).unwrap_or(began);
                problems.push(Problem { line, message, ..Problem::default() });
                break;
            }
        };
        let field = |name: &str| document.value.str_at(&[name]).to_string();
        let (version, kind) = (field("apiVersion"), field("kind"));
        if document.overflow.is_none() && matches!(document.value, api::json::Value::Null) {
            continue;
        }
        let start = u32::try_from(document.line).unwrap_or(1);
        if let Some(why) = document.overflow {
            problems.push(Problem {
                line: start,
                message: format!("error validating data: {why}"),
                ..Problem::default()
            });
            continue;
        }
        let Some(info) = api::scheme::by_api_version(&version, &kind) else {
            let message = if kind.is_empty() {
                "error validating data: kind not set".to_string()
            } else if version.is_empty() {
                "error validating data: apiVersion not set".to_string()
            } else {
                format!("no matches for kind \"{kind}\" in version \"{version}\"")
            };
            let line = find(text, start, &["kind"]).map_or(start, |p| p.0);
            problems.push(Problem { line, message, ..Problem::default() });
            continue;
        };
        let mut object = info.new_object();
        match api::json::from_value(&document.value, &mut *object, true) {
            Ok(strict) if !strict.is_empty() => {
                // The server refuses them before it looks at anything else.
                for error in strict {
                    problems.push(place(text, start, &format!("strict decoding error: {error}"), &error.to_string()));
                }
                continue;
            }
            Ok(_) => {}
            Err(error) => {
                let message = error.to_string();
                problems.push(place(text, start, &message, &message));
                continue;
            }
        }
        if info.namespaced
            && let Some(meta) = object.metadata_mut()
            && meta.namespace.is_empty()
        {
            meta.namespace = "default".into();
        }
        api::defaults::apply(&mut *object);
        for error in api::validation::create(&*object).iter() {
            let message = error.to_string();
            problems.push(place(text, start, &message, &message));
        }
    }
    problems.sort_small_by_key(|p| p.line);
    problems.truncate(50);
    suggest(text, &mut problems);
    let documents = documents(text);
    ManifestResult { id, action: ManifestAction::Check, documents, problems, ..ManifestResult::default() }
}

/// Says of unknown fields what they probably should be.
fn suggest(text: &str, problems: &mut [Problem]) {
    for problem in problems.iter_mut().filter(|p| p.column > 0) {
        let Some(path) = problem.message.split("unknown field \"").nth(1).and_then(|rest| rest.split('"').next())
        else {
            continue;
        };
        // The document that the line is in.
        let all = documents(text);
        let document = all.iter().rev().find(|d| d.line <= problem.line);
        let info = document.and_then(|d| api::scheme::by_api_version(&d.api_version, &d.object.kind));
        problem.suggestion = info.and_then(|i| suggest::field(i.desc, path)).map(str::to_string);
    }
}

fn line_number(message: &str) -> Option<u32> {
    let at = message.find("line ")? + 5;
    let digits: String = message.get(at..)?.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// The documents' names, as far as the text can be read.
fn documents(text: &str) -> Vec<DocumentResult> {
    let mut out = Vec::new();
    for document in api::yaml::documents(text).map_while(Result::ok) {
        let field = |path: &[&str]| document.value.str_at(path).to_string();
        let kind = field(&["kind"]);
        if !kind.is_empty() {
            out.push(DocumentResult {
                api_version: field(&["apiVersion"]),
                object: ObjectRef {
                    kind,
                    namespace: field(&["metadata", "namespace"]),
                    name: field(&["metadata", "name"]),
                },
                line: u32::try_from(document.line).unwrap_or(1),
                outcome: Outcome::Valid,
            });
        }
    }
    out
}

/// kubectl's complaints, each at the line it is about.
fn problems(text: &str, stderr: &str) -> Vec<Problem> {
    let mut out: Vec<Problem> = Vec::new();
    for line in stderr.lines().filter(|l| !l.trim().is_empty()).take(50) {
        if let Some(number) = line_number(line).filter(|_| line.contains("yaml") || line.contains("JSON")) {
            out.push(Problem { line: number, message: line.to_string(), ..Problem::default() });
            continue;
        }
        if let Some(rest) = line.strip_prefix("* ") {
            out.push(place(text, 1, rest, rest));
            continue;
        }
        out.push(place(text, 1, line, line));
        // Several fields may be named at once: each is marked where it stands.
        for further in line.split("unknown field ").skip(2) {
            let message = format!("unknown field {}", further.trim_end_matches(", "));
            out.push(place(text, 1, &message, &message));
        }
    }
    out
}

/// A problem at the field that its words name.
fn place(text: &str, start: u32, message: &str, about: &str) -> Problem {
    let mut problem = Problem { message: message.to_string(), ..Problem::default() };
    let Some(path) = field_path(about) else { return problem };
    let segments: Vec<&str> = path.split(['.', '[']).map(|s| s.trim_end_matches(']')).collect();
    // The whole path, or as much of it as stands in the text.
    for length in (1..=segments.len()).rev() {
        let part = segments.get(..length).unwrap_or_default();
        if let Some((line, column, end)) = find(text, start, part) {
            problem.line = line;
            problem.column = column;
            problem.end_column = end;
            break;
        }
    }
    problem
}

/// `spec.replica` out of `unknown field "spec.replica"` or `spec.replicas: Invalid value: -1`.
fn field_path(message: &str) -> Option<String> {
    let looks = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '[' | ']' | '_' | '-' | '/'))
            && (word.contains('.') || word.contains('['))
    };
    for marker in ["unknown field \"", "duplicate field \""] {
        if let Some(at) = message.find(marker) {
            return message.get(at + marker.len()..)?.split('"').next().map(str::to_string);
        }
    }
    // `... into Go struct field DeploymentSpec.spec.replicas of type int32`: the type, then the path, which has the
    // names of inlined types in it.
    if let Some((_, rest)) = message.split_once("Go struct field ") {
        let path = rest.split(' ').next().unwrap_or_default();
        let keys = path.split('.').skip(1).filter(|key| !key.starts_with(|c: char| c.is_ascii_uppercase()));
        return Some(keys.collect::<Vec<_>>().join("."));
    }
    if let Some(at) = message
        .find(": Invalid value")
        .or_else(|| message.find(": Required value"))
        .or_else(|| message.find(": Unsupported value"))
        .or_else(|| message.find(": Forbidden"))
        .or_else(|| message.find(": Duplicate value"))
    {
        return message.get(..at)?.rsplit([' ', ':']).next().map(str::to_string);
    }
    message.split([' ', ',', '(', ')', ':', '"']).find(|w| looks(w)).map(str::to_string)
}

/// Where a path of keys and list indices stands in block-style YAML: line, first column, column after the last.
fn find(text: &str, start: u32, path: &[&str]) -> Option<(u32, u32, u32)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut at = start.saturating_sub(1) as usize;
    let mut indent: Option<usize> = None;
    let mut found = None;
    for (depth, segment) in path.iter().enumerate() {
        if let Ok(index) = segment.parse::<usize>() {
            // The list's items: dashes at one indentation.
            let mut seen = 0;
            let mut column = None;
            let mut hit = None;
            for (number, line) in lines.iter().enumerate().skip(at) {
                let trimmed = line.trim_start();
                let here = line.len() - trimmed.len();
                if trimmed.is_empty() || trimmed.starts_with('#') {
                    continue;
                }
                if column.is_none() && trimmed.starts_with('-') {
                    column = Some(here);
                }
                if column == Some(here) && trimmed.starts_with('-') {
                    if seen == index {
                        hit = Some((number, here));
                        break;
                    }
                    seen += 1;
                } else if column.is_some_and(|c| here < c) || (column.is_none() && number > at) {
                    break;
                }
            }
            let (number, here) = hit?;
            at = number;
            indent = Some(here + 2);
            found = Some((number, here + 1, here + 2));
            continue;
        }
        let mut hit = None;
        let mut level = indent;
        for (number, line) in lines.iter().enumerate().skip(at) {
            let dashed = line.trim_start().starts_with("- ");
            let trimmed = line.trim_start().trim_start_matches("- ");
            let here = line.len() - trimmed.len();
            if trimmed.is_empty() || trimmed.starts_with('#') || (depth == 0 && trimmed == "---" && number == at) {
                continue;
            }
            if trimmed == "---" {
                break;
            }
            let level = *level.get_or_insert(here);
            if here < level || (dashed && number > at && here <= level) {
                break;
            }
            if here == level
                && let Some(rest) = trimmed.strip_prefix(segment)
                && rest.trim_start().starts_with(':')
            {
                hit = Some((number, here));
                break;
            }
        }
        let (number, here) = hit?;
        found = Some((number, here + 1, here + 1 + segment.len()));
        at = if path.get(depth + 1).is_some() { number + 1 } else { number };
        // The next key stands deeper; a list may stand at the same column.
        indent = None;
        if let Some(next) = lines.get(at) {
            let deeper = next.len() - next.trim_start().len();
            if deeper > here {
                indent = Some(deeper);
            }
        }
    }
    let (line, column, end) = found?;
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Some((number(line + 1), number(column), number(end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replica: 3\n  template:\n    spec:\n      containers:\n      - name: a\n      - name: b\n        image: x\n";

    #[test]
    fn wrong_types_are_placed() {
        let text = "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32";
        assert_eq!(field_path(text).as_deref(), Some("spec.replicas"));
        let kind = "json: cannot unmarshal number into Go struct field Deployment.TypeMeta.kind of type string";
        assert_eq!(field_path(kind).as_deref(), Some("kind"));
        let wrong = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: three\n";
        let problems = check(1, wrong).problems;
        assert_eq!(problems.first().map(|p| (p.line, p.column)), Some((6, 3)), "{problems:?}");
    }

    #[test]
    fn as_many_problems_as_the_server_names() {
        // The image that is missing too is never looked at.
        let text = TEXT.replace("image:", "imag:");
        let messages: Vec<String> = check(1, &text).problems.into_iter().map(|p| p.message).collect();
        assert_eq!(messages.len(), 2, "{messages:?}");
        assert!(messages.iter().all(|m| m.contains("unknown field")), "{messages:?}");
    }

    #[test]
    fn fields_are_found() {
        assert_eq!(find(TEXT, 1, &["spec", "replica"]), Some((6, 3, 10)));
        let path = ["spec", "template", "spec", "containers", "1", "image"];
        assert_eq!(find(TEXT, 1, &path), Some((12, 9, 14)));
        assert_eq!(find(TEXT, 1, &["spec", "none"]), None);
    }

    #[test]
    fn complaints_stand_at_their_line() {
        let problem = place(TEXT, 1, "m", "strict decoding error: unknown field \"spec.replica\"");
        assert_eq!((problem.line, problem.column, problem.end_column), (6, 3, 10));
        let message = "The Deployment \"web\" is invalid: spec.template.spec.containers[0].image: Required value";
        assert_eq!(place(TEXT, 1, message, message).line, 10);
        assert_eq!(place(TEXT, 1, "m", "The connection to the server was refused").line, 0);
        assert_eq!(line_number("error converting YAML to JSON: yaml: line 8: x"), Some(8));
    }
}
