//! The expressions of device selectors (`dynamic-resource-allocation/cel`).

use super::semver::Semver;
use super::value::Other;
use super::{Activation, CompileError, Env, Program, Type, Val};
use crate::Str;
use crate::resource_v1::{Device, DeviceAttribute};
use std::collections::{BTreeMap, BTreeSet};

/// Compiles a selector's expression.
///
/// # Errors
/// `compilation failed: ERROR: ...` with the line and a mark, or that it gives no bool.
pub fn compile(expression: &str) -> Result<Program, CompileError> {
    let program = super::compile(&Env { device: true, ..Env::default() }, expression, &[])?;
    match program.of {
        Type::Bool | Type::Dyn => Ok(program),
        other => Err(CompileError::Invalid(format!("must evaluate to bool or the unknown type, not {other}").into())),
    }
}

/// Whether a compiled selector takes a driver's device.
///
/// # Errors
/// What went wrong, with a hint where a key is missing (`EnhanceRuntimeError`).
pub fn matches(program: &Program, expression: &str, driver: &Str, device: &Device) -> Result<bool, String> {
    let text = |s: &str| Val::Str(s.into());
    let attributes = device.attributes.iter().map(|(name, attribute)| (name, value(attribute)));
    let capacity = (device.capacity.iter())
        .map(|(name, capacity)| (name, Some(Val::other(Other::Quantity(capacity.value.clone())))));
    let device = Val::map(vec![
        (text("driver"), Val::Str(driver.clone())),
        (text("allowMultipleAllocations"), Val::Bool(device.allow_multiple_allocations == Some(true))),
        (text("attributes"), by_domain(attributes, driver, expression)),
        (text("capacity"), by_domain(capacity, driver, expression)),
    ]);
    let mut activation = Activation::new(vec![("device", device)], &[]);
    match activation.eval(program) {
        Ok(Val::Bool(taken)) => Ok(taken),
        Ok(other) => Err(format!(
            "CEL result of type {0} could not be converted to bool: type conversion error from '{0}' to 'bool'",
            other.type_name()
        )),
        Err(fail) if fail.text().contains("no such key:") => Err(format!(
            "{}. consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for \
             optional fields",
            fail.text()
        )),
        Err(fail) => Err(fail.text().into()),
    }
}

/// An attribute's value; lists are an alpha feature.
fn value(attribute: &DeviceAttribute) -> Option<Val> {
    let string = attribute.string.get().map(|s| Val::Str(s.into()));
    let version = || Semver::parse(attribute.version.get()?).ok().map(|v| Val::other(Other::Semver(v)));
    let int = || attribute.int.map(Val::Int);
    string.or_else(version).or_else(int).or_else(|| attribute.bool.map(Val::Bool))
}

/// Names by their domain, which is the driver where there is none. A domain without names is an empty map: so is
/// everything that the expression could ask for, which stands in it in quotes.
fn by_domain<'a>(all: impl Iterator<Item = (&'a Str, Option<Val>)>, driver: &str, expression: &str) -> Val {
    let mut domains = BTreeMap::<&str, Vec<(Val, Val)>>::new();
    let quoted: BTreeSet<&str> = expression.split(['"', '\'']).skip(1).step_by(2).collect();
    quoted.into_iter().for_each(|domain| drop(domains.insert(domain, Vec::new())));
    for (name, value) in all {
        let (domain, id) = name.split_once('/').unwrap_or((driver, name));
        if let Some(value) = value {
            domains.entry(domain).or_default().push((Val::Str(id.into()), value));
        }
    }
    Val::map(domains.into_iter().map(|(domain, names)| (Val::Str(domain.into()), Val::map(names))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OStr, Quantity};

    fn gpu() -> Device {
        let mut device = Device::default();
        let string = |s: &str| DeviceAttribute { string: OStr::some(s), ..Default::default() };
        device.attributes.insert("model", string("a100"));
        device.attributes.insert("other.example.com/kind", string("x"));
        device.attributes.insert("cores", DeviceAttribute { int: Some(8), ..Default::default() });
        let version = DeviceAttribute { version: OStr::some("1.2.3"), ..Default::default() };
        device.attributes.insert("driverVersion", version);
        let value = Quantity::parse("40Gi").unwrap();
        let memory = crate::resource_v1::DeviceCapacity { value, ..Default::default() };
        device.capacity.insert("memory", memory);
        device
    }

    #[test]
    fn selectors_take_devices() {
        for (expression, wanted) in [
            ("true", Ok(true)),
            ("device.driver == 'gpu.example.com'", Ok(true)),
            ("device.attributes['gpu.example.com'].model == 'a100'", Ok(true)),
            ("device.attributes['gpu.example.com'].cores > 8", Ok(false)),
            ("device.attributes['other.example.com'].kind == 'x'", Ok(true)),
            ("'nobody.example.com' in device.attributes", Ok(true)),
            ("has(device.attributes['nobody.example.com'].kind)", Ok(false)),
            ("device.capacity['gpu.example.com'].memory.compareTo(quantity('40Gi')) >= 0", Ok(true)),
            ("device.attributes['gpu.example.com'].driverVersion.isGreaterThan(semver('1.0.0'))", Ok(true)),
            ("device.allowMultipleAllocations", Ok(false)),
            (
                "device.attributes['gpu.example.com'].absent == 'x'",
                Err(
                    "no such key: absent. consider using CEL optional chaining (.? followed by orValue()) or guarding \
                     the check with has() for optional fields",
                ),
            ),
        ] {
            let program = compile(expression).unwrap_or_else(|e| panic!("{expression}: {}", e.detail()));
            let got = matches(&program, expression, &"gpu.example.com".into(), &gpu());
            assert_eq!(got, wanted.map_err(String::from), "{expression}");
        }
    }

    #[test]
    fn what_is_no_selector() {
        for (expression, wanted) in [
            ("1 + 1", "must evaluate to bool or the unknown type, not int"),
            (
                "object.name == 'x'",
                "compilation failed: ERROR: <input>:1:1: undeclared reference to 'object' (in container '')\n \
                 | object.name == 'x'\n | ^",
            ),
        ] {
            assert_eq!(compile(expression).unwrap_err().detail(), wanted, "{expression}");
        }
    }
}
