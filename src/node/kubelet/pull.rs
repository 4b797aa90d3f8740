//! Images: present, pulled, or not to be had (pkg/kubelet/images/image_manager.go).

use super::go;
use super::kubelet::Kubelet;
use crate::runtime::cri::{Call, Reply};
use crate::runtime::reference::Reference;
use api::core_v1::{Container, Pod};
use api::{Rev, Str};
use sim::Duration;
use std::rc::Rc;

/// Makes sure that a container's image is on the node: its reference by digest, or reason and message.
pub async fn ensure_image(
    kubelet: &Rc<Kubelet>,
    pod: &Rev<Pod>,
    container: &Container,
) -> Result<Str, (String, String)> {
    let image = &container.image;
    let say =
        |type_: &str, reason: &str, message: &str| kubelet.event(pod, Some(&container.name), type_, reason, message);
    if let Err(why) = Reference::parse(image) {
        let message = format!(
            "Failed to apply default image tag {}: couldn't parse image name {}: {why}",
            api::go::quote(image),
            api::go::quote(image)
        );
        say("Warning", "InspectFailed", &message);
        return Err(("InvalidImageName".to_string(), message));
    }
    let quoted = api::go::quote(image);
    if container.image_pull_policy != "Always" {
        let present = match kubelet.runtime.call(Call::ImageStatus(image.to_string())).await {
            Ok(Reply::Image(present)) => present,
            Ok(_) => None,
            Err(why) => {
                let message = format!("Failed to inspect image {quoted}: {why}");
                say("Warning", "InspectFailed", &message);
                return Err(("ImageInspectError".to_string(), message));
            }
        };
        if let Some(present) = present {
            say(
                "Normal",
                "Pulled",
                &format!("Container image {quoted} already present on machine and can be accessed by the pod"),
            );
            return Ok(present.image_ref.clone());
        }
        if container.image_pull_policy == "Never" {
            let message = format!("Container image {quoted} is not present with pull policy of Never");
            say("Warning", "ErrImageNeverPull", &message);
            return Err(("ErrImageNeverPull".to_string(), message));
        }
    }

    let key = format!("{}_{image}", pod.metadata.uid);
    if kubelet.pull_backoff.borrow().in_backoff_since_update(&key, kubelet.ctx.now()) {
        let mut message = format!("Back-off pulling image {quoted}");
        say("Normal", "BackOff", &message);
        if let Some(before) = kubelet.pull_errors.borrow().get(&key) {
            message = format!("{message}: {before}");
        }
        return Err(("ImagePullBackOff".to_string(), message));
    }
    kubelet.pull_errors.borrow_mut().remove(&key);
    say("Normal", "Pulling", &format!("Pulling image {quoted}"));
    let began = kubelet.ctx.now();
    match kubelet.runtime.call(Call::PullImage(image.to_string())).await {
        Ok(Reply::Image(Some(pulled))) => {
            let millis = kubelet.ctx.now().since(began).as_millis();
            let took = go::duration(Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX)));
            say(
                "Normal",
                "Pulled",
                &format!(
                    "Successfully pulled image {quoted} in {took} ({took} including waiting). Image size: {} bytes.",
                    pulled.size
                ),
            );
            kubelet.node_state.images_changed.set(true);
            Ok(pulled.image_ref.clone())
        }
        Ok(_) => Err(("ErrImagePull".to_string(), String::new())),
        Err(why) => {
            // What the runtime can't put a code to is shown as it says it.
            let why = if why.code == "Unknown" { why.desc } else { why.to_string() };
            say("Warning", "Failed", &format!("Failed to pull image {quoted}: {why}"));
            let now = kubelet.ctx.now();
            kubelet.pull_backoff.borrow_mut().next(&key, now, now);
            let until = now + kubelet.pull_backoff.borrow().get(&key);
            let meta = &pod.metadata;
            kubelet.ctx.mark("pull back-off", format!("{}/{} {} {image}", meta.namespace, meta.name, until.as_nanos()));
            let mut errors = kubelet.pull_errors.borrow_mut();
            if errors.len() >= super::backoff::KEYS {
                errors.clear();
            }
            errors.insert(key, format!("ErrImagePull: {why}"));
            Err(("ErrImagePull".to_string(), why))
        }
    }
}
