//! kube-scheduler: framework, queues, plugins, preemption.
