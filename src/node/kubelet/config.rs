//! How a kubelet is set up.

use api::Str;
use sim::Addr;

/// What the machine and its configuration tell the kubelet. The defaults are those of the recorded clusters' nodes.
#[derive(Clone, Debug)]
pub struct KubeletConfig {
    /// Name of the Node object.
    pub node_name: Str,
    /// Labels beyond the ones that every node has (`--node-labels`).
    pub labels: Vec<(Str, Str)>,
    /// Range of the pods' addresses, `10.244.0.0/24`.
    pub pod_cidr: Str,
    /// CPUs.
    pub cpus: i64,
    /// Memory, a quantity.
    pub memory: Str,
    /// Disk, a quantity.
    pub ephemeral_storage: Str,
    /// Pods at most.
    pub max_pods: i64,
    /// The API server.
    pub server: Addr,
    /// Requests a second to it in the long run, and at once.
    pub qps: (f64, u32),
    /// `v1.37.2`
    pub version: Str,
    /// `containerd://2.4.2`
    pub runtime_version: Str,
    /// The machine's operating system.
    pub os_image: Str,
    /// Its kernel.
    pub kernel_version: Str,
    /// Its identity, 32 hexadecimal digits.
    pub machine_id: Str,
    /// The identity of this boot.
    pub boot_id: Str,
}

impl KubeletConfig {
    /// A node of 4 CPUs, 8Gi and 110 pods.
    pub fn new(node_name: &str, server: Addr) -> Self {
        Self {
            node_name: node_name.into(),
            labels: Vec::new(),
            pod_cidr: Str::default(),
            cpus: 4,
            memory: "8Gi".into(),
            ephemeral_storage: "270553174016".into(),
            max_pods: 110,
            server,
            qps: (50.0, 100),
            version: "v1.37.2".into(),
            runtime_version: "containerd://2.4.2".into(),
            os_image: "Debian GNU/Linux 12 (bookworm)".into(),
            kernel_version: "6.1.0-40-amd64".into(),
            machine_id: Str::default(),
            boot_id: Str::default(),
        }
    }
}
