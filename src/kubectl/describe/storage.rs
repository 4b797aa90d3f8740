//! PersistentVolumes, their claims, and StorageClasses.

use super::writer::{Writer, date, format_labels};
use super::{Related, template};
use crate::value::Value;
use api::SortSmall;

fn modes(list: &[Value]) -> String {
    let short = |m: &Value| {
        Some(match m.as_str()? {
            "ReadWriteOnce" => "RWO",
            "ReadOnlyMany" => "ROX",
            "ReadWriteMany" => "RWX",
            "ReadWriteOncePod" => "RWOP",
            _ => return None,
        })
    };
    let all: Vec<&str> = list.iter().filter_map(short).collect();
    ["RWO", "ROX", "RWX", "RWOP"].into_iter().filter(|m| all.contains(m)).collect::<Vec<_>>().join(",")
}

fn class(object: &Value) -> &str {
    match object.at("metadata/annotations").key("volume.beta.kubernetes.io/storage-class").as_str() {
        Some(c) => c,
        None => object.str("spec/storageClassName"),
    }
}

fn finalizers(w: &mut Writer, object: &Value) {
    let list = object.at("metadata/finalizers");
    let text = if list.is_null() { "[]".to_string() } else { list.go_v() };
    w.put(0, &format!("Finalizers:\t{text}\n"));
}

fn status(w: &mut Writer, object: &Value) {
    match object.str("metadata/deletionTimestamp") {
        "" => w.put(0, &format!("Status:\t{}\n", object.str("status/phase"))),
        t => {
            let since = w.since(t);
            w.put(0, &format!("Status:\tTerminating (lasts {since})\n"));
        }
    }
}

/// Describes a PersistentVolume.
pub fn volume(w: &mut Writer, pv: &Value, related: &Related) {
    let spec = pv.at("spec");
    w.put(0, &format!("Name:\t{}\n", pv.str("metadata/name")));
    w.labels("Labels", pv.at("metadata/labels"));
    w.annotations("Annotations", pv.at("metadata/annotations"));
    finalizers(w, pv);
    w.put(0, &format!("StorageClass:\t{}\n", class(pv)));
    status(w, pv);
    let claim = match spec.at("claimRef") {
        Value::Null => String::new(),
        c => format!("{}/{}", c.str("namespace"), c.str("name")),
    };
    w.put(0, &format!("Claim:\t{claim}\n"));
    w.put(0, &format!("Reclaim Policy:\t{}\n", spec.str("persistentVolumeReclaimPolicy")));
    w.put(0, &format!("Access Modes:\t{}\n", modes(spec.list("accessModes"))));
    if spec.has("volumeMode") {
        w.put(0, &format!("VolumeMode:\t{}\n", spec.str("volumeMode")));
    }
    let capacity = spec.at("capacity/storage").as_str().unwrap_or("0");
    w.put(0, &format!("Capacity:\t{capacity}\n"));
    node_affinity(w, spec.at("nodeAffinity/required"));
    w.put(0, &format!("Message:\t{}\n", pv.str("status/message")));
    w.put(0, "Source:\n");
    source(w, spec);
    w.events(&related.events);
}

fn source(w: &mut Writer, spec: &Value) {
    if spec.has("local") {
        w.put(2, "Type:\tLocalVolume (a persistent volume backed by local storage on a node)\n");
        w.put(2, &format!("Path:\t{}\n", spec.str("local/path")));
    } else if spec.has("csi") {
        let csi = spec.at("csi");
        w.put(2, "Type:\tCSI (a Container Storage Interface (CSI) volume source)\n");
        w.put(2, &format!("Driver:\t{}\n", csi.str("driver")));
        w.put(2, &format!("FSType:\t{}\n", csi.str("fsType")));
        w.put(2, &format!("VolumeHandle:\t{}\n", csi.str("volumeHandle")));
        w.put(2, &format!("ReadOnly:\t{}\n", csi.bool("readOnly")));
        w.put(2, "VolumeAttributes:\t");
        let mut first = true;
        for (k, v) in csi.map("volumeAttributes") {
            if !std::mem::take(&mut first) {
                w.put(2, "\t");
            }
            w.put(2, &format!("    {k}={}\n", v.go_v()));
        }
        if first {
            w.put(0, "<none>\n");
        }
    } else {
        template::volume(w, spec);
    }
}

fn node_affinity(w: &mut Writer, required: &Value) {
    if required.is_null() {
        w.put(0, "Node Affinity:\t<none>\n");
        return;
    }
    w.put(0, "Node Affinity:\t\n");
    let terms = required.list("nodeSelectorTerms");
    if terms.is_empty() {
        w.put(1, "Required Terms:\t<none>\n");
        return;
    }
    w.put(1, "Required Terms:\t\n");
    for (i, term) in terms.iter().enumerate() {
        w.put(2, &format!("Term {i}:\t"));
        let requirements = term.list("matchExpressions");
        if requirements.is_empty() {
            w.put(0, "<none>\n");
        }
        for (j, r) in requirements.iter().enumerate() {
            if j > 0 {
                w.put(2, "\t");
            }
            let values: Vec<&str> = r.list("values").iter().filter_map(Value::as_str).collect();
            let values = if values.is_empty() { String::new() } else { format!(" [{}]", values.join(", ")) };
            w.put(0, &format!("{} {}{values}\n", r.str("key"), r.str("operator").to_lowercase()));
        }
    }
}

/// Describes a PersistentVolumeClaim.
pub fn claim(w: &mut Writer, pvc: &Value, related: &Related) {
    let spec = pvc.at("spec");
    w.put(0, &format!("Name:\t{}\n", pvc.str("metadata/name")));
    w.put(0, &format!("Namespace:\t{}\n", pvc.str("metadata/namespace")));
    w.put(0, &format!("StorageClass:\t{}\n", class(pvc)));
    status(w, pvc);
    w.put(0, &format!("Volume:\t{}\n", spec.str("volumeName")));
    w.labels("Labels", pvc.at("metadata/labels"));
    w.annotations("Annotations", pvc.at("metadata/annotations"));
    finalizers(w, pvc);
    let (mut capacity, mut access) = (String::new(), String::new());
    if !spec.str("volumeName").is_empty() {
        access = modes(pvc.list("status/accessModes"));
        capacity = pvc.at("status/capacity/storage").as_str().unwrap_or("0").to_string();
    }
    w.put(0, &format!("Capacity:\t{capacity}\n"));
    w.put(0, &format!("Access Modes:\t{access}\n"));
    if spec.has("volumeMode") {
        w.put(0, &format!("VolumeMode:\t{}\n", spec.str("volumeMode")));
    }
    if spec.has("dataSource") {
        w.put(0, "DataSource:\n");
        for (title, key) in [("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name")] {
            if key != "apiGroup" || spec.has("dataSource/apiGroup") {
                w.put(1, &format!("{title}:\t{}\n", spec.str(&format!("dataSource/{key}"))));
            }
        }
    }
    let mut users: Vec<&str> = related
        .pods
        .iter()
        .filter(|p| {
            let uses = |v: &Value| v.str("persistentVolumeClaim/claimName") == pvc.str("metadata/name");
            let owns = |o: &Value| o.str("kind") == "Pod" && o.str("uid") == p.str("metadata/uid");
            p.list("spec/volumes").iter().any(uses) || pvc.list("metadata/ownerReferences").iter().any(owns)
        })
        .map(|p| p.str("metadata/name"))
        .collect();
    users.sort_small();
    w.put(0, "Used By:\t");
    if users.is_empty() {
        w.put(0, "<none>\n");
    }
    for (i, user) in users.iter().enumerate() {
        let indent = if i > 0 { "\t" } else { "" };
        w.put(0, &format!("{indent}{user}\n"));
    }
    let conditions = pvc.list("status/conditions");
    if !conditions.is_empty() {
        w.put(0, "Conditions:\n");
        w.put(1, "Type\tStatus\tLastProbeTime\tLastTransitionTime\tReason\tMessage\n");
        w.put(1, "----\t------\t-----------------\t------------------\t------\t-------\n");
        for c in conditions {
            let line = format!(
                "{} \t{} \t{} \t{} \t{} \t{}\n",
                c.str("type"),
                c.str("status"),
                date(c.str("lastProbeTime")),
                date(c.str("lastTransitionTime")),
                c.str("reason"),
                c.str("message")
            );
            w.put(1, &line);
        }
    }
    w.events(&related.events);
}

/// Describes a StorageClass.
pub fn storage_class(w: &mut Writer, sc: &Value, related: &Related) {
    let annotations = sc.at("metadata/annotations");
    let default = ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"]
        .iter()
        .any(|a| annotations.key(a).as_str() == Some("true"));
    w.put(0, &format!("Name:\t{}\n", sc.str("metadata/name")));
    w.put(0, &format!("IsDefaultClass:\t{}\n", if default { "Yes" } else { "No" }));
    w.put(0, &format!("Annotations:\t{}\n", format_labels(annotations)));
    w.put(0, &format!("Provisioner:\t{}\n", sc.str("provisioner")));
    w.put(0, &format!("Parameters:\t{}\n", format_labels(sc.at("parameters"))));
    w.put(0, &format!("AllowVolumeExpansion:\t{}\n", super::writer::bool_text(sc.at("allowVolumeExpansion"))));
    let options = sc.list("mountOptions");
    if options.is_empty() {
        w.put(0, "MountOptions:\t<none>\n");
    } else {
        w.put(0, "MountOptions:\n");
        for o in options {
            w.put(1, &format!("{}\n", o.go_v()));
        }
    }
    for (title, key) in [("ReclaimPolicy", "reclaimPolicy"), ("VolumeBindingMode", "volumeBindingMode")] {
        if sc.has(key) {
            w.put(0, &format!("{title}:\t{}\n", sc.str(key)));
        }
    }
    w.events(&related.events);
}
