//! What is worked out when a program is made: lists, maps and conversions of constants, which then cost nothing
//! (cel-go's interpreter/decorators.go).

use super::eval::Activation;
use super::syntax::{Expr, Node};
use super::value::Val;

/// Makes constants of what consists of constants.
pub(super) fn constants(expr: &mut Expr) {
    let literal = |expr: &Expr| matches!(expr.kind, Node::Literal(_));
    let constant = match &mut expr.kind {
        Node::Literal(_) | Node::Ident(_) => false,
        Node::Select(operand, ..) => {
            constants(operand);
            false
        }
        Node::List(items) => {
            items.iter_mut().for_each(|(item, _)| constants(item));
            items.iter().all(|(item, optional)| !optional && literal(item))
        }
        Node::Map(entries) => {
            for (key, value, _) in entries.iter_mut() {
                constants(key);
                constants(value);
            }
            entries.iter().all(|(key, value, optional)| !optional && literal(key) && literal(value))
        }
        Node::Message(_, fields) => {
            fields.iter_mut().for_each(|(_, _, value, _)| constants(value));
            false
        }
        Node::Loop(l) => {
            [&mut l.range, &mut l.init, &mut l.condition, &mut l.step, &mut l.result].into_iter().for_each(constants);
            false
        }
        Node::Call(name, target, args) => {
            target.iter_mut().for_each(|target| constants(target));
            args.iter_mut().for_each(constants);
            match (&**name, &args[..]) {
                (
                    "bool" | "bytes" | "double" | "duration" | "dyn" | "int" | "string" | "timestamp" | "type" | "uint",
                    [arg],
                ) => target.is_none() && literal(arg),
                // Nothing is in an empty list.
                ("@in", [_, Expr { kind: Node::Literal(Val::List(list)), .. }]) if list.is_empty() => {
                    expr.kind = Node::Literal(Val::Bool(false));
                    return;
                }
                // A set of constants is asked without cost.
                ("@in", [_, Expr { kind: Node::Literal(Val::List(list)), .. }]) => {
                    let simple = |value: &Val| {
                        matches!(value, Val::Bool(_) | Val::Int(_) | Val::Uint(_) | Val::Double(_) | Val::Str(_))
                    };
                    if list.to_vec().iter().all(simple) {
                        expr.overload = Some(super::costs::FREE);
                    }
                    false
                }
                _ => false,
            }
        }
    };
    if constant && let Ok(value) = Activation::constant(expr) {
        expr.kind = Node::Literal(value);
    }
}
