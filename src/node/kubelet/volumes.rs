//! Volumes of pods: set up on the node's disk, mounted into containers, taken down (pkg/kubelet/volumemanager, pkg/volume).

use super::claims::{self, Claimed};
use super::kubelet::Kubelet;
use super::volume_content::{Content, content};
use crate::files::{Entry, Mount, Tree, clean};
use api::core_v1::{Container, Pod, Volume};
use api::{Rev, Str};
use client::klog;
use sim::sync::Notify;
use sim::{Duration, JoinHandle};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Until a new pod's volumes are looked at: the populator's and the reconciler's loops run every 100 ms.
const RECONCILE: Duration = Duration::from_millis(100);
/// How often a sync looks whether its volumes are there.
const POLL: Duration = Duration::from_millis(300);
/// How long a sync waits for volumes.
const TIMEOUT: Duration = Duration::from_secs(123);
/// Until a claim that can't be used yet is asked for again.
const CLAIM_RETRY: Duration = Duration::from_secs(1);
/// The first pause between attempts to set a volume up, and the longest.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(122));

#[derive(Default)]
struct OfPod {
    mounted: RefCell<BTreeSet<Str>>,
    /// What the claims of the pod stand for.
    claimed: RefCell<BTreeMap<Str, Claimed>>,
    /// Claims that can't be used yet, with the reason; told to the next sync.
    failing: RefCell<BTreeMap<Str, String>>,
    /// What was last written, so that only changes are written again.
    contents: RefCell<BTreeMap<Str, Content>>,
    changed: Notify,
    tasks: RefCell<Vec<JoinHandle<()>>>,
    refreshing: Cell<bool>,
}

/// The volumes of the node's pods.
pub struct Volumes {
    disk: Rc<Tree>,
    pods: RefCell<BTreeMap<Str, Rc<OfPod>>>,
}

impl Volumes {
    /// No volumes yet, on that disk.
    pub fn new(disk: Rc<Tree>) -> Self {
        Self { disk, pods: RefCell::default() }
    }

    /// Sets a pod's volumes up and waits until they are. The error names those that are not.
    pub async fn wait_for_mount(&self, kubelet: &Rc<Kubelet>, pod: &Rev<Pod>) -> Result<(), String> {
        let uid = &pod.metadata.uid;
        let wanted = used(pod);
        if wanted.is_empty() {
            return Ok(());
        }
        let known = self.pods.borrow().get(uid).cloned();
        let state = match known {
            Some(state) => {
                refresh(kubelet, pod, &state);
                state
            }
            None => {
                let state = Rc::new(OfPod::default());
                self.pods.borrow_mut().insert(uid.clone(), state.clone());
                for volume in pod.spec.volumes.iter().filter(|v| wanted.contains(&v.name)) {
                    let task = kubelet
                        .ctx
                        .spawn("volume", set_up(kubelet.clone(), pod.clone(), volume.clone(), state.clone()));
                    state.tasks.borrow_mut().push(task);
                }
                state
            }
        };
        let deadline = kubelet.ctx.now() + TIMEOUT;
        loop {
            let missing: Vec<Str> =
                wanted.iter().filter(|name| !state.mounted.borrow().contains(*name)).cloned().collect();
            if missing.is_empty() {
                return Ok(());
            }
            let failing = std::mem::take(&mut *state.failing.borrow_mut());
            if !failing.is_empty() {
                let list = |names: Vec<&str>| names.join(" ");
                let missing = list(missing.iter().map(|n| n.as_str()).collect());
                let names = list(failing.keys().map(|n| n.as_str()).collect());
                let why: Vec<&str> = failing.values().map(String::as_str).collect();
                return Err(format!(
                    "unmounted volumes=[{missing}], unattached volumes=[], failed to process volumes=[{names}]: {}",
                    why.join("; ")
                ));
            }
            if kubelet.ctx.now() >= deadline {
                let names = missing.iter().map(|n| n.as_str()).collect::<Vec<_>>().join(" ");
                return Err(format!(
                    "unmounted volumes=[{names}], unattached volumes=[], failed to process volumes=[]: context deadline exceeded"
                ));
            }
            // The poll's moments are fixed; between them nothing is looked at.
            let next = kubelet.ctx.now() + POLL;
            let changed = state.changed.notified();
            if state.mounted.borrow().len() < wanted.len() {
                let _ = kubelet.ctx.timeout(deadline.since(kubelet.ctx.now()), changed).await;
            }
            let late = kubelet.ctx.now().since(next).as_nanos() / POLL.as_nanos();
            let steps = if kubelet.ctx.now() <= next { 0 } else { u32::try_from(late).unwrap_or(0) + 1 };
            kubelet.ctx.sleep_until(next + POLL * steps).await;
        }
    }

    /// Takes a pod's volumes down, and waits until they are.
    pub async fn wait_for_unmount(&self, kubelet: &Kubelet, pod: &Pod) {
        let uid = &pod.metadata.uid;
        let Some(state) = self.pods.borrow_mut().remove(uid) else { return };
        for task in state.tasks.borrow().iter() {
            task.abort();
        }
        for volume in pod.spec.volumes.iter().filter(|v| state.mounted.borrow().contains(&v.name)) {
            klog::info(&format!(
                "operationExecutor.UnmountVolume started for volume \"{}\" (UniqueName: \"{}\") pod \"{uid}\" (UID: \"{uid}\") ",
                volume.name,
                unique_name(uid, &state.own(volume))
            ))
            .log(&kubelet.ctx, "reconciler_common.go:163");
        }
        kubelet.ctx.sleep(POLL).await;
        for volume in pod.spec.volumes.iter().filter(|v| state.mounted.borrow().contains(&v.name)) {
            klog::info(&format!(
                "Volume detached for volume \"{}\" on node \"{}\" DevicePath \"\"",
                volume.name, kubelet.config.node_name
            ))
            .log(&kubelet.ctx, "reconciler_common.go:299");
        }
        self.disk.remove_all(&format!("/var/lib/kubelet/pods/{uid}"));
    }

    /// What a container mounts. The error is what `CreateContainerConfigError` says.
    pub fn mounts(
        &self,
        pod: &Pod,
        container: &Container,
        expand: &dyn Fn(&str) -> String,
    ) -> Result<Vec<Mount>, String> {
        let mut mounts = Vec::new();
        for mount in container.volume_mounts.iter() {
            let Some(volume) = pod.spec.volumes.iter().find(|v| v.name == mount.name) else {
                return Err(format!(
                    "cannot find volume {} to mount into container {}",
                    api::go::quote(&mount.name),
                    api::go::quote(&container.name)
                ));
            };
            let state = self.pods.borrow().get(&pod.metadata.uid).cloned();
            let claimed = state.and_then(|state| state.claimed.borrow().get(&volume.name).cloned());
            let own = claimed.as_ref().map_or(volume, |c| &c.volume);
            let mut source_path = host_path(&pod.metadata.uid, own);
            let sub_path =
                if mount.sub_path_expr.is_empty() { mount.sub_path.to_string() } else { expand(&mount.sub_path_expr) };
            if !sub_path.is_empty() {
                source_path = format!("{source_path}/{sub_path}");
                if self.disk.get(&clean("/", &source_path)).is_none() {
                    let _ = self.disk.make_dirs(&clean("/", &source_path), 0o755);
                }
            }
            // The kubelet writes these anew when what they show changes.
            let written = volume.config_map.is_some()
                || volume.secret.is_some()
                || volume.projected.is_some()
                || volume.downward_api.is_some();
            let source_path = clean("/", &source_path);
            // A part of one is bound as it is now: what is written later is another file.
            let source = if written && !sub_path.is_empty() {
                let kept = self.disk.beside();
                copy(&self.disk, &kept, &source_path);
                kept
            } else {
                self.disk.clone()
            };
            let path = clean("/", &mount.mount_path);
            let read_only = mount.read_only || written || claimed.as_ref().is_some_and(|c| c.read_only);
            mounts.push(Mount { path, source, source_path, read_only });
        }
        Ok(mounts)
    }
}

/// Copies a file, or a directory with all in it.
fn copy(from: &Tree, to: &Tree, path: &str) {
    let Some(entry) = from.get(path) else { return };
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let _ = to.make_dirs(if parent.is_empty() { "/" } else { parent }, 0o755);
    let _ = to.insert(path, entry);
    for name in from.list(path).unwrap_or_default() {
        copy(from, to, &format!("{path}/{name}"));
    }
}

impl OfPod {
    /// The volume that a volume of the pod stands for: itself, unless it is by claim.
    fn own(&self, volume: &Volume) -> Volume {
        self.claimed.borrow().get(&volume.name).map_or_else(|| volume.clone(), |c| c.volume.clone())
    }

    /// Waits until a claim of the pod can be used.
    async fn resolve(&self, kubelet: &Kubelet, pod: &Pod, volume: &Volume) -> Claimed {
        loop {
            match claims::resolve(kubelet, pod, volume).await {
                Ok(claimed) => {
                    self.failing.borrow_mut().remove(&volume.name);
                    self.claimed.borrow_mut().insert(volume.name.clone(), claimed.clone());
                    return claimed;
                }
                Err(why) => {
                    self.failing.borrow_mut().insert(volume.name.clone(), why);
                    kubelet.ctx.sleep(CLAIM_RETRY).await;
                }
            }
        }
    }
}

/// The volumes that a pod's containers mount.
fn used(pod: &Pod) -> BTreeSet<Str> {
    let all = pod.spec.init_containers.iter().chain(pod.spec.containers.iter());
    let named: BTreeSet<Str> = all.flat_map(|c| c.volume_mounts.iter()).map(|m| m.name.clone()).collect();
    pod.spec.volumes.iter().filter(|v| named.contains(&v.name)).map(|v| v.name.clone()).collect()
}

/// The volume's plugin, and where it lies on the node.
fn plugin(volume: &Volume) -> &'static str {
    if volume.projected.is_some() {
        "projected"
    } else if volume.config_map.is_some() {
        "configmap"
    } else if volume.secret.is_some() {
        "secret"
    } else if volume.downward_api.is_some() {
        "downward-api"
    } else if volume.host_path.is_some() {
        "host-path"
    } else {
        "empty-dir"
    }
}

fn host_path(uid: &str, volume: &Volume) -> String {
    match volume.host_path.get() {
        Some(host) => host.path.to_string(),
        None => format!("/var/lib/kubelet/pods/{uid}/volumes/kubernetes.io~{}/{}", plugin(volume), volume.name),
    }
}

fn unique_name(uid: &str, volume: &Volume) -> String {
    format!("kubernetes.io/{}/{uid}-{}", plugin(volume), volume.name)
}

/// Sets one volume up, again and again until it is.
async fn set_up(kubelet: Rc<Kubelet>, pod: Rev<Pod>, volume: Volume, state: Rc<OfPod>) {
    let uid = pod.metadata.uid.clone();
    kubelet.ctx.sleep(RECONCILE).await;
    let (name, mut volume, mut is_local) = (volume.name.clone(), volume, false);
    if claims::is_claim(&volume) {
        Claimed { volume, is_local, .. } = state.resolve(&kubelet, &pod, &volume).await;
    }
    klog::info(&format!(
        "operationExecutor.VerifyControllerAttachedVolume started for volume \"{}\" (UniqueName: \"{}\") pod \"{}\" (UID: \"{uid}\") ",
        volume.name,
        unique_name(&uid, &volume),
        pod.metadata.name
    ))
    .log(&kubelet.ctx, "reconciler_common.go:251");
    let mut pause = RETRY.0;
    loop {
        let path = clean("/", &host_path(&uid, &volume));
        let absent = is_local && kubelet.volumes.disk.get(&path).is_none();
        let mounted = match absent {
            true => Err(format!(
                "MountVolume.NewMounter initialization failed for volume \"{}\" : path \"{path}\" does not exist",
                volume.name
            )),
            false => mount(&kubelet, &pod, &volume, &state)
                .await
                .map_err(|why| format!("MountVolume.SetUp failed for volume \"{}\" : {why}", volume.name)),
        };
        match mounted {
            Ok(()) => {
                state.mounted.borrow_mut().insert(name);
                state.changed.notify();
                return;
            }
            Err(why) => {
                kubelet.event(&pod, None, "Warning", "FailedMount", &why);
                kubelet.ctx.sleep(pause + RECONCILE).await;
                pause = (pause * 2).min(RETRY.1);
            }
        }
    }
}

/// One attempt.
async fn mount(kubelet: &Rc<Kubelet>, pod: &Rev<Pod>, volume: &Volume, state: &OfPod) -> Result<(), String> {
    let disk = &kubelet.volumes.disk;
    let path = clean("/", &host_path(&pod.metadata.uid, volume));
    let fs = |result: Result<(), shell::process::FileError>| {
        result.map_err(|why| format!("mkdir {path}: {}", why.message().to_lowercase()))
    };
    if let Some(host) = volume.host_path.get() {
        let found = disk.get(&path);
        let failed = |what: &str| Err(format!("hostPath type check failed: {} is not a {what}", host.path));
        return match (host.type_.or_empty(), found) {
            ("" | "DirectoryOrCreate", None) => fs(disk.make_dirs(&path, 0o755)),
            ("Directory", Some(Entry::Dir(_))) | ("File" | "FileOrCreate", Some(Entry::File(..))) | ("", _) => Ok(()),
            ("DirectoryOrCreate", Some(Entry::Dir(_))) => Ok(()),
            ("FileOrCreate", None) => fs(disk.put(&path, b"", 0o644)),
            ("Directory" | "DirectoryOrCreate", _) => failed("directory"),
            ("File" | "FileOrCreate", _) => failed("file"),
            ("Socket", _) => failed("socket file"),
            ("CharDevice", _) => failed("character device"),
            ("BlockDevice", _) => failed("block device"),
            _ => Ok(()),
        };
    }
    if volume.persistent_volume_claim.is_some()
        || volume.csi.is_some()
        || volume.ephemeral.is_some()
        || volume.nfs.is_some()
    {
        return Err("no volume plugin matched".to_string());
    }
    fs(disk.make_dirs(&path, 0o777))?;
    if plugin(volume) == "empty-dir" {
        return Ok(());
    }
    let before = state.contents.borrow().get(&volume.name).cloned();
    let content = content(kubelet, pod, volume, before.as_ref()).await?;
    write(disk, &path, &content).map_err(|why| format!("write {path}: {}", why.message().to_lowercase()))?;
    state.contents.borrow_mut().insert(volume.name.clone(), content);
    Ok(())
}

/// Puts a volume's files in place, and takes away those that are no longer wanted.
fn write(disk: &Tree, path: &str, content: &Content) -> Result<(), shell::process::FileError> {
    for name in disk.list(path)? {
        if !content.files.iter().any(|f| f.path.split('/').next() == Some(name.as_str())) {
            disk.remove_all(&format!("{path}/{name}"));
        }
    }
    for file in &content.files {
        let at = clean(path, &file.path);
        if let Some((up, _)) = at.rsplit_once('/') {
            disk.make_dirs(up, 0o755)?;
        }
        disk.insert(&at, Entry::File(file.bytes.clone(), file.mode))?;
    }
    Ok(())
}

/// Writes what changed since the last sync, in the background.
fn refresh(kubelet: &Rc<Kubelet>, pod: &Rev<Pod>, state: &Rc<OfPod>) {
    let mounted: Vec<Volume> = pod
        .spec
        .volumes
        .iter()
        .filter(|v| state.mounted.borrow().contains(&v.name) && !matches!(plugin(v), "empty-dir" | "host-path"))
        .cloned()
        .collect();
    if mounted.is_empty() || state.refreshing.replace(true) {
        return;
    }
    let (kubelet, pod, state) = (kubelet.clone(), pod.clone(), state.clone());
    kubelet.ctx.clone().spawn("volume", async move {
        for volume in mounted {
            // A failure leaves the volume as it was, as an atomic writer does.
            let _ = mount(&kubelet, &pod, &volume, &state).await;
        }
        state.refreshing.set(false);
    });
}
