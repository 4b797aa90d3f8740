//! `quantity('1Gi')` (library/quantity.go).

use super::eval::{Activation, Eval};
use super::value::{Other, Val};
use crate::Quantity;

pub(super) fn quantity(value: &Val) -> Option<&Quantity> {
    match value {
        Val::Other(other) => match &**other {
            Other::Quantity(quantity) => Some(quantity),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn of_quantities(_: &mut Activation, name: &str, args: &[Val]) -> Option<Eval> {
    let made = |quantity: Quantity| Val::other(Other::Quantity(quantity));
    Some(Ok(match (name, args) {
        ("quantity", [Val::Str(text)]) => match Quantity::parse(text) {
            Ok(quantity) => made(quantity),
            Err(why) => return Some(Err(why.to_string().into())),
        },
        ("isQuantity", [Val::Str(text)]) => Val::Bool(Quantity::parse(text).is_ok()),
        (_, [of, rest @ ..]) => {
            let of = quantity(of)?;
            match (name, rest) {
                ("sign", []) => Val::Int(i64::from(of.sign())),
                ("asApproximateFloat", []) => Val::Double(of.as_f64()),
                ("asInteger", []) => match of.as_i64() {
                    Some(i) => Val::Int(i),
                    None => return Some(Err("cannot convert value to integer".into())),
                },
                ("isInteger", []) => Val::Bool(of.as_i64().is_some()),
                ("add" | "sub", [other]) => {
                    let whole;
                    let other = match other {
                        Val::Int(i) => {
                            whole = Quantity::parse(&i.to_string()).ok()?;
                            &whole
                        }
                        other => quantity(other)?,
                    };
                    let mut of = of.clone();
                    if name == "add" {
                        of.add(other);
                    } else {
                        of.sub(other);
                    }
                    made(of)
                }
                _ => return None,
            }
        }
        _ => return None,
    }))
}
