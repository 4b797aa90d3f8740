//! Paths of files.

use super::super::at::{At, Errors};

/// No `..` in it (`validatePathNoBacksteps`).
pub(in super::super) fn no_backsteps(path: &str, at: &At, errors: &mut Errors) {
    if has_backsteps(path) {
        errors.invalid(at, path, "must not contain '..'");
    }
}

/// Whether a step of it is `..`.
pub(super) fn has_backsteps(path: &str) -> bool {
    path.split('/').any(|step| step == "..")
}

/// Relative, without `..` (`validateLocalDescendingPath`).
pub(super) fn descending(path: &str, at: &At, errors: &mut Errors) {
    if path.starts_with('/') {
        errors.invalid(at, path, "must be a relative path");
    }
    no_backsteps(path, at, errors);
}

/// As [`descending`], and its name must not start with `..` (`ValidateLocalNonReservedPath`).
pub(super) fn not_reserved(path: &str, at: &At, errors: &mut Errors) {
    descending(path, at, errors);
    if path.starts_with("..") && !path.starts_with("../") {
        errors.invalid(at, path, "must not start with '..'");
    }
}
