//! The expressions of device selectors (`dynamic-resource-allocation/cel`).

use super::semver::Semver;
use super::value::Other;
use super::{Activation, CompileError, Entries, Env, Program, Type, Val};
use crate::Str;
use crate::resource_v1::{Device, DeviceAttribute};
use std::collections::BTreeMap;

/// Compiles a selector's expression.
///
/// # Errors
/// `compilation failed: ERROR: ...` with the line and a mark, or that it gives no bool.
pub fn compile(expression: &str) -> Result<Program, CompileError> {
    of(&Env { device: true, ..Env::default() }, expression)
}

/// What a selector may cost (`CELSelectorExpressionMaxCost`).
pub const MOST: u64 = 1_000_000;

/// Compiles a selector's expression and estimates the most that it may cost.
///
/// # Errors
/// As those of `compile`.
pub fn estimated(expression: &str) -> Result<Program, CompileError> {
    of(&Env { device: true, estimated: true, ..Env::default() }, expression)
}

fn of(env: &Env, expression: &str) -> Result<Program, CompileError> {
    let program = super::compile(env, expression, &[])?;
    match program.of {
        Type::Bool | Type::Dyn => Ok(program),
        other => Err(CompileError::Invalid(format!("must evaluate to bool or the unknown type, not {other}").into())),
    }
}

/// Whether a compiled selector takes a driver's device.
///
/// # Errors
/// What went wrong, with a hint where a key is missing (`EnhanceRuntimeError`).
pub fn matches(program: &Program, driver: &Str, device: &Device) -> Result<bool, String> {
    let mut activation = Activation::new(vec![("device", shown(driver, device))], &[]);
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

/// A device as an expression sees it.
fn shown(driver: &Str, device: &Device) -> Val {
    let text = |s: &str| Val::Str(s.into());
    let attributes = device.attributes.iter().map(|(name, attribute)| (name, value(attribute)));
    let capacity = (device.capacity.iter())
        .map(|(name, capacity)| (name, Some(Val::other(Other::Quantity(capacity.value.clone())))));
    Val::map(vec![
        (text("driver"), Val::Str(driver.clone())),
        (text("allowMultipleAllocations"), Val::Bool(device.allow_multiple_allocations == Some(true))),
        (text("attributes"), by_domain(attributes, driver)),
        (text("capacity"), by_domain(capacity, driver)),
    ])
}

/// An attribute's value; lists are an alpha feature.
fn value(attribute: &DeviceAttribute) -> Option<Val> {
    let string = attribute.string.get().map(|s| Val::Str(s.into()));
    let version = || Semver::parse(attribute.version.get()?).ok().map(|v| Val::other(Other::Semver(v)));
    let int = || attribute.int.map(Val::Int);
    string.or_else(version).or_else(int).or_else(|| attribute.bool.map(Val::Bool))
}

/// Names by their domain, which is the driver where there is none. A domain without names is an empty map.
fn by_domain<'a>(all: impl Iterator<Item = (&'a Str, Option<Val>)>, driver: &str) -> Val {
    let mut domains = BTreeMap::<&str, Vec<(Val, Val)>>::new();
    for (name, value) in all {
        let (domain, id) = name.split_once('/').unwrap_or((driver, name));
        if let Some(value) = value {
            domains.entry(domain).or_default().push((Val::Str(id.into()), value));
        }
    }
    let domains = domains.into_iter().map(|(domain, names)| (Val::Str(domain.into()), Val::map(names)));
    Val::Map(Entries::Domains(domains.collect::<Vec<_>>().into()))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{OStr, Quantity};

    /// What an expression costs for the device of `tools/cel-costs`.
    pub fn cost(program: &Program) -> u64 {
        let mut device = Device { allow_multiple_allocations: Some(true), ..Device::default() };
        let string = |s: &str| DeviceAttribute { string: OStr::some(s), ..Default::default() };
        device.attributes.insert("model", string("a100-sxm4-80gb"));
        device.attributes.insert("other.example.com/x", string("y"));
        device.attributes.insert("index", DeviceAttribute { int: Some(3), ..Default::default() });
        device.attributes.insert("healthy", DeviceAttribute { bool: Some(true), ..Default::default() });
        let version = DeviceAttribute { version: OStr::some("1.12.3"), ..Default::default() };
        device.attributes.insert("driverVersion", version);
        for (name, amount) in [("memory", "80Gi"), ("cores", "108")] {
            let value = Quantity::parse(amount).unwrap();
            device.capacity.insert(name, crate::resource_v1::DeviceCapacity { value, ..Default::default() });
        }
        let shown = shown(&"gpu.example.com".into(), &device);
        let mut activation = Activation::new(vec![("device", shown)], &[]);
        let _ = activation.eval(program);
        activation.take_spent()
    }

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
            let got = matches(&program, &"gpu.example.com".into(), &gpu());
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
