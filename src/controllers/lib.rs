//! kube-controller-manager: one table of controllers.
