//! What is looked at in constants before an expression runs (cel-go's ASTValidators and the string formats').

use super::Issue;
use super::eval::{Activation, Fail};
use super::regex::Regex;
use super::strings;
use super::syntax::{Expr, Node};
use super::value::Val;

/// The nodes below one.
fn children(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        Node::Literal(_) | Node::Ident(_) => Vec::new(),
        Node::Select(operand, ..) => vec![operand],
        Node::Call(_, target, args) => target.iter().map(|t| &**t).chain(args).collect(),
        Node::List(items) => items.iter().map(|(item, _)| item).collect(),
        Node::Map(entries) => entries.iter().flat_map(|(k, v, _)| [k, v]).collect(),
        Node::Message(_, fields) => fields.iter().map(|(_, _, value, _)| value).collect(),
        Node::Loop(l) => vec![&l.range, &l.init, &l.condition, &l.step, &l.result],
    }
}

/// Wrong durations, timestamps, patterns and formats.
pub(super) fn validate(expr: &Expr, issues: &mut Vec<Issue>) {
    if let Node::Call(name, target, args) = &expr.kind {
        let wrong = |arg: &Expr, what: &str| Issue { at: arg.at, message: format!("invalid {what} argument") };
        match (&**name, target, &args[..]) {
            (name @ ("duration" | "timestamp"), None, [arg])
                if matches!(arg.kind, Node::Literal(Val::Str(_))) && Activation::constant(expr).is_err() =>
            {
                issues.push(wrong(arg, name));
            }
            ("matches", _, [.., arg]) => {
                if let Node::Literal(Val::Str(pattern)) = &arg.kind
                    && Regex::new(pattern).is_err()
                {
                    issues.push(wrong(arg, "matches"));
                }
            }
            ("format", Some(target), [list]) => format(expr, target, list, issues),
            _ => {}
        }
    }
    for child in children(expr) {
        validate(child, issues);
    }
}

fn format(call: &Expr, target: &Expr, list: &Expr, issues: &mut Vec<Issue>) {
    let (Node::Literal(Val::Str(format)), Node::List(items)) = (&target.kind, &list.kind) else { return };
    let mut wrong = |at: usize, message: String| issues.push(Issue { at, message });
    let (clauses, _) = match strings::clauses(format) {
        Ok(parsed) => parsed,
        Err(why) => return wrong(call.at, why),
    };
    for (i, clause) in clauses.iter().enumerate() {
        let Some((item, _)) = items.get(i) else { return wrong(call.at, format!("index {i} out of range")) };
        if let Node::Literal(value) = &item.kind
            && let Err(why) = clause.shown(value)
        {
            wrong(item.at, why);
        }
    }
    if items.len() > clauses.len() {
        let (expected, got) = (clauses.len(), items.len());
        wrong(call.at, format!("too many arguments supplied to string.format (expected {expected}, got {got})"));
    }
}

/// Conversions of constants, which are made when the program is: why one fails.
pub(super) fn constants(expr: &Expr) -> Option<String> {
    if let Node::Call(name, None, args) = &expr.kind
        && let [Expr { kind: Node::Literal(_), .. }] = &args[..]
        && matches!(&**name, "bool" | "bytes" | "double" | "duration" | "int" | "string" | "timestamp" | "uint")
        && let Err(Fail::Error(why)) = Activation::constant(expr)
    {
        return Some(why);
    }
    children(expr).into_iter().find_map(constants)
}
