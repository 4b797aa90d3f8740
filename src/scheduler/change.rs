//! Changes of the cluster that may help a pod which a plugin refused: their names (`framework.ClusterEvent`), what they
//! are about, and the plugins' hints (`QueueingHintFn`).

use crate::devices::Devices;
use crate::node_info::PodInfo;
use api::Rev;
use api::core_v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use api::resource_v1::{DeviceClass, ResourceClaim};
use api::storage_v1::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass};

/// A change of the cluster, as far as plugins care.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// A pod on a node is new.
    AssignedPodAdded,
    /// The labels of a pod on a node changed.
    AssignedPodLabels,
    /// A pod on a node asks for less than before.
    AssignedPodScaledDown,
    /// A pod on a node is gone.
    AssignedPodDeleted,
    /// The waiting pod itself has other labels.
    TargetPodLabels,
    /// Or asks for less than before.
    TargetPodScaledDown,
    /// Or lost its last gate.
    TargetPodSchedulingGatesEliminated,
    /// Or has more tolerations.
    TargetPodTolerations,
    /// Or has claims that were made for it.
    TargetPodGeneratedResourceClaim,
    /// A node is new.
    NodeAdded,
    /// What pods may use of a node changed.
    NodeAllocatable,
    /// A node's labels changed.
    NodeLabels,
    /// A node's taints changed, or it was uncordoned.
    NodeTaints,
    /// A node declares other features.
    NodeDeclaredFeatures,
    /// A node is gone.
    NodeDeleted,
    /// A claim is new.
    ClaimAdded,
    /// A claim changed.
    ClaimUpdated,
    /// A volume is new.
    VolumeAdded,
    /// A volume changed.
    VolumeUpdated,
    /// A storage class is new.
    StorageClassAdded,
    /// A storage class changed.
    StorageClassUpdated,
    /// A node's list of storage drivers is new.
    CsiNodeAdded,
    /// A node's list of storage drivers changed.
    CsiNodeUpdated,
    /// A storage driver changed.
    CsiDriverUpdated,
    /// What a storage driver has left somewhere is new.
    CsiStorageCapacityAdded,
    /// What a storage driver has left somewhere changed.
    CsiStorageCapacityUpdated,
    /// A claim of devices is new.
    ResourceClaimAdded,
    /// A claim of devices changed.
    ResourceClaimUpdated,
    /// A claim of devices is gone.
    ResourceClaimDeleted,
    /// A class of devices is new.
    DeviceClassAdded,
    /// A class of devices changed.
    DeviceClassUpdated,
    /// A driver publishes more devices.
    ResourceSliceAdded,
    /// A driver publishes other devices.
    ResourceSliceUpdated,
    /// A volume was detached from a node.
    VolumeAttachmentDeleted,
    /// Somebody wants a pod tried again (`EventForceActivate`).
    ForceActivate,
}

impl Change {
    /// The event's name in log lines.
    pub const fn label(self) -> &'static str {
        match self {
            Self::AssignedPodAdded => "AssignedPodAdd",
            Self::AssignedPodLabels => "AssignedPodUpdatePodLabel",
            Self::AssignedPodScaledDown => "AssignedPodUpdatePodScaleDown",
            Self::AssignedPodDeleted => "AssignedPodDelete",
            Self::TargetPodLabels => "TargetPodUpdatePodLabel",
            Self::TargetPodScaledDown => "TargetPodUpdatePodScaleDown",
            Self::TargetPodSchedulingGatesEliminated => "TargetPodUpdatePodSchedulingGatesEliminated",
            Self::TargetPodTolerations => "TargetPodUpdatePodToleration",
            Self::TargetPodGeneratedResourceClaim => "TargetPodUpdatePodGeneratedResourceClaim",
            Self::NodeAdded => "NodeAdd",
            Self::NodeAllocatable => "NodeUpdateNodeAllocatable",
            Self::NodeLabels => "NodeUpdateNodeLabel",
            Self::NodeTaints => "NodeUpdateNodeTaint",
            Self::NodeDeclaredFeatures => "NodeUpdateNodeDeclaredFeature",
            Self::NodeDeleted => "NodeDelete",
            Self::ClaimAdded => "PersistentVolumeClaimAdd",
            Self::ClaimUpdated => "PersistentVolumeClaimUpdate",
            Self::VolumeAdded => "PersistentVolumeAdd",
            Self::VolumeUpdated => "PersistentVolumeUpdate",
            Self::StorageClassAdded => "storage.k8s.io/StorageClassAdd",
            Self::StorageClassUpdated => "storage.k8s.io/StorageClassUpdate",
            Self::CsiNodeAdded => "storage.k8s.io/CSINodeAdd",
            Self::CsiNodeUpdated => "storage.k8s.io/CSINodeUpdate",
            Self::CsiDriverUpdated => "storage.k8s.io/CSIDriverUpdate",
            Self::CsiStorageCapacityAdded => "storage.k8s.io/CSIStorageCapacityAdd",
            Self::CsiStorageCapacityUpdated => "storage.k8s.io/CSIStorageCapacityUpdate",
            Self::ResourceClaimAdded => "resource.k8s.io/ResourceClaimAdd",
            Self::ResourceClaimUpdated => "resource.k8s.io/ResourceClaimUpdate",
            Self::ResourceClaimDeleted => "resource.k8s.io/ResourceClaimDelete",
            Self::DeviceClassAdded => "resource.k8s.io/DeviceClassAdd",
            Self::DeviceClassUpdated => "resource.k8s.io/DeviceClassUpdate",
            Self::ResourceSliceAdded => "resource.k8s.io/ResourceSliceAdd",
            Self::ResourceSliceUpdated => "resource.k8s.io/ResourceSliceUpdate",
            Self::VolumeAttachmentDeleted => "storage.k8s.io/VolumeAttachmentDelete",
            Self::ForceActivate => "ForceActivate",
        }
    }
}

/// What a change is about, before and after it; what is missing was not there.
#[derive(Clone)]
pub enum About {
    /// Nothing that a plugin looks at.
    Nothing,
    /// A pod.
    Pod(Option<Rev<Pod>>, Option<Rev<Pod>>),
    /// A node.
    Node(Option<Rev<Node>>, Option<Rev<Node>>),
    /// A claim.
    Claim(Rev<PersistentVolumeClaim>),
    /// A volume.
    Volume(Option<Rev<PersistentVolume>>, Rev<PersistentVolume>),
    /// A storage class.
    Class(Option<Rev<StorageClass>>, Rev<StorageClass>),
    /// A node's storage drivers.
    CsiNode(Option<Rev<CSINode>>, Rev<CSINode>),
    /// A storage driver.
    CsiDriver(Rev<CSIDriver>, Rev<CSIDriver>),
    /// A claim of devices.
    ResourceClaim(Option<Rev<ResourceClaim>>, Option<Rev<ResourceClaim>>),
    /// A class of devices.
    DeviceClass(Option<Rev<DeviceClass>>, Rev<DeviceClass>),
    /// What a storage driver has left somewhere.
    Capacity(Option<Rev<CSIStorageCapacity>>, Rev<CSIStorageCapacity>),
}

impl About {
    /// The node before and after.
    pub fn node(&self) -> (Option<&Rev<Node>>, Option<&Rev<Node>>) {
        match self {
            Self::Node(old, new) => (old.as_ref(), new.as_ref()),
            _ => (None, None),
        }
    }
    /// The pod before and after.
    pub fn pod(&self) -> (Option<&Rev<Pod>>, Option<&Rev<Pod>>) {
        match self {
            Self::Pod(old, new) => (old.as_ref(), new.as_ref()),
            _ => (None, None),
        }
    }
    /// The claim.
    pub fn claim(&self) -> Option<&PersistentVolumeClaim> {
        match self {
            Self::Claim(claim) => Some(claim),
            _ => None,
        }
    }
}

/// Which changes may help a pod that a plugin refused.
pub struct Hint {
    /// The changes.
    pub changes: &'static [Change],
    /// Whether one helps this pod.
    pub helps: Helps,
}

/// Whether a change helps a pod.
#[derive(Clone, Copy)]
pub enum Helps {
    /// It always may.
    Always,
    /// It may if this says so.
    When(fn(&PodInfo, &About) -> bool),
    /// It may if this says so, which looks at classes of devices.
    WithDevices(fn(&PodInfo, &About, &Devices) -> bool),
}

impl Hint {
    /// A hint of changes that always may help.
    pub const fn always(changes: &'static [Change]) -> Self {
        Self { changes, helps: Helps::Always }
    }
    /// A hint of changes that may help where `helps` says so.
    pub const fn when(changes: &'static [Change], helps: fn(&PodInfo, &About) -> bool) -> Self {
        Self { changes, helps: Helps::When(helps) }
    }
    /// Whether a change, which is one of these, may help a pod.
    pub fn may_help(&self, pod: &PodInfo, about: &About, devices: &Devices) -> bool {
        match self.helps {
            Helps::Always => true,
            Helps::When(helps) => helps(pod, about),
            Helps::WithDevices(helps) => helps(pod, about, devices),
        }
    }
}
