//! A container's definition as a number, to notice changes (pkg/kubelet/container/helpers.go, HashContainer).

use api::core_v1::Container;

/// FNV-1a over name and image, the only fields of a running pod's containers that may change.
pub fn container_hash(container: &Container) -> u64 {
    let bytes = container.name.bytes().chain([0]).chain(container.image.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
