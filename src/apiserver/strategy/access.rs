//! Access, policy, coordination, scheduling, admission and flow control kinds.

use super::{Generation, SPEC, Strategy, only_status};

/// A kind with nothing but flags of its own.
const fn plain(group: &'static str, resource: &'static str) -> Strategy {
    Strategy { group, resource, ..Strategy::ORDINARY }
}

const fn with_generation(group: &'static str, resource: &'static str, generation: Generation) -> Strategy {
    Strategy { group, resource, generation, ..Strategy::ORDINARY }
}

const fn careful(group: &'static str, resource: &'static str, generation: Generation) -> Strategy {
    Strategy { group, resource, generation, unconditional_update: false, ..Strategy::ORDINARY }
}

const RBAC: &str = "rbac.authorization.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";
const FLOW: &str = "flowcontrol.apiserver.k8s.io";
const RESOURCE: &str = "resource.k8s.io";

pub static STRATEGIES: &[Strategy] = &[
    Strategy { create_on_update: true, ..plain(RBAC, "roles") },
    Strategy { create_on_update: true, ..plain(RBAC, "rolebindings") },
    Strategy { create_on_update: true, ..plain(RBAC, "clusterroles") },
    Strategy { create_on_update: true, ..plain(RBAC, "clusterrolebindings") },
    Strategy { create_on_update: true, ..careful("coordination.k8s.io", "leases", Generation::None) },
    Strategy { create_on_update: true, ..careful("node.k8s.io", "runtimeclasses", Generation::None) },
    with_generation("scheduling.k8s.io", "priorityclasses", Generation::Fixed),
    Strategy { prepare_status: only_status, ..careful(ADMISSION, "validatingadmissionpolicies", SPEC) },
    careful(ADMISSION, "validatingadmissionpolicybindings", SPEC),
    careful(ADMISSION, "mutatingadmissionpolicies", SPEC),
    careful(ADMISSION, "mutatingadmissionpolicybindings", SPEC),
    careful(ADMISSION, "validatingwebhookconfigurations", Generation::On(&["webhooks"])),
    careful(ADMISSION, "mutatingwebhookconfigurations", Generation::On(&["webhooks"])),
    Strategy { prepare_status: only_status, ..with_generation(FLOW, "flowschemas", SPEC) },
    Strategy { prepare_status: only_status, ..with_generation(FLOW, "prioritylevelconfigurations", SPEC) },
    careful("certificates.k8s.io", "clustertrustbundles", Generation::None),
    Strategy {
        prepare_status: only_status,
        ..careful("certificates.k8s.io", "podcertificaterequests", Generation::None)
    },
    Strategy {
        prepare_status: only_status,
        ..careful("storagemigration.k8s.io", "storageversionmigrations", Generation::None)
    },
    Strategy { return_deleted: true, prepare_status: only_status, ..plain(RESOURCE, "resourceclaims") },
    Strategy { return_deleted: true, ..plain(RESOURCE, "resourceclaimtemplates") },
    Strategy { return_deleted: true, ..with_generation(RESOURCE, "deviceclasses", SPEC) },
    Strategy { return_deleted: true, ..plain("", "resourcequotas") },
    Strategy { create_on_update: true, ..plain("", "limitranges") },
    Strategy { return_deleted: true, ..plain("", "serviceaccounts") },
];
