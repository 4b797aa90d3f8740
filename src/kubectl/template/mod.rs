//! Go's text/template as `-o go-template` uses it: the whole language, on the values that JSON has.

mod exec;
mod format;
mod functions;
mod lex;
mod parse;

use crate::value::Value;
use parse::Node;
use std::collections::BTreeMap;

/// A parsed template.
#[derive(Clone, Debug)]
pub struct Template {
    /// Its text.
    pub text: String,
    /// A field that is not there is an error (`--allow-missing-template-keys=false`).
    pub missing_is_error: bool,
    nodes: Vec<Node>,
    named: BTreeMap<String, Vec<Node>>,
}

impl Template {
    /// Parses a template; the error is Go's.
    pub fn parse(text: &str) -> Result<Template, String> {
        let (nodes, named) = parse::parse(text).map_err(|e| format!("template: output:{e}"))?;
        Ok(Template { text: text.to_string(), missing_is_error: false, nodes, named })
    }

    /// The template's text on a value; with an error, what was written before it.
    pub fn execute(&self, data: &Value) -> Result<String, (String, String)> {
        let mut state = exec::State::new(&self.text, &self.named, data, self.missing_is_error);
        match state.run(&self.nodes) {
            Ok(()) => Ok(state.out),
            Err(e) => Err((state.out, e)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Go's own package made of the templates of `cases.txt`: template, answer or error, each a JSON string.
    #[test]
    fn as_go_does() {
        let data = Value::parse(include_str!("cases.json")).unwrap_or_default();
        let mut wrong = Vec::new();
        for line in include_str!("cases.txt").lines() {
            let parts: Vec<String> = line
                .split('\t')
                .map(|p| Value::parse(p).ok().and_then(|v| v.as_str().map(String::from)).unwrap_or_default())
                .collect();
            let [template, want_out, want_error] = parts.as_slice() else { panic!("{line}") };
            let got = match Template::parse(template) {
                Err(e) => (String::new(), e),
                Ok(t) => match t.execute(&data) {
                    Ok(out) => (out, String::new()),
                    Err(both) => both,
                },
            };
            if (&got.0, &got.1) != (want_out, want_error) {
                wrong.push(format!("{template}\n  want {want_out:?} {want_error:?}\n  got  {:?} {:?}", got.0, got.1));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
