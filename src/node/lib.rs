//! What is on a node: kubelet, container runtime.
