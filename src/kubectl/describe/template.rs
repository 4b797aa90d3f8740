//! Containers, volumes and pod templates.

use super::Writer;
use super::writer::{format_selector, or_none};
use crate::print::human::quote;
use crate::value::Value;
use api::SortSmall;

/// A pod template under its title.
pub fn pod_template(w: &mut Writer, template: &Value) {
    w.put(0, "Pod Template:\n");
    if template.is_null() {
        w.put(1, "<unset>");
        return;
    }
    let spec = template.at("spec");
    w.labels("  Labels", template.at("metadata/labels"));
    if !template.at("metadata/annotations").is_empty() {
        w.annotations("  Annotations", template.at("metadata/annotations"));
    }
    if !spec.str("serviceAccountName").is_empty() {
        w.put(1, &format!("Service Account:\t{}\n", spec.str("serviceAccountName")));
    }
    if !spec.list("initContainers").is_empty() {
        containers(w, "Init Containers", spec.list("initContainers"), &[], None, "  ");
    }
    containers(w, "Containers", spec.list("containers"), &[], None, "  ");
    volumes(w, spec.list("volumes"), "  ");
    spread_constraints(w, spec.list("topologySpreadConstraints"), "  ");
    if !spec.str("priorityClassName").is_empty() {
        w.put(1, &format!("Priority Class Name:\t{}\n", spec.str("priorityClassName")));
    }
    w.labels("  Node-Selectors", spec.at("nodeSelector"));
    tolerations(w, "  Tolerations", spec.list("tolerations"));
}

/// Containers with their states; `pod` resolves field references.
pub fn containers(
    w: &mut Writer,
    label: &str,
    containers: &[Value],
    statuses: &[Value],
    pod: Option<&Value>,
    space: &str,
) {
    let none = if containers.is_empty() { " <none>" } else { "" };
    w.put(0, &format!("{space}{label}:{none}\n"));
    let indent = if space.is_empty() { "" } else { " " };
    for c in containers {
        let status = statuses.iter().find(|s| s.str("name") == c.str("name"));
        w.put(1, &format!("{indent}{}:\n", c.str("name")));
        if let Some(s) = status {
            w.put(2, &format!("Container ID:\t{}\n", s.str("containerID")));
        }
        w.put(2, &format!("Image:\t{}\n", c.str("image")));
        if let Some(s) = status {
            w.put(2, &format!("Image ID:\t{}\n", s.str("imageID")));
        }
        for (title, key) in [("Port", "containerPort"), ("Host Port", "hostPort")] {
            let ports = ports(c.list("ports"), key);
            let plural = if ports.contains(',') { "s" } else { "" };
            w.put(2, &format!("{title}{plural}:\t{}\n", or_none(&ports)));
        }
        if c.has("securityContext/seccompProfile") {
            let profile = c.at("securityContext/seccompProfile");
            w.put(2, &format!("SeccompProfile:\t{}\n", profile.str("type")));
            if profile.str("type") == "Localhost" {
                w.put(3, &format!("LocalhostProfile:\t{}\n", profile.str("localhostProfile")));
            }
        }
        for (title, key) in [("Command", "command"), ("Args", "args")] {
            if !c.list(key).is_empty() {
                w.put(2, &format!("{title}:\n"));
                for arg in c.list(key).iter().filter_map(Value::as_str) {
                    for line in arg.split('\n') {
                        w.put(3, &format!("{line}\n"));
                    }
                }
            }
        }
        if let Some(s) = status {
            state(w, "State", s.at("state"));
            if s.has("lastState/terminated") {
                state(w, "Last State", s.at("lastState"));
            }
            w.put(2, &format!("Ready:\t{}\n", if s.bool("ready") { "True" } else { "False" }));
            w.put(2, &format!("Restart Count:\t{}\n", s.int("restartCount")));
        }
        resources(w, c.at("resources"), 2);
        for (title, key) in
            [("Liveness", "livenessProbe"), ("Readiness", "readinessProbe"), ("Startup", "startupProbe")]
        {
            if c.has(key) {
                w.put(2, &format!("{title}:\t{}\n", probe(c.at(key))));
            }
        }
        if !c.list("envFrom").is_empty() {
            env_from(w, c.list("envFrom"));
        }
        env(w, c, pod);
        mounts(w, c);
    }
}

fn ports(ports: &[Value], key: &str) -> String {
    let texts: Vec<String> = ports
        .iter()
        .map(|p| {
            let text = format!("{}/{}", p.int(key), p.str("protocol"));
            match p.str("name") {
                "" => text,
                name => format!("{text} ({name})"),
            }
        })
        .collect();
    texts.join(", ")
}

/// Limits and requests.
pub fn resources(w: &mut Writer, resources: &Value, level: usize) {
    for (title, key) in [("Limits", "limits"), ("Requests", "requests")] {
        let mut first = true;
        for (name, quantity) in resources.map(key) {
            if std::mem::take(&mut first) {
                w.put(level, &format!("{title}:\n"));
            }
            w.put(level + 1, &format!("{name}:\t{}\n", quantity.go_v()));
        }
    }
}

fn state(w: &mut Writer, title: &str, state: &Value) {
    use super::writer::date;
    if state.has("running") {
        w.put(2, &format!("{title}:\tRunning\n"));
        w.put(3, &format!("Started:\t{}\n", date(state.str("running/startedAt"))));
    } else if state.has("waiting") {
        w.put(2, &format!("{title}:\tWaiting\n"));
        if !state.str("waiting/reason").is_empty() {
            w.put(3, &format!("Reason:\t{}\n", state.str("waiting/reason")));
        }
    } else if state.has("terminated") {
        let t = state.at("terminated");
        w.put(2, &format!("{title}:\tTerminated\n"));
        for (label, key) in [("Reason", "reason"), ("Message", "message")] {
            if !t.str(key).is_empty() {
                w.put(3, &format!("{label}:\t{}\n", t.str(key)));
            }
        }
        w.put(3, &format!("Exit Code:\t{}\n", t.int("exitCode")));
        if t.int("signal") > 0 {
            w.put(3, &format!("Signal:\t{}\n", t.int("signal")));
        }
        w.put(3, &format!("Started:\t{}\n", date(t.str("startedAt"))));
        w.put(3, &format!("Finished:\t{}\n", date(t.str("finishedAt"))));
    } else {
        w.put(2, &format!("{title}:\tWaiting\n"));
    }
}

/// A probe in one line.
fn probe(p: &Value) -> String {
    let attrs = format!(
        "delay={}s timeout={}s period={}s successThreshold={} failureThreshold={}",
        p.int("initialDelaySeconds"),
        p.int("timeoutSeconds"),
        p.int("periodSeconds"),
        p.int("successThreshold"),
        p.int("failureThreshold")
    );
    if p.has("exec") {
        return format!("exec {} {attrs}", Value::Array(p.list("exec/command").to_vec()).go_v());
    }
    if p.has("httpGet") {
        let get = p.at("httpGet");
        let host = get.str("host");
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_string() };
        let path = get.str("path");
        let slash = if path.is_empty() || path.starts_with('/') { "" } else { "/" };
        return format!(
            "http-get {}://{host}:{}{slash}{path} {attrs}",
            get.str("scheme").to_lowercase(),
            get.at("port").go_v()
        );
    }
    if p.has("tcpSocket") {
        return format!("tcp-socket {}:{} {attrs}", p.str("tcpSocket/host"), p.at("tcpSocket/port").go_v());
    }
    if p.has("grpc") {
        return format!("grpc <pod>:{} {} {attrs}", p.int("grpc/port"), p.str("grpc/service"));
    }
    format!("unknown {attrs}")
}

fn env_from(w: &mut Writer, sources: &[Value]) {
    w.put(2, "Environment Variables from:\n");
    for s in sources {
        let (from, reference) = if s.has("configMapRef") {
            ("ConfigMap", s.at("configMapRef"))
        } else if s.has("secretRef") {
            ("Secret", s.at("secretRef"))
        } else {
            ("", s.at("secretRef"))
        };
        let prefix = match s.str("prefix") {
            "" => String::new(),
            p => format!(" with prefix '{p}'"),
        };
        w.put(3, &format!("{}\t{from}{prefix}\tOptional: {}\n", reference.str("name"), reference.bool("optional")));
    }
}

fn env(w: &mut Writer, container: &Value, pod: Option<&Value>) {
    let vars = container.list("env");
    let none = if vars.is_empty() { "\t<none>" } else { "" };
    w.put(2, &format!("Environment:{none}\n"));
    for e in vars {
        let name = e.str("name");
        let from = e.at("valueFrom");
        if from.is_null() {
            for (i, line) in e.str("value").split('\n').enumerate() {
                let label = if i == 0 { format!("{name}:") } else { String::new() };
                w.put(3, &format!("{label}\t{line}\n"));
            }
        } else if from.has("fieldRef") {
            let path = from.str("fieldRef/fieldPath");
            let value = pod.map(|p| field_path(p, path)).unwrap_or_default();
            w.put(3, &format!("{name}:\t{value} ({}:{path})\n", from.str("fieldRef/apiVersion")));
        } else if from.has("resourceFieldRef") {
            let resource = from.str("resourceFieldRef/resource");
            let value = resource_field(container, from.at("resourceFieldRef"));
            w.put(3, &format!("{name}:\t{value} ({resource})\n"));
        } else if from.has("secretKeyRef") {
            let r = from.at("secretKeyRef");
            w.put(
                3,
                &format!(
                    "{name}:\t<set to the key '{}' in secret '{}'>\tOptional: {}\n",
                    r.str("key"),
                    r.str("name"),
                    r.bool("optional")
                ),
            );
        } else if from.has("configMapKeyRef") {
            let r = from.at("configMapKeyRef");
            w.put(
                3,
                &format!(
                    "{name}:\t<set to the key '{}' of config map '{}'>\tOptional: {}\n",
                    r.str("key"),
                    r.str("name"),
                    r.bool("optional")
                ),
            );
        }
    }
}

/// `EnvValueRetriever`: kubectl's scheme knows only these two field labels of a pod.
fn field_path(pod: &Value, path: &str) -> String {
    match path {
        "metadata.name" | "metadata.namespace" => pod.str(&path.replace('.', "/")).to_string(),
        _ => String::new(),
    }
}

fn resource_field(container: &Value, reference: &Value) -> String {
    let resource = reference.str("resource");
    let Some((list, name)) = resource.split_once('.') else { return String::new() };
    let quantity = container.at("resources").key(list).key(name);
    let Some(quantity) = quantity.as_str().and_then(super::node::milli) else {
        return if list == "limits" { "node allocatable".into() } else { "0".into() };
    };
    let divisor = super::node::milli(&reference.at("divisor").go_v()).filter(|d| *d > 0).unwrap_or(1000);
    let value = (quantity + divisor - 1) / divisor;
    if value == 0 && list == "limits" { "node allocatable".into() } else { value.to_string() }
}

fn mounts(w: &mut Writer, container: &Value) {
    let mut mounts: Vec<&Value> = container.list("volumeMounts").iter().collect();
    let none = if mounts.is_empty() { "\t<none>" } else { "" };
    w.put(2, &format!("Mounts:{none}\n"));
    mounts.sort_small_by_key(|m| m.str("mountPath"));
    for m in mounts {
        let mut flags = vec![if m.bool("readOnly") { "ro".to_string() } else { "rw".to_string() }];
        if !m.str("subPath").is_empty() {
            flags.push(format!("path={}", quote(m.str("subPath"))));
        }
        w.put(3, &format!("{} from {} ({})\n", m.str("mountPath"), m.str("name"), flags.join(",")));
    }
    let mut devices: Vec<&Value> = container.list("volumeDevices").iter().collect();
    if !devices.is_empty() {
        w.put(2, &format!("Devices:{none}\n"));
        devices.sort_small_by_key(|d| d.str("devicePath"));
        for d in devices {
            w.put(3, &format!("{} from {}\n", d.str("devicePath"), d.str("name")));
        }
    }
}

/// Volumes under their title.
pub fn volumes(w: &mut Writer, volumes: &[Value], space: &str) {
    if volumes.is_empty() {
        w.put(0, &format!("{space}Volumes:\t<none>\n"));
        return;
    }
    w.put(0, &format!("{space}Volumes:\n"));
    let indent = if space.is_empty() { "" } else { " " };
    for v in volumes {
        w.put(1, &format!("{indent}{}:\n", v.str("name")));
        volume(w, v);
    }
}

/// The source of a volume.
pub fn volume(w: &mut Writer, v: &Value) {
    let mut rows = |title: &str, rows: &[(&str, String)]| {
        w.put(2, &format!("Type:\t{title}\n"));
        for (label, value) in rows {
            w.put(2, &format!("{label}:\t{value}\n"));
        }
    };
    let text = |path: &str| v.str(path).to_string();
    let flag = |path: &str| v.bool(path).to_string();
    if v.has("hostPath") {
        let kind = v.at("hostPath/type").as_str().unwrap_or("<none>").to_string();
        rows("HostPath (bare host directory volume)", &[("Path", text("hostPath/path")), ("HostPathType", kind)]);
    } else if v.has("emptyDir") {
        let limit = v.at("emptyDir/sizeLimit").as_str().filter(|l| *l != "0").unwrap_or("<unset>");
        rows(
            "EmptyDir (a temporary directory that shares a pod's lifetime)",
            &[("Medium", text("emptyDir/medium")), ("SizeLimit", limit.to_string())],
        );
    } else if v.has("secret") {
        rows(
            "Secret (a volume populated by a Secret)",
            &[("SecretName", text("secret/secretName")), ("Optional", flag("secret/optional"))],
        );
    } else if v.has("configMap") {
        rows(
            "ConfigMap (a volume populated by a ConfigMap)",
            &[("Name", text("configMap/name")), ("Optional", flag("configMap/optional"))],
        );
    } else if v.has("nfs") {
        rows(
            "NFS (an NFS mount that lasts the lifetime of a pod)",
            &[("Server", text("nfs/server")), ("Path", text("nfs/path")), ("ReadOnly", flag("nfs/readOnly"))],
        );
    } else if v.has("persistentVolumeClaim") {
        rows(
            "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
            &[
                ("ClaimName", text("persistentVolumeClaim/claimName")),
                ("ReadOnly", flag("persistentVolumeClaim/readOnly")),
            ],
        );
    } else if v.has("csi") {
        rows(
            "CSI (a Container Storage Interface (CSI) volume source)",
            &[("Driver", text("csi/driver")), ("FSType", text("csi/fsType")), ("ReadOnly", flag("csi/readOnly"))],
        );
        w.put(2, "VolumeAttributes:\t");
        let mut first = true;
        for (k, value) in v.map("csi/volumeAttributes") {
            if !std::mem::take(&mut first) {
                w.put(2, "");
                w.put(2, "\t");
            }
            w.put(2, &format!("{k}={}\n", value.go_v()));
        }
        if first {
            w.put(0, "<none>\n");
        }
    } else if v.has("image") {
        rows(
            "Image (a container image or OCI artifact)",
            &[("Reference", text("image/reference")), ("PullPolicy", text("image/pullPolicy"))],
        );
    } else if v.has("ephemeral") {
        rows("EphemeralVolume (an inline specification for a volume that gets created and deleted with the pod)", &[]);
    } else if v.has("downwardAPI") {
        w.put(2, "Type:\tDownwardAPI (a volume populated by information about the pod)\n    Items:\n");
        for item in v.list("downwardAPI/items") {
            for source in ["fieldRef/fieldPath", "resourceFieldRef/resource"] {
                if item.has(source) {
                    w.put(3, &format!("{} -> {}\n", item.str(source), item.str("path")));
                }
            }
        }
    } else if v.has("projected") {
        w.put(2, "Type:\tProjected (a volume that contains injected data from multiple sources)\n");
        for s in v.list("projected/sources") {
            if s.has("secret") {
                w.put(2, &format!("SecretName:\t{}\n", s.str("secret/name")));
                w.put(2, &format!("Optional:\t{}\n", s.bool("secret/optional")));
            } else if s.has("downwardAPI") {
                w.put(2, "DownwardAPI:\ttrue\n");
            } else if s.has("configMap") {
                w.put(2, &format!("ConfigMapName:\t{}\n", s.str("configMap/name")));
                w.put(2, &format!("Optional:\t{}\n", s.bool("configMap/optional")));
            } else if s.has("serviceAccountToken") {
                w.put(2, &format!("TokenExpirationSeconds:\t{}\n", s.int("serviceAccountToken/expirationSeconds")));
            }
        }
    } else {
        w.put(1, "<unknown>\n");
    }
}

/// Topology spread constraints.
pub fn spread_constraints(w: &mut Writer, constraints: &[Value], space: &str) {
    if constraints.is_empty() {
        return;
    }
    let mut sorted: Vec<&Value> = constraints.iter().collect();
    sorted.sort_small_by_key(|c| c.str("topologyKey"));
    w.put(0, &format!("{space}Topology Spread Constraints:\t"));
    for (i, c) in sorted.into_iter().enumerate() {
        if i != 0 {
            w.put(0, &format!("{space}\t"));
        }
        let selector = if c.has("labelSelector") {
            format!(" for selector {}", format_selector(c.at("labelSelector")))
        } else {
            String::new()
        };
        w.put(
            0,
            &format!(
                "{}:{} when max skew {} is exceeded{selector}\n",
                c.str("topologyKey"),
                c.str("whenUnsatisfiable"),
                c.int("maxSkew")
            ),
        );
    }
}

/// Tolerations under a title.
pub fn tolerations(w: &mut Writer, title: &str, tolerations: &[Value]) {
    w.put(0, &format!("{title}:\t"));
    if tolerations.is_empty() {
        w.put(0, "<none>\n");
        return;
    }
    let mut sorted: Vec<&Value> = tolerations.iter().collect();
    sorted.sort_small_by_key(|t| t.str("key"));
    for (i, t) in sorted.into_iter().enumerate() {
        let (key, value, effect) = (t.str("key"), t.str("value"), t.str("effect"));
        let mut line = String::new();
        if i != 0 {
            line.push('\t');
        }
        line.push_str(key);
        if !value.is_empty() {
            line.push_str(&format!("={value}"));
        }
        if !effect.is_empty() {
            line.push_str(&format!(":{effect}"));
        }
        if t.str("operator") == "Exists" && value.is_empty() {
            line.push_str(if key.is_empty() && effect.is_empty() { "op=Exists" } else { " op=Exists" });
        }
        if t.has("tolerationSeconds") {
            line.push_str(&format!(" for {}s", t.int("tolerationSeconds")));
        }
        w.put(0, &format!("{line}\n"));
    }
}
