//! The simulated world: clock, executor, processes, network, disks, randomness, trace. Knows nothing of Kubernetes.
