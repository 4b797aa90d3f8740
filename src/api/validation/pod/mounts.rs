//! What containers mount.

use super::super::at::{At, Errors};
use super::containers::Common;
use super::paths;
use crate::core_v1::{Volume, VolumeDevice, VolumeMount};

/// `volumeMounts`
pub(super) fn mounts(container: &Common, volumes: &[&Volume], at: &At, errors: &mut Errors) {
    let mounts: &[VolumeMount] = container.volume_mounts;
    let devices: &[VolumeDevice] = container.volume_devices;
    for (i, mount) in mounts.iter().enumerate() {
        let item = &at.index(i);
        let (name, path) = (&item.child("name"), &item.child("mountPath"));
        errors.need(name, &mount.name);
        let volume = volumes.iter().find(|v| v.name == mount.name);
        if volume.is_none() {
            errors.not_found(name, &mount.name);
        }
        errors.need(path, &mount.mount_path);
        if mounts.iter().take(i).any(|m| m.mount_path == mount.mount_path) {
            errors.invalid(path, &mount.mount_path, "must be unique");
        }
        if devices.iter().any(|d| d.name == mount.name) {
            errors.invalid(name, &mount.name, "must not already exist in volumeDevices");
        }
        if devices.iter().any(|d| d.device_path == mount.mount_path) {
            errors.invalid(path, &mount.mount_path, "must not already exist as a path in volumeDevices");
        }
        if !mount.sub_path.is_empty() {
            paths::descending(&mount.sub_path, &at.child("subPath"), errors);
        }
        if !mount.sub_path_expr.is_empty() {
            if !mount.sub_path.is_empty() {
                let why = "subPathExpr and subPath are mutually exclusive";
                errors.invalid(&item.child("subPathExpr"), &mount.sub_path_expr, why);
            }
            paths::descending(&mount.sub_path_expr, &at.child("subPathExpr"), errors);
        }
        if let Some(propagation) = mount.mount_propagation.get() {
            let at = &at.child("mountPropagation");
            errors.one_of(at, propagation, &["Bidirectional", "HostToContainer", "None"]);
            let privileged = container.security_context.get().is_some_and(|s| s.privileged == Some(true));
            if propagation == "Bidirectional" && !privileged {
                let why = "Bidirectional mount propagation is available only to privileged containers";
                errors.forbidden(at, why);
            }
        }
        recursive_read_only(mount, &at.child("recursiveReadOnly"), errors);
        bind_options(mount, volume.is_some_and(|v| v.image.is_some()), &item.child("bindMountOptions"), errors);
    }
}

fn recursive_read_only(mount: &VolumeMount, at: &At, errors: &mut Errors) {
    match mount.recursive_read_only.get() {
        None | Some("Disabled") => {}
        Some("Enabled" | "IfPossible") => {
            if !mount.read_only {
                errors.forbidden(at, "may only be specified when readOnly is true");
            }
            if mount.mount_propagation.get().is_some_and(|p| p != "None") {
                errors.forbidden(at, "may only be specified when mountPropagation is None or not specified");
            }
        }
        Some(other) => errors.not_supported(at, other, &["Disabled", "Enabled", "IfPossible"]),
    }
}

fn bind_options(mount: &VolumeMount, image: bool, at: &At, errors: &mut Errors) {
    let options = &mount.bind_mount_options;
    for (i, option) in options.iter().enumerate() {
        errors.one_of(&at.index(i), option, &["nodev", "noexec", "nosuid"]);
        if options.iter().take(i).any(|o| o == option) {
            errors.duplicate(&at.index(i), option);
        }
    }
    if image && !options.is_empty() {
        errors.invalid(at, options, "bindMountOptions may not be used with image volumes");
    }
}

/// `volumeDevices`
pub(super) fn devices(container: &Common, volumes: &[&Volume], at: &At, errors: &mut Errors) {
    let mounts: &[VolumeMount] = container.volume_mounts;
    let devices: &[VolumeDevice] = container.volume_devices;
    let mut taken: Vec<&str> = Vec::new();
    for (i, device) in devices.iter().enumerate() {
        let at = &at.index(i);
        let (name, path) = (&at.child("name"), &at.child("devicePath"));
        errors.need(name, &device.name);
        if !device.name.is_empty() && devices.iter().take(i).any(|d| d.name == device.name) {
            errors.invalid(name, &device.name, "must be unique");
        }
        match volumes.iter().find(|v| v.name == device.name) {
            None => errors.not_found(name, &device.name),
            Some(v) if v.persistent_volume_claim.is_none() && v.ephemeral.is_none() => errors.invalid(
                name,
                &device.name,
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
            ),
            Some(_) => {}
        }
        errors.need(path, &device.device_path);
        if taken.contains(&&*device.device_path) {
            errors.invalid(path, &device.device_path, "must be unique");
        }
        if paths::has_backsteps(&device.device_path) {
            errors.invalid(path, &device.device_path, "can not contain backsteps ('..')");
        } else {
            taken.push(&device.device_path);
        }
        if mounts.iter().any(|m| m.name == device.name) {
            errors.invalid(name, &device.name, "must not already exist in volumeMounts");
        }
        // Of several mounts of a volume the last counts.
        let last = |(i, m): (usize, &VolumeMount)| !mounts.iter().skip(i + 1).any(|other| other.name == m.name);
        if mounts.iter().enumerate().any(|(i, m)| m.mount_path == device.device_path && last((i, m))) {
            errors.invalid(path, &device.device_path, "must not already exist as a path in volumeMounts");
        }
    }
}
