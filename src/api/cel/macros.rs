//! Macros: calls that become loops (cel-go's parser/macro.go, ext/comprehensions.go and the optional types').

use super::Issue;
use super::syntax::{Expr, Loop, Node};
use super::value::Val;
use crate::Str;

/// The variable that a loop's result gathers in.
pub(super) const RESULT: &str = "@result";

fn wrong(at: usize, message: &str) -> Issue {
    Issue { at, message: message.to_string() }
}

/// What a call is: itself, or what its macro makes of it.
pub(super) fn expand(name: &str, target: Option<Expr>, mut args: Vec<Expr>, at: usize) -> Result<Expr, Issue> {
    let Some(target) = target else {
        if name == "has" && args.len() == 1 {
            return match args.pop().map(|e| (e.at, e.kind)) {
                Some((_, Node::Select(operand, field, false))) => Ok(Expr::new(Node::Select(operand, field, true), at)),
                other => Err(wrong(other.map_or(at, |(at, _)| at), "invalid argument to has() macro")),
            };
        }
        return Ok(Expr::call(name, args, at));
    };
    let count = args.len();
    let one =
        matches!((name, count), ("all" | "exists" | "exists_one" | "existsOne" | "filter" | "map", 2) | ("map", 3));
    let two = matches!(
        (name, count),
        ("all" | "exists" | "existsOne" | "transformList" | "transformMap" | "transformMapEntry", 3)
            | ("transformList" | "transformMap" | "transformMapEntry", 4)
    );
    let optional = matches!((name, count), ("optMap" | "optFlatMap", 2)) || (name == "sortBy" && count == 2);
    if !(one || two || optional) {
        return Ok(Expr::new(Node::Call(name.into(), Some(Box::new(target)), args), at));
    }
    let mut args = args.into_iter();
    let mut next = || args.next().unwrap_or_else(|| Expr::literal(Val::Null, at));
    let first = next();
    let var = name_of(&first, name, two)?;
    if optional {
        return Ok(with_optional(name, target, &var, next(), at));
    }
    let second_expr = two.then(&mut next);
    let second = match &second_expr {
        None => None,
        Some(expr) => {
            let second = name_of(expr, name, two)?;
            if second == var {
                return Err(wrong(expr.at, &format!("duplicate variable name: {var}")));
            }
            Some(second)
        }
    };
    let transforms = name == "map" || name.starts_with("transform");
    let filter = (transforms && count == if two { 4 } else { 3 }).then(&mut next);
    let body = next();
    let accu = || Expr::ident(RESULT, at);
    let call = |name: &str, args: Vec<Expr>| Expr::call(name, args, at);
    let lit = |value: Val| Expr::literal(value, at);
    let list = |item: Expr| Expr::new(Node::List(vec![(item, false)]), at);
    let mut condition = lit(Val::Bool(true));
    let mut result = accu();
    let (init, step) = match name {
        "all" => {
            condition = call("@not_strictly_false", vec![accu()]);
            (lit(Val::Bool(true)), call("_&&_", vec![accu(), body]))
        }
        "exists" => {
            condition = call("@not_strictly_false", vec![call("!_", vec![accu()])]);
            (lit(Val::Bool(false)), call("_||_", vec![accu(), body]))
        }
        "exists_one" | "existsOne" => {
            result = call("_==_", vec![accu(), lit(Val::Int(1))]);
            let more = call("_+_", vec![accu(), lit(Val::Int(1))]);
            (lit(Val::Int(0)), call("_?_:_", vec![body, more, accu()]))
        }
        "filter" => {
            let more = call("_+_", vec![accu(), list(first)]);
            (Expr::new(Node::List(Vec::new()), at), call("_?_:_", vec![body, more, accu()]))
        }
        "map" | "transformList" => (Expr::new(Node::List(Vec::new()), at), call("_+_", vec![accu(), list(body)])),
        "transformMap" => {
            let step = call("cel.@mapInsert", vec![accu(), first, body]);
            (Expr::new(Node::Map(Vec::new()), at), step)
        }
        _ => (Expr::new(Node::Map(Vec::new()), at), call("cel.@mapInsert", vec![accu(), body])),
    };
    let step = match filter {
        Some(filter) => call("_?_:_", vec![filter, step, accu()]),
        None => step,
    };
    let accumulator = RESULT.into();
    let inner = Loop { range: target, var, second, accumulator, init, condition, step, result };
    Ok(Expr::new(Node::Loop(Box::new(inner)), at))
}

fn name_of(expr: &Expr, name: &str, two: bool) -> Result<Str, Issue> {
    let Node::Ident(var) = &expr.kind else {
        let text = match name {
            "map" | "filter" => "argument is not an identifier",
            "optMap" | "optFlatMap" => {
                return Err(wrong(expr.at, &format!("{name}() variable name must be a simple identifier")));
            }
            "sortBy" => "sortBy variable name must be a simple identifier",
            _ if two => "argument must be a simple name",
            _ => "argument must be a simple name",
        };
        return Err(wrong(expr.at, text));
    };
    if &**var == RESULT || &**var == "__result__" {
        return Err(wrong(expr.at, "iteration variable overwrites accumulator variable"));
    }
    Ok(var.clone())
}

/// `let var = init in result`
pub(super) fn bind(var: &Str, init: Expr, result: Expr, at: usize) -> Expr {
    let inner = Loop {
        range: Expr::new(Node::List(Vec::new()), at),
        var: "#unused".into(),
        second: None,
        accumulator: var.clone(),
        init,
        condition: Expr::literal(Val::Bool(false), at),
        step: Expr::ident(var, at),
        result,
    };
    Expr::new(Node::Loop(Box::new(inner)), at)
}

fn with_optional(name: &str, target: Expr, var: &Str, body: Expr, at: usize) -> Expr {
    let member = |name: &str, target: Expr, args: Vec<Expr>| {
        Expr::new(Node::Call(name.into(), Some(Box::new(target)), args), at)
    };
    if name == "sortBy" {
        let range: Str = "@__sortBy_input__".into();
        let input = || Expr::ident(&range, at);
        let keys = expand("map", Some(input()), vec![Expr::ident(var, at), body], at);
        let keys = keys.unwrap_or_else(|_| Expr::literal(Val::Null, at));
        return bind(&range, target, member("@sortByAssociatedKeys", input(), vec![keys]), at);
    }
    let some = bind(var, member("value", target.clone(), Vec::new()), body, at);
    let some = if name == "optMap" { Expr::call("optional.of", vec![some], at) } else { some };
    let none = Expr::call("optional.none", Vec::new(), at);
    Expr::call("_?_:_", vec![member("hasValue", target, Vec::new()), some, none], at)
}
