//! Security contexts.

use super::super::at::{At, Errors};
use super::super::internal::Internal;
use super::paths;
use crate::core_v1::{PodSecurityContext, PodSpec, SeccompProfile, SecurityContext, Sysctl};
use crate::dynamic::Slot;
use crate::object::Ref;
use crate::{Ptr, names};

const ID_MAX: i64 = i32::MAX as i64;
const SYSCTL_MAX: usize = 253;
const SYSCTL: &str = "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
const PROFILES: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];
const LOCALHOST_PROFILE_MAX: usize = 4095;

fn id(id: Option<i64>, at: &At, errors: &mut Errors) {
    if let Some(id) = id {
        for why in names::in_range(id, 0, ID_MAX) {
            errors.invalid(at, id, why);
        }
    }
}

/// A container's `securityContext`.
pub(super) fn container(context: &Ptr<SecurityContext>, host_users: bool, at: &At, errors: &mut Errors) {
    let Some(context) = context.get() else { return };
    id(context.run_as_user, &at.child("runAsUser"), errors);
    id(context.run_as_group, &at.child("runAsGroup"), errors);
    if let Some(mount) = context.proc_mount.get() {
        let at = &at.child("procMount");
        errors.one_of(at, mount, &["Default", "Unmasked"]);
        if host_users && mount == "Unmasked" {
            errors.invalid(at, mount, "`hostUsers` must be false to use `Unmasked`");
        }
    }
    seccomp(&context.seccomp_profile, &at.child("seccompProfile"), errors);
    if context.allow_privilege_escalation == Some(false) {
        if context.privileged == Some(true) {
            let why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
            errors.invalid(at, Internal(context), why);
        }
        let added = context.capabilities.get().map(|c| c.add.as_slice()).unwrap_or_default();
        for _ in added.iter().filter(|c| **c == "CAP_SYS_ADMIN") {
            let why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
            errors.invalid(at, Internal(context), why);
        }
    }
    app_armor(&context.app_armor_profile, &at.child("appArmorProfile"), errors);
}

/// A pod's `securityContext`.
pub(super) fn pod(context: &PodSecurityContext, spec: &PodSpec, host_sysctls: bool, at: &At, errors: &mut Errors) {
    id(context.fs_group, &at.child("fsGroup"), errors);
    id(context.run_as_user, &at.child("runAsUser"), errors);
    id(context.run_as_group, &at.child("runAsGroup"), errors);
    let groups = at.child("supplementalGroups");
    for (i, group) in context.supplemental_groups.iter().enumerate() {
        id(Some(*group), &groups.index(i), errors);
    }
    sysctls(&context.sysctls, spec, host_sysctls, &at.child("sysctls"), errors);
    if let Some(policy) = context.fs_group_change_policy.get() {
        errors.one_of(&at.child("fsGroupChangePolicy"), policy, &["Always", "OnRootMismatch"]);
    }
    seccomp(&context.seccomp_profile, &at.child("seccompProfile"), errors);
    app_armor(&context.app_armor_profile, &at.child("appArmorProfile"), errors);
    if let Some(policy) = context.supplemental_groups_policy.get() {
        errors.one_of(&at.child("supplementalGroupsPolicy"), policy, &["Merge", "Strict"]);
    }
    if let Some(policy) = context.se_linux_change_policy.get() {
        errors.one_of(&at.child("seLinuxChangePolicy"), policy, &["MountOption", "Recursive"]);
    }
}

fn seccomp(profile: &Ptr<SeccompProfile>, at: &At, errors: &mut Errors) {
    let Some(profile) = profile.get() else { return };
    let kind = &at.child("type");
    if profile.type_.is_empty() {
        errors.required(kind, "type is required when seccompProfile is set");
    } else {
        errors.one_of(kind, &profile.type_, &PROFILES);
    }
    let local = &at.child("localhostProfile");
    match (&*profile.type_, profile.localhost_profile.get()) {
        ("Localhost", None) => errors.required(local, "must be set when seccomp type is Localhost"),
        ("Localhost", Some(path)) => paths::descending(path, local, errors),
        (_, Some(_)) => {
            errors.invalid(local, Internal(profile), "can only be set when seccomp type is Localhost");
        }
        _ => {}
    }
}

fn app_armor(profile: &Slot, at: &At, errors: &mut Errors) {
    let Ref::Ptr(pointer) = profile.reflect() else { return };
    let Some(profile) = pointer.get() else { return };
    let kind = match profile.field("type") {
        Some(Ref::Str(s)) => &**s,
        _ => "",
    };
    let path = match profile.field("localhostProfile") {
        Some(Ref::OStr(s)) => s.get(),
        _ => None,
    };
    let local = &at.child("localhostProfile");
    match kind {
        "Localhost" => match path {
            None => errors.required(local, "must be set when AppArmor type is Localhost"),
            Some(path) => {
                if path.trim() != path {
                    errors.invalid(local, path, "must not be padded with whitespace");
                } else if path.is_empty() {
                    errors.required(local, "must be set when AppArmor type is Localhost");
                }
                if path.len() > LOCALHOST_PROFILE_MAX {
                    errors.too_long(local, LOCALHOST_PROFILE_MAX);
                }
            }
        },
        "RuntimeDefault" | "Unconfined" => {
            if let Some(path) = path {
                errors.invalid(local, path, "can only be set when AppArmor type is Localhost");
            }
        }
        "" => errors.required(&at.child("type"), "type is required when appArmorProfile is set"),
        kind => errors.not_supported(&at.child("type"), kind, &PROFILES),
    }
}

fn sysctls(list: &[Sysctl], spec: &PodSpec, host_sysctls: bool, at: &At, errors: &mut Errors) {
    for (i, sysctl) in list.iter().enumerate() {
        let at_item = at.index(i);
        let at = &at_item.child("name");
        let name = &*sysctl.name;
        if name.is_empty() {
            errors.required(at, "");
        } else if !valid_sysctl(name) {
            errors.invalid(at, name, format!("must have at most {SYSCTL_MAX} characters and match regex {SYSCTL}"));
        } else if list.iter().take(i).any(|s| s.name == *name) {
            errors.duplicate(at, name);
        }
        if !host_sysctls && let Some(why) = host_sysctl(name, spec) {
            errors.invalid(at, name, why);
        }
    }
}

fn valid_sysctl(name: &str) -> bool {
    let edge = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    name.len() <= SYSCTL_MAX
        && name.split(['.', '/']).all(|part| {
            let bytes = part.as_bytes();
            bytes.first().is_some_and(|b| edge(*b))
                && bytes.last().is_some_and(|b| edge(*b))
                && bytes.iter().all(|b| edge(*b) || matches!(b, b'-' | b'_'))
        })
}

/// Why a kernel parameter of a namespace can't be set by a pod that shares the host's (`ValidateHostSysctl`).
pub(super) fn host_sysctl(name: &str, spec: &PodSpec) -> Option<&'static str> {
    let name = name.replace('/', ".");
    let ipc =
        matches!(&*name, "kernel.sem" | "kernel.shmall" | "kernel.shmmax" | "kernel.shmmni" | "kernel.shm_rmid_forced")
            || name.starts_with("kernel.msg")
            || name.starts_with("fs.mqueue.");
    if spec.host_network && name.starts_with("net.") {
        Some("may not be specified when 'hostNetwork' is true")
    } else if spec.host_ipc && ipc {
        Some("may not be specified when 'hostIPC' is true")
    } else {
        None
    }
}
