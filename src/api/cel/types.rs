//! CEL's types and when one may stand for another (cel-go's checker/types.go).

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use crate::Str;

/// The type of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// Known at run time only.
    Dyn,
    /// Of what is wrong.
    Error,
    /// `null`
    Null,
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `uint`
    Uint,
    /// `double`
    Double,
    /// `string`
    Str,
    /// `bytes`
    Bytes,
    /// `google.protobuf.Duration`
    Duration,
    /// `google.protobuf.Timestamp`
    Timestamp,
    /// The type of a type.
    Type(Rc<Type>),
    /// `list(A)`
    List(Rc<Type>),
    /// `map(K, V)`
    Map(Rc<(Type, Type)>),
    /// `optional_type(A)`
    Optional(Rc<Type>),
    /// A type whose fields are declared; also those of libraries, that have none.
    Struct(Str),
    /// To be found out.
    Param(u32),
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Dyn => f.write_str("dyn"),
            Type::Error => f.write_str("!error!"),
            Type::Null => f.write_str("null"),
            Type::Bool => f.write_str("bool"),
            Type::Int => f.write_str("int"),
            Type::Uint => f.write_str("uint"),
            Type::Double => f.write_str("double"),
            Type::Str => f.write_str("string"),
            Type::Bytes => f.write_str("bytes"),
            Type::Duration => f.write_str("duration"),
            Type::Timestamp => f.write_str("timestamp"),
            Type::Type(of) => write!(f, "type({of})"),
            Type::List(of) => write!(f, "list({of})"),
            Type::Map(of) => write!(f, "map({}, {})", of.0, of.1),
            Type::Optional(of) => write!(f, "optional_type({of})"),
            Type::Struct(name) => f.write_str(name),
            Type::Param(n) => write!(f, "_var{n}"),
        }
    }
}

impl Type {
    /// A list of it.
    pub fn list(of: Type) -> Type {
        Type::List(Rc::new(of))
    }

    /// A map.
    pub fn map(key: Type, value: Type) -> Type {
        Type::Map(Rc::new((key, value)))
    }

    /// An optional value of it.
    pub fn optional(of: Type) -> Type {
        Type::Optional(Rc::new(of))
    }

    /// Whether anything may be done with it before it is known.
    pub fn is_dyn(&self) -> bool {
        matches!(self, Type::Dyn | Type::Error)
    }

    fn nullable(&self) -> bool {
        matches!(self, Type::Null | Type::Struct(_) | Type::Optional(_) | Type::Duration | Type::Timestamp)
    }

    fn parts(&self) -> Vec<&Type> {
        match self {
            Type::List(of) | Type::Optional(of) | Type::Type(of) => vec![of],
            Type::Map(of) => vec![&of.0, &of.1],
            _ => Vec::new(),
        }
    }

    fn rebuilt(&self, part: &mut dyn FnMut(&Type) -> Type) -> Type {
        match self {
            Type::List(of) => Type::list(part(of)),
            Type::Optional(of) => Type::optional(part(of)),
            Type::Type(of) => Type::Type(Rc::new(part(of))),
            Type::Map(of) => Type::map(part(&of.0), part(&of.1)),
            other => other.clone(),
        }
    }

    /// Whether it is equal to the other, or the same with `dyn` in places.
    fn as_general_as(&self, other: &Type) -> bool {
        if matches!(self, Type::Dyn | Type::Param(_)) {
            return true;
        }
        if matches!(other, Type::Dyn | Type::Param(_)) || std::mem::discriminant(self) != std::mem::discriminant(other)
        {
            return false;
        }
        match self {
            Type::Type(_) => true,
            Type::List(_) | Type::Map(_) | Type::Optional(_) => {
                self.parts().iter().zip(other.parts()).all(|(a, b)| a.as_general_as(b))
            }
            _ => self == other,
        }
    }
}

/// Most steps of one comparison of types.
const STEPS: u32 = 100_000;

/// What the parameters are known to be.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    types: BTreeMap<u32, Type>,
    next: u32,
    steps: u32,
}

impl Known {
    /// A new parameter.
    pub fn fresh(&mut self) -> Type {
        self.next += 1;
        Type::Param(self.next - 1)
    }

    /// The type with what is known put in; `last`: what is not known is dyn.
    pub fn put(&self, of: &Type, last: bool) -> Type {
        match of {
            Type::Param(n) => match self.types.get(n) {
                Some(known) => self.put(known, last),
                None if last => Type::Dyn,
                None => of.clone(),
            },
            other => other.rebuilt(&mut |part| self.put(part, last)),
        }
    }

    /// Whether all may stand for the others; only then is what is known of parameters kept.
    pub fn assignable(&mut self, from: &[Type], to: &[Type]) -> bool {
        if from.len() != to.len() {
            return false;
        }
        let mut tried = Known { steps: 0, ..self.clone() };
        let fits = from.iter().zip(to).all(|(a, b)| tried.fits(a, b));
        if fits {
            *self = tried;
        }
        fits
    }

    fn fits(&mut self, a: &Type, b: &Type) -> bool {
        self.steps += 1;
        if self.steps > STEPS {
            return false;
        }
        if matches!(b, Type::Param(_)) {
            let (valid, known) = self.stands_for(a, b);
            if valid || known {
                return valid;
            }
        }
        if matches!(a, Type::Param(_)) {
            return self.stands_for(b, a).0;
        }
        if a.is_dyn() || b.is_dyn() {
            return true;
        }
        match (a, b) {
            (Type::Null, other) | (other, Type::Null) => other.nullable(),
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(_), Type::List(_)) | (Type::Map(_), Type::Map(_)) | (Type::Optional(_), Type::Optional(_)) => {
                a.parts().into_iter().zip(b.parts()).all(|(a, b)| self.fits(a, b))
            }
            _ => a == b,
        }
    }

    /// Whether the parameter `b` is or can be `a`; whether it was known.
    fn stands_for(&mut self, a: &Type, b: &Type) -> (bool, bool) {
        if a == b {
            return (true, true);
        }
        let Type::Param(n) = b else { return (false, false) };
        if let Some(known) = self.types.get(n).cloned() {
            if *a == known {
                return (true, true);
            }
            if self.fits(a, &known) {
                let general = if a.as_general_as(&known) { a.clone() } else { known };
                if !self.occurs(*n, &general) {
                    self.types.insert(*n, general);
                }
                return (true, true);
            }
            return (false, true);
        }
        if self.occurs(*n, a) {
            return (false, false);
        }
        self.types.insert(*n, a.clone());
        (true, false)
    }

    fn occurs(&self, n: u32, within: &Type) -> bool {
        match within {
            Type::Param(other) if *other == n => true,
            Type::Param(other) => self.types.get(other).is_some_and(|known| self.occurs(n, known)),
            other => other.parts().into_iter().any(|part| self.occurs(n, part)),
        }
    }
}

/// The more general of two types of which one may stand for the other.
pub(super) fn general(a: &Type, b: &Type) -> Type {
    if a.as_general_as(b) { a.clone() } else { b.clone() }
}

/// Reads a type of the table of functions: `list(A)`, `map(K,V)`, `opt(T)`, `kubernetes.Quantity`. `param` gives the
/// types of the letters.
pub(super) fn read(text: &str, param: &mut dyn FnMut(u8) -> Type) -> Type {
    let inner = |open: &str| text.strip_prefix(open).and_then(|rest| rest.strip_suffix(')'));
    if let Some(of) = inner("list(") {
        return Type::list(read(of, param));
    }
    if let Some(of) = inner("opt(") {
        return Type::optional(read(of, param));
    }
    if let Some(of) = inner("type(") {
        return Type::Type(Rc::new(read(of, param)));
    }
    if let Some(of) = inner("map(") {
        let mut parts = split(of, ',').into_iter();
        let key = read(parts.next().unwrap_or("dyn"), param);
        return Type::map(key, read(parts.next().unwrap_or("dyn"), param));
    }
    match text {
        "dyn" => Type::Dyn,
        "null" => Type::Null,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::Str,
        "bytes" => Type::Bytes,
        "duration" => Type::Duration,
        "timestamp" => Type::Timestamp,
        "quantity" => Type::Struct("kubernetes.Quantity".into()),
        "url" => Type::Struct("kubernetes.URL".into()),
        "ip" => Type::Struct("net.IP".into()),
        "cidr" => Type::Struct("net.CIDR".into()),
        "semver" => Type::Struct("kubernetes.Semver".into()),
        "format" => Type::Struct("kubernetes.NamedFormat".into()),
        "Authorizer" | "PathCheck" | "GroupCheck" | "ResourceCheck" | "Decision" => {
            Type::Struct(format!("kubernetes.authorization.{text}").into())
        }
        other => match other.as_bytes() {
            [letter] if letter.is_ascii_uppercase() => param(*letter),
            _ => Type::Struct(other.into()),
        },
    }
}

/// The parts of a text outside of brackets.
pub(super) fn split(text: &str, by: char) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            c if c == by && depth == 0 => {
                parts.push(text.get(start..i).unwrap_or_default());
                start = i + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(text.get(start..).unwrap_or_default());
    parts.retain(|part| !part.is_empty());
    parts
}
