//! What device selectors say of a device.

use api::Str;
use api::cel::device;
use api::resource_v1::Device;

/// Why an expression gave no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoAnswer {
    /// It is no expression.
    Compile(String),
    /// It failed on this device.
    Runtime(String),
}

/// Whether an expression takes a device of a driver.
///
/// # Errors
/// The expression gave no answer.
pub fn matches(expression: &str, driver: &Str, device: &Device) -> Result<bool, NoAnswer> {
    let program = device::compile(expression).map_err(|why| NoAnswer::Compile(why.detail().to_string()))?;
    device::matches(&program, driver, device).map_err(NoAnswer::Runtime)
}
