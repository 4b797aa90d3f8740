//! `kubectl debug`: a container beside those of a pod, in a copy of it, or on a node.

use super::pod_watch::pod_until;
use super::run::is_reference;
use crate::builder::Builder;
use crate::error::Error;
use crate::print::human::quote;
use crate::server::{Delete, Write};
use crate::session::Kubectl;
use crate::value::{Value, object};
use ::api::rest::{LogOptions, PatchType};
use std::time::Duration;

const PROFILES: [&str; 6] = ["legacy", "general", "baseline", "restricted", "netadmin", "sysadmin"];

/// What is to be debugged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Node,
    Copy,
    Ephemeral,
}

/// The command.
pub async fn debug(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let dash = f.dash.unwrap_or(k.args().len());
    let (targets, command) = k.args().split_at(dash.min(k.args().len()));
    let profile = if f.str("profile").is_empty() { "general" } else { f.str("profile") };
    if !PROFILES.contains(&profile) {
        return Err(Error::text(format!("unknown profile: {profile}")));
    }
    let (image, copy_to) = (f.str("image"), f.str("copy-to"));
    let attach = f.bool("attach") || (f.bool("stdin") && !f.changed("attach"));
    if f.bool("attach") && image.is_empty() && f.str("container").is_empty() {
        return Err(Error::text(
            "you must specify --container or create a new container using --image in order to attach.",
        ));
    }
    let set_images = pairs(&f.list("set-image"));
    if !copy_to.is_empty() {
        if image.is_empty() && set_images.is_empty() && command.is_empty() {
            return Err(Error::text("you must specify --image, --set-image or command arguments."));
        }
        if !command.is_empty() && f.str("container").is_empty() && image.is_empty() {
            return Err(Error::text("you must specify an existing container or a new image when specifying args."));
        }
    } else if f.bool("replace") {
        return Err(Error::text("--replace may only be used with --copy-to."));
    } else if f.bool("same-node") {
        return Err(Error::text("--same-node may only be used with --copy-to."));
    } else if !set_images.is_empty() {
        return Err(Error::text("--set-image may only be used with --copy-to."));
    } else if image.is_empty() {
        return Err(Error::text("you must specify --image when not using --copy-to."));
    }
    if !image.is_empty() && !is_reference(image) {
        return Err(Error::text(format!("invalid image name {}: invalid reference format", quote(image))));
    }
    if targets.is_empty() && f.list("filename").is_empty() {
        return Err(Error::text("NAME or filename is required for debug"));
    }
    if !matches!(f.str("image-pull-policy"), "" | "Always" | "IfNotPresent" | "Never") {
        return Err(Error::text(format!("invalid image pull policy: {}", f.str("image-pull-policy"))));
    }
    if let Some((name, image)) = set_images.iter().find(|(_, image)| !is_reference(image)) {
        return Err(Error::text(format!(
            "invalid image name {} for container {}: invalid reference format",
            quote(image),
            quote(name)
        )));
    }
    let target = f.str("target");
    if !target.is_empty() {
        if !copy_to.is_empty() {
            return Err(Error::text("--target is incompatible with --copy-to. Use --share-processes instead."));
        }
        if !f.bool("quiet") {
            k.out(&format!("Targeting container {}. If you don't see processes from this container it may be because the container runtime doesn't support this feature.\n", quote(target)));
        }
    }
    if f.bool("tty") && !f.bool("stdin") {
        return Err(Error::text("-i/--stdin is required for containers with -t/--tty=true"));
    }
    if profile == "legacy" {
        k.err("--profile=legacy is deprecated and planned to be removed in v1.39. It is recommended to specify other profile, for example \"--profile=general\".\n");
    }
    let d = Debug { k, image, command, profile, set_images };
    let (infos, failed) = Builder::new(k).resource_names("pods", targets).run(k).await?.infos();
    failed?;
    for info in infos {
        let (pod, container) = match info.mapping.kind.as_str() {
            "Node" => d.node(&info.object).await?,
            "Pod" if copy_to.is_empty() => d.ephemeral(&info.object).await?,
            "Pod" => d.copy(&info.object).await?,
            _ => {
                return Err(Error::text(format!("{} not supported by debug", quote(&info.mapping.gvk()))));
            }
        };
        if attach && !container.is_empty() {
            follow(k, &pod, &container).await?;
        }
    }
    Ok(())
}

fn pairs(list: &[String]) -> Vec<(String, String)> {
    list.iter().filter_map(|p| p.split_once('=')).map(|(a, b)| (a.to_string(), b.to_string())).collect()
}

struct Debug<'a, 'b> {
    k: &'a Kubectl<'b>,
    image: &'a str,
    command: &'a [String],
    profile: &'a str,
    set_images: Vec<(String, String)>,
}

impl Debug<'_, '_> {
    fn name(&self, pod: &Value) -> String {
        let given = self.k.flags.str("container");
        if !given.is_empty() {
            return given.to_string();
        }
        let taken = |name: &str| {
            ["containers", "initContainers", "ephemeralContainers"]
                .iter()
                .any(|l| pod.list(&format!("spec/{l}")).iter().any(|c| c.str("name") == name))
        };
        let mut name = String::new();
        while name.is_empty() || taken(&name) {
            name = format!("debugger-{}", self.k.suffix());
        }
        if !self.k.flags.bool("quiet") {
            self.k.out(&format!("Defaulting debug container name to {name}.\n"));
        }
        name
    }

    /// Fills what the flags say into a container.
    fn fill(&self, c: &mut Value) {
        let f = &self.k.flags;
        if !self.command.is_empty() {
            let field = if f.bool("arguments-only") { "args" } else { "command" };
            c.set(field, Value::from(self.command));
        }
        let env: Vec<Value> = pairs(&f.list("env"))
            .into_iter()
            .map(|(name, value)| object([("name", name.into()), ("value", value.into())]))
            .collect();
        if !env.is_empty() {
            c.set("env", env);
        }
        if !self.image.is_empty() {
            c.set("image", self.image);
        }
        if !f.str("image-pull-policy").is_empty() {
            c.set("imagePullPolicy", f.str("image-pull-policy"));
        }
        if f.bool("stdin") {
            c.set("stdin", true);
        }
        if f.bool("tty") {
            c.set("tty", true);
        }
    }

    fn container(&self, name: &str) -> Value {
        let mut c = object([
            ("name", name.into()),
            ("resources", Value::object()),
            ("terminationMessagePolicy", "File".into()),
        ]);
        self.fill(&mut c);
        c
    }

    /// What the profile does to the container.
    fn secure(&self, c: &mut Value, style: Style) {
        let add = |c: &mut Value, capability: &str| {
            let list = c.list_mut("securityContext/capabilities/add");
            if !list.iter().any(|v| v.as_str() == Some(capability)) {
                list.push(capability.into());
            }
        };
        match (self.profile, style) {
            ("general", Style::Copy | Style::Ephemeral) => add(c, "SYS_PTRACE"),
            ("netadmin", _) => {
                add(c, "NET_ADMIN");
                add(c, "NET_RAW");
            }
            ("sysadmin", _) => c.set("securityContext/privileged", true),
            ("restricted", _) => {
                c.set("securityContext/runAsNonRoot", true);
                c.set("securityContext/capabilities/drop", vec!["ALL".into()]);
                c.set("securityContext/allowPrivilegeEscalation", false);
                c.set("securityContext/seccompProfile/type", "RuntimeDefault");
            }
            ("general" | "baseline", _) => {
                c.remove_key("", "securityContext");
            }
            _ => {}
        }
    }

    async fn ephemeral(&self, pod: &Value) -> Result<(Value, String), Error> {
        let k = self.k;
        let name = self.name(pod);
        let mut c = self.container(&name);
        if !k.flags.str("target").is_empty() {
            c.set("targetContainerName", k.flags.str("target"));
        }
        self.secure(&mut c, Style::Ephemeral);
        let patch = object([("spec", object([("ephemeralContainers", Value::Array(vec![c]))]))]).to_json();
        let pods = k.known("", "pods")?;
        let (ns, pod) = (pod.str("metadata/namespace"), pod.str("metadata/name"));
        let w = Write { manager: "kubectl-debug".into(), ..Write::default() };
        let made = k.patch(&pods, ns, pod, "ephemeralcontainers", PatchType::Strategic, patch.as_bytes(), &w).await?;
        Ok((made, name))
    }

    async fn copy(&self, pod: &Value) -> Result<(Value, String), Error> {
        let k = self.k;
        let f = &k.flags;
        let mut o = object([("apiVersion", "v1".into()), ("kind", "Pod".into())]);
        o.set("metadata/name", f.str("copy-to"));
        o.set("metadata/namespace", pod.str("metadata/namespace"));
        let keeps = |what: &str| self.profile == "legacy" || f.bool(&format!("keep-{what}"));
        for what in ["labels", "annotations"] {
            let from = pod.at(&format!("metadata/{what}"));
            if keeps(what) && !from.is_null() {
                o.set(&format!("metadata/{what}"), from.clone());
            }
        }
        let mut spec = pod.at("spec").clone();
        spec.remove_key("", "ephemeralContainers");
        if !keeps("init-containers") || f.changed("keep-init-containers") && !f.bool("keep-init-containers") {
            spec.remove_key("", "initContainers");
        }
        if !f.bool("same-node") {
            spec.remove_key("", "nodeName");
        }
        for c in spec.list_mut("containers") {
            for (flag, probe) in
                [("liveness", "livenessProbe"), ("readiness", "readinessProbe"), ("startup", "startupProbe")]
            {
                if !keeps(flag) {
                    c.remove_key("", probe);
                }
            }
            let own = self.set_images.iter().find(|i| i.0 == c.str("name"));
            if let Some((_, image)) = own.or_else(|| self.set_images.iter().find(|i| i.0 == "*")) {
                c.set("image", image.as_str());
            }
        }
        if self.profile != "legacy" || f.changed("share-processes") {
            spec.set("shareProcessNamespace", f.bool("share-processes"));
        }
        o.set("spec", spec);
        let wanted = f.str("container");
        let known = o.list("spec/containers").iter().any(|c| c.str("name") == wanted);
        let mut name = wanted.to_string();
        if !known {
            if self.image.is_empty() {
                if self.set_images.is_empty() {
                    return Err(Error::text("you must specify image when creating new container"));
                }
                return self.create(pod, o, String::new()).await;
            }
            if name.is_empty() {
                name = self.name(&o);
            }
            let c = object([
                ("name", name.as_str().into()),
                ("resources", Value::object()),
                ("terminationMessagePolicy", "File".into()),
            ]);
            o.list_mut("spec/containers").push(c);
        }
        for c in o.list_mut("spec/containers").iter_mut().filter(|c| c.str("name") == name) {
            if !self.command.is_empty() {
                c.remove_key("", "args");
            }
            self.fill(c);
            self.secure(c, Style::Copy);
        }
        self.create(pod, o, name).await
    }

    async fn create(&self, pod: &Value, o: Value, name: String) -> Result<(Value, String), Error> {
        let k = self.k;
        let pods = k.known("", "pods")?;
        let ns = pod.str("metadata/namespace");
        let w = Write { manager: "kubectl-debug".into(), ..Write::default() };
        let made = k.create(&pods, ns, &o, &w).await?;
        if k.flags.bool("replace") {
            let options = Delete { grace_period: Some(0), ..Delete::default() };
            k.delete(&pods, ns, pod.str("metadata/name"), &options).await?;
        }
        Ok((made, name))
    }

    async fn node(&self, node: &Value) -> Result<(Value, String), Error> {
        let k = self.k;
        let f = &k.flags;
        let container = if f.str("container").is_empty() { "debugger" } else { f.str("container") };
        let node_name = node.str("metadata/name");
        let name = format!("node-debugger-{node_name}-{}", self.k.suffix());
        if !f.bool("quiet") {
            k.out(&format!("Creating debugging pod {name} with container {container} on node {node_name}.\n"));
        }
        let mut c = self.container(container);
        self.secure(&mut c, Style::Node);
        let host = matches!(self.profile, "general" | "legacy" | "sysadmin" | "netadmin");
        let root = matches!(self.profile, "general" | "legacy" | "sysadmin");
        if root {
            c.set("volumeMounts", vec![object([("mountPath", "/host".into()), ("name", "host-root".into())])]);
        }
        let mut o = object([("apiVersion", "v1".into()), ("kind", "Pod".into())]);
        o.set("metadata/name", name.as_str());
        o.set_key("metadata/labels", "app.kubernetes.io/managed-by", "kubectl-debug");
        o.set("spec/containers", vec![c]);
        o.set("spec/nodeName", node_name);
        o.set("spec/restartPolicy", "Never");
        o.set("spec/tolerations", vec![object([("operator", "Exists".into())])]);
        if host {
            for field in ["hostIPC", "hostNetwork", "hostPID"] {
                o.set(&format!("spec/{field}"), true);
            }
        }
        if root {
            let volume = object([("hostPath", object([("path", "/".into())])), ("name", "host-root".into())]);
            o.set("spec/volumes", vec![volume]);
        }
        let pods = k.known("", "pods")?;
        let w = Write { manager: "kubectl-debug".into(), ..Write::default() };
        Ok((k.create(&pods, &k.namespace(), &o, &w).await?, container.to_string()))
    }
}

/// Waits for the container and attaches to it, or shows its log when it has ended already.
async fn follow(k: &Kubectl<'_>, pod: &Value, container: &str) -> Result<(), Error> {
    let (ns, name) = (pod.str("metadata/namespace").to_string(), pod.str("metadata/name").to_string());
    let state = |pod: &Value| {
        let lists = ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"];
        let mut all = lists.iter().flat_map(|l| pod.list(&format!("status/{l}")));
        all.find(|s| s.str("name") == container).map(|s| s.at("state").clone()).unwrap_or_default()
    };
    let pod = pod_until(k, &ns, &name, Duration::ZERO, |pod| {
        let state = state(pod);
        let message = state.str("waiting/message");
        if !message.is_empty() && !k.flags.bool("quiet") {
            k.warn(&format!("container {container}: {message}"));
        }
        state.has("running") || state.has("terminated")
    })
    .await?;
    if state(&pod).has("running") {
        return super::attach::to(k, &pod, container).await;
    }
    let options = LogOptions { container: container.into(), ..LogOptions::default() };
    if let Ok(text) = k.logs(&ns, &name, options).await? {
        k.out(&text);
    }
    Ok(())
}
