//! Images that nobody uses go when the disk fills (pkg/kubelet/images/image_gc_manager.go).

use super::kubelet::Kubelet;
use crate::runtime::cri::{Call, Image, Reply, State};
use api::{SortSmall, Str};
use client::klog;
use sim::{Duration, Instant};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// How often the manager looks.
const PERIOD: Duration = Duration::from_secs(300);
/// Per cent of the disk in use above which images go, and below which they stay.
const HIGH: i64 = 85;
const LOW: i64 = 80;
/// How old an image must be.
const MIN_AGE: Duration = Duration::from_secs(120);

/// When images were first seen and last used. Bounded by the images on the node.
#[derive(Default)]
pub struct ImageAges(RefCell<BTreeMap<Str, (Instant, Instant)>>);

/// Watches the disk, for as long as the process lives.
pub async fn run(kubelet: Rc<Kubelet>) {
    loop {
        kubelet.ctx.sleep(PERIOD).await;
        let (size, free) = (kubelet.hardware.disk_size(), kubelet.hardware.disk_available(&kubelet.ctx));
        let per_cent = size / 100;
        if per_cent == 0 {
            continue;
        }
        let usage = 100 - free / per_cent;
        if usage < HIGH {
            continue;
        }
        let wanted = size - free - per_cent * LOW;
        klog::info(
            "Disk usage on image filesystem is over the high threshold, trying to free bytes down to the low threshold",
        )
        .raw("usage", usage)
        .raw("highThreshold", HIGH)
        .raw("amountToFree", wanted)
        .raw("lowThreshold", LOW)
        .log(&kubelet.ctx, "image_gc_manager.go:391");
        let freed = delete_unused(&kubelet, wanted, MIN_AGE).await;
        if freed < wanted {
            let message = format!(
                "Failed to garbage collect required amount of images. Attempted to free {wanted} bytes, but only found {freed} bytes eligible to free."
            );
            kubelet.node_event("Warning", "FreeDiskSpaceFailed", &message);
        }
    }
}

/// Removes unused images, the longest unused first, until so many bytes are free; how many are.
pub async fn delete_unused(kubelet: &Rc<Kubelet>, wanted: i64, min_age: Duration) -> i64 {
    let Ok(Reply::Images(images)) = kubelet.runtime.call(Call::ListImages).await else { return 0 };
    let now = kubelet.ctx.now();
    let records = kubelet.pleg.all();
    let in_use: BTreeSet<Str> = records
        .iter()
        .flat_map(|(_, record)| record.containers.iter())
        .filter(|c| c.state != State::Unknown)
        .map(|c| c.image_ref.clone())
        .collect();
    let mut unused: Vec<(Instant, Instant, Rc<Image>)> = Vec::new();
    {
        let mut ages = kubelet.image_ages.0.borrow_mut();
        ages.retain(|name, _| images.iter().any(|i| i.image_ref == *name));
        for image in images {
            let age = ages.entry(image.image_ref.clone()).or_insert((now, now));
            // The sandbox image is pinned.
            if in_use.contains(&image.image_ref) || image.image_ref.starts_with("registry.k8s.io/pause") {
                age.1 = now;
            } else {
                unused.push((age.1, age.0, image));
            }
        }
    }
    unused.sort_small_by(|a, b| (a.0, a.1, &a.2.image_ref).cmp(&(b.0, b.1, &b.2.image_ref)));
    let mut freed = 0;
    for (_, seen, image) in unused {
        if freed >= wanted {
            break;
        }
        if now.since(seen) < min_age {
            continue;
        }
        klog::info("Removing image to free bytes")
            .str("imageID", &image.image_ref)
            .raw("size", image.size)
            .log(&kubelet.ctx, "image_gc_manager.go:491");
        if kubelet.runtime.done(Call::RemoveImage(image.image_ref.to_string())).await.is_ok() {
            freed += i64::try_from(image.size).unwrap_or(0);
            kubelet.node_state.images_changed.set(true);
        }
    }
    freed
}
