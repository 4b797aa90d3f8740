//! Objects from dynamic values, with the errors of `runtime.DefaultUnstructuredConverter` (apimachinery's
//! runtime/converter.go): how the API server makes an object of a strategic merge patch's result, and of nothing else.
use super::DecodeError;
use super::decode::{Decoded, StrictError, leaf, named_go_type};
use super::value::Value;
use crate::object::{FieldDesc, Mut, Object, Type};
use crate::value::{Bytes, OStr, unbase64};

/// Fills a zero object from the fields of a value.
///
/// # Errors
/// The converter's: `unrecognized type: int32`, `cannot restore slice from string`.
pub fn from_unstructured(value: &Value, into: &mut dyn Object, strict: bool) -> Decoded {
    let mut converter = Converter { strict, path: Vec::new(), unknown: Vec::new() };
    converter.object(value, into).map_err(|message| DecodeError { message, syntax: false })?;
    converter.unknown.sort();
    Ok(converter.unknown.into_iter().map(StrictError).collect())
}

type Go<T> = Result<T, String>;

struct Converter {
    strict: bool,
    /// Names and `[0]`s down to the value; keys of maps are not in it, as the original leaves them out.
    path: Vec<String>,
    unknown: Vec<String>,
}

/// What a field holds, and how deep in its lists and maps we are.
#[derive(Clone, Copy)]
struct Place {
    ty: &'static Type,
    field: &'static FieldDesc,
    depth: usize,
}
impl Place {
    fn element(self) -> Place {
        Place { ty: self.ty.element().unwrap_or(self.ty), depth: self.depth + 1, ..self }
    }
}

impl Converter {
    fn object(&mut self, value: &Value, into: &mut dyn Object) -> Go<()> {
        let Value::Object(map) = value else {
            return Err(format!("cannot restore struct from: {}", kind_of(value)));
        };
        let desc = into.desc();
        for &number in desc.order {
            let number = usize::from(number);
            let Some(field) = desc.fields.get(number) else { continue };
            let Some(value) = map.get(field.name) else { continue };
            let Some(slot) = into.get_mut(number) else { continue };
            let length = self.path.len();
            self.name(field.name);
            self.value(value, slot, Place { ty: &field.ty, field, depth: 0 })?;
            self.path.truncate(length);
        }
        if self.strict {
            for (key, _) in map.iter().filter(|(key, _)| desc.find(key).is_none()) {
                let length = self.path.len();
                self.name(key);
                self.unknown.push(format!("unknown field \"{}\"", self.path.concat()));
                self.path.truncate(length);
            }
        }
        Ok(())
    }

    fn name(&mut self, name: &str) {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.path.push(format!("{dot}{name}"));
    }

    fn value(&mut self, value: &Value, into: Mut<'_>, place: Place) -> Go<()> {
        if value.is_null() {
            into.set_zero();
            return Ok(());
        }
        match into {
            Mut::Str(s) => *s = text(value, place)?.into(),
            Mut::OStr(s) => *s = OStr::some(text(value, place)?),
            Mut::Bool(b) => *b = truth(value)?,
            Mut::OBool(b) => *b = Some(truth(value)?),
            // Go's conversion of an integer to a narrower one keeps the lower bits.
            Mut::I32(v) => *v = whole(value, "int32", place)? as i32,
            Mut::OI32(v) => *v = Some(whole(value, "int32", place)? as i32),
            Mut::I64(v) => *v = whole(value, "int64", place)?,
            Mut::OI64(v) => *v = Some(whole(value, "int64", place)?),
            Mut::OF64(v) => {
                *v = Some(match value {
                    Value::Int(i) => *i as f64,
                    Value::Float(f) => *f,
                    _ => return Err("unrecognized type: float64".into()),
                });
            }
            Mut::Bytes(bytes) => *bytes = self.bytes(value, place)?,
            Mut::Struct(object) => self.object(value, object)?,
            Mut::Ptr(pointer) => self.object(value, pointer.make())?,
            Mut::List(list) => {
                let Value::Array(items) = value else {
                    return Err(format!("cannot restore slice from {}", kind_of(value)));
                };
                list.reset(false);
                for (at, item) in items.iter().enumerate() {
                    self.path.push(format!("[{at}]"));
                    self.value(item, list.push(), place.element())?;
                    self.path.pop();
                }
                list.fit();
            }
            Mut::Map(entries) => {
                let Value::Object(map) = value else {
                    return Err(format!("cannot restore map from {}", kind_of(value)));
                };
                entries.reset(false);
                for (key, value) in map.iter() {
                    let (_, slot) = entries.make(key.clone());
                    self.value(value, slot, place.element())?;
                }
                entries.fit();
            }
            // Types that read themselves from JSON.
            into => leaf(&value.to_json(), into, place.ty, place.field)?,
        }
        Ok(())
    }

    fn bytes(&mut self, value: &Value, place: Place) -> Go<Bytes> {
        match value {
            Value::Str(s) => match unbase64(s.as_bytes()) {
                Ok(bytes) => Ok(bytes.into()),
                Err(at) => Err(format!("error decoding from json: illegal base64 data at input byte {at}")),
            },
            Value::Array(items) => {
                let bytes: Go<Vec<u8>> =
                    items.iter().map(|item| whole(item, "uint8", place.element()).map(|v| v as u8)).collect();
                bytes.map(Into::into)
            }
            other => Err(format!("cannot restore slice from {}", kind_of(other))),
        }
    }
}

fn text(value: &Value, place: Place) -> Go<&str> {
    match value {
        Value::Str(s) => Ok(s),
        // Go could convert a whole number to a string; the converter knows that JSON can't.
        Value::Int(_) => Err(format!("cannot convert int64 to {}", named_go_type(place.ty, place.field, place.depth))),
        _ => Err("unrecognized type: string".into()),
    }
}

fn truth(value: &Value) -> Go<bool> {
    value.as_bool().ok_or_else(|| "unrecognized type: bool".into())
}

fn whole(value: &Value, go: &str, place: Place) -> Go<i64> {
    match value {
        Value::Int(v) => Ok(*v),
        // A float beyond the integers becomes the least of them.
        Value::Float(v) if v.trunc() == *v => Ok(if v.abs() < 9.3e18 { *v as i64 } else { i64::MIN }),
        Value::Float(_) => Err(format!(
            "cannot convert float64 to {}",
            match place.field.go() {
                Some(_) => named_go_type(place.ty, place.field, place.depth),
                None => go.to_string(),
            }
        )),
        _ => Err(format!("unrecognized type: {go}")),
    }
}

/// Go's `reflect.Kind` of what the value is held in.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::Str(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}

#[cfg(test)]
mod tests;
