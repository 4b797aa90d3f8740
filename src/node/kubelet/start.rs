//! Starts a container: image, definition, start, hook (pkg/kubelet/kuberuntime, startContainer).

use super::kubelet::Kubelet;
use super::record::PodRecordExt;
use super::{dns, env, ephemeral, expansion, hash, hooks, pull, qos};
use crate::runtime::cri::{Call, ContainerConfig, PodRecord, Reply};
use crate::runtime::signal::Signal;
use api::core_v1::{Container, Pod};
use api::{Rev, Str};
use client::klog;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Why a container was not started: the reason its status shows, and the message.
pub type StartError = (String, String);

/// Starts a container in a sandbox.
pub async fn start_container(
    kubelet: &Rc<Kubelet>,
    pod: &Rev<Pod>,
    container: &Container,
    record: &PodRecord,
    sandbox_id: &Str,
    ip: &Str,
) -> Result<(), StartError> {
    let warn = |reason: &str, message: String| kubelet.event(pod, Some(&container.name), "Warning", reason, &message);
    let image_ref = match pull::ensure_image(kubelet, pod, container).await {
        Ok(image_ref) => image_ref,
        Err((reason, message)) => {
            warn("Failed", format!("Error: {reason}"));
            return Err((reason, message));
        }
    };
    let attempt = record.container(&container.name).map_or(0, |c| c.restart_count.saturating_add(1));
    let config = match configure(kubelet, pod, container, attempt, &image_ref, ip).await {
        Ok(config) => config,
        Err(why) => {
            warn("Failed", format!("Error: {why}"));
            return Err(("CreateContainerConfigError".to_string(), why));
        }
    };
    let id = match kubelet.runtime.call(Call::CreateContainer(sandbox_id.clone(), Rc::new(config))).await {
        Ok(Reply::Id(id)) => id,
        Ok(_) => return Err(("CreateContainerError".to_string(), String::new())),
        Err(why) => {
            warn("Failed", format!("Error: {}", why.desc));
            return Err(("CreateContainerError".to_string(), why.desc));
        }
    };
    kubelet.event(pod, Some(&container.name), "Normal", "Created", "Container created");
    if let Err(why) = kubelet.runtime.done(Call::StartContainer(id.clone())).await {
        warn("Failed", format!("Error: {}", why.desc));
        return Err(("RunContainerError".to_string(), why.desc));
    }
    kubelet.resizes.actuate(&pod.metadata.uid, container);
    kubelet.event(pod, Some(&container.name), "Normal", "Started", "Container started");

    if let Some(hook) = container.lifecycle.get().and_then(|l| l.post_start.get())
        && let Err(why) = hooks::run(kubelet, pod, container, hook, &id, ip).await
    {
        klog::error("Failed to execute PostStartHook")
            .err(&why)
            .obj("pod", &pod.metadata.namespace, &pod.metadata.name)
            .str("containerName", &container.name)
            .log(&kubelet.ctx, "kuberuntime_container.go:314");
        warn("FailedPostStartHook", "PostStartHook failed".to_string());
        let grace = pod.spec.termination_grace_period_seconds.unwrap_or(30);
        let _ =
            super::terminate::kill_container(kubelet, pod, &id, &container.name, "FailedPostStartHook", grace, None)
                .await;
        return Err(("PostStartHookError".to_string(), why));
    }
    Ok(())
}

/// What the runtime is told to make. The error is what `CreateContainerConfigError` says.
async fn configure(
    kubelet: &Rc<Kubelet>,
    pod: &Rev<Pod>,
    container: &Container,
    attempt: u32,
    image_ref: &Str,
    ip: &Str,
) -> Result<ContainerConfig, String> {
    let environment = env::environment(kubelet, pod, container, ip).await?;
    let known: BTreeMap<&str, &str> = environment.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let lookup = |name: &str| known.get(name).map(ToString::to_string);
    let expand = |list: &[Str]| list.iter().map(|text| expansion::expand(text, &lookup)).collect();
    let mounts = kubelet.volumes.mounts(pod, container, &|text| expansion::expand(text, &lookup))?;
    let (of_pod, own) = (pod.spec.security_context.get(), container.security_context.get());
    let uid = own.and_then(|c| c.run_as_user).or_else(|| of_pod.and_then(|c| c.run_as_user));
    let gid = own.and_then(|c| c.run_as_group).or_else(|| of_pod.and_then(|c| c.run_as_group));
    let non_root = own.and_then(|c| c.run_as_non_root).or_else(|| of_pod.and_then(|c| c.run_as_non_root)) == Some(true);
    if non_root {
        let image_uid = match kubelet.runtime.call(Call::ImageStatus(image_ref.to_string())).await {
            Ok(Reply::Image(Some(image))) => image.uid,
            _ => 0,
        };
        let whole = format!("{}_{}({})", pod.metadata.name, pod.metadata.namespace, pod.metadata.uid);
        match uid {
            Some(0) => {
                return Err(format!(
                    "container's runAsUser breaks non-root policy (pod: \"{whole}\", container: {})",
                    container.name
                ));
            }
            None if image_uid == 0 => {
                return Err(format!(
                    "container has runAsNonRoot and image will run as root (pod: \"{whole}\", container: {})",
                    container.name
                ));
            }
            _ => {}
        }
    }
    Ok(ContainerConfig {
        name: container.name.clone(),
        attempt,
        image: container.image.clone(),
        image_ref: image_ref.clone(),
        command: expand(&container.command),
        args: expand(&container.args),
        workdir: container.working_dir.to_string(),
        env: environment,
        target: ephemeral::target(pod, &container.name),
        mounts,
        read_only_root: own.and_then(|c| c.read_only_root_filesystem) == Some(true),
        hash: hash::container_hash(container),
        stop_signal: container.lifecycle.get().and_then(|l| l.stop_signal.get()).and_then(Signal::parse),
        uid,
        gid,
        memory_limit: qos::memory_limit(container),
        termination_message_path: container.termination_message_path.clone(),
        fallback_to_logs: container.termination_message_policy == "FallbackToLogsOnError",
        stdin: container.stdin,
        stdin_once: container.stdin_once,
        tty: container.tty,
        resolv_conf: dns::resolv_conf(kubelet, pod),
        hosts: dns::hosts(pod, &kubelet.config.node_name, &kubelet.host_ip, ip),
    })
}
