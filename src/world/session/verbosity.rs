//! What the real components write from verbosity 3 on only (`logger.V(3)` and above in Kubernetes' sources): clusters
//! are mostly run with `--v=2`, so the page shows these lines only when asked for everything.

/// The messages, sorted.
const MESSAGES: &[&str] = &[
    "About to try and schedule pod",
    "Add event for node",
    "Added taint to node",
    "Adding",
    "All taints were removed from the node. Cancelling all evictions...",
    "Attempting to bind pod to node",
    "Attempting to schedule pod",
    "Cancelling TimedWorkerQueue item",
    "Claim deleted",
    "Cleaned up unhealthy replicas from old RSes",
    "Cleaning up jobs from CronJob list",
    "Content remaining in namespace",
    "Controller created pod",
    "Controller either never recorded expectations, or the ttl expired",
    "Controller expectations fulfilled",
    "Controller received delete for pod",
    "Controller waiting on deletions",
    "Could not sync claim",
    "Could not sync volume",
    "Created Job",
    "CronJob not found, may be it is deleted",
    "Current tolerations for pod tolerate forever, cancelling any scheduled deletion",
    "Daemon set has been deleted",
    "DaemonSet has excess pods on node, skipping to allow the core loop to process",
    "Delaying pod finalizer removal to await for pod recreation within the index",
    "Delete event for node",
    "Deleting",
    "Deleting all active pods in suspended job",
    "Deleting job that was still running at next scheduled start time",
    "Deployment timed out from last progress check",
    "Expected claim missing, continuing to pick up in next iteration",
    "Failed to acquire lease",
    "Failed to find port for service",
    "Finished syncing",
    "Finished syncing EndpointSlices for Endpoints",
    "Finished syncing Node request",
    "Finished syncing PodDisruptionBudget",
    "Finished syncing daemon set",
    "Finished syncing deployment",
    "Finished syncing job",
    "Finished syncing namespace",
    "Finished syncing pod",
    "Finished syncing resource quota",
    "Finished syncing service endpoint slices",
    "Finished syncing service endpoints",
    "Finished syncing statefulset",
    "Firing worker",
    "Forcing resync",
    "Found available pods in deployment, scaling down old RSes",
    "Found available pods in old RS",
    "Found related pods",
    "GC'ing orphaned",
    "GC'ing terminating pods that are on out-of-service nodes",
    "GC'ing unscheduled pods which are terminating",
    "Garbage collecting pod that is terminating",
    "Job has been deleted",
    "Lease is held by and has not yet expired",
    "Looking to cleanup old replica sets for deployment",
    "Lowered expectations",
    "Made sure that node has no taint",
    "New replica set",
    "No PodDisruptionBudgets found for pod, PodDisruptionBudget controller will avoid syncing.",
    "No matching PDB for pod",
    "Node was in a taint queue, but it's ready now. Ignoring taint request",
    "Nodes needing daemon pods for daemon set, creating",
    "Noticed node deletion",
    "Noticed node update",
    "Noticed pod deletion",
    "Noticed pod update",
    "Pod created",
    "Pod deleted",
    "Pod has already been deleted.",
    "Pod moved to an internal scheduling queue",
    "Pod objectMeta updated.",
    "Pod termination stopped all running orphaned containers",
    "Pods to delete for daemon set, deleting",
    "Preemption will not help schedule pod on any node",
    "Putting node with CIDR into the work queue",
    "Queueing up deployment for a progress check",
    "Queueing up deployment for a progress check now",
    "QuotaMonitor process object",
    "Re-queuing cronjob",
    "ReadyCondition for Node transitioned from savedCondition to currentReadyCondition",
    "Removing job from CronJob list",
    "ReplicaSet deleted",
    "Resource quota controller queued all resource quota for full calculation of usage",
    "Resyncing PV controller",
    "Scaled down old RSes",
    "Service account deleted, removing tokens",
    "Service account does not exist, deleting token",
    "Started syncing deployment",
    "StatefulSet Pod phase changed",
    "Successfully synced",
    "Synchronizing PersistentVolume",
    "Synchronizing PersistentVolumeClaim",
    "Too few pods running",
    "Too many pods running for job",
    "Trying to cleanup replica set for deployment",
    "Update endpoints",
    "Update event for node",
    "Updating daemon set status",
    "Updating known taints on node",
    "Updating pod condition and nominated node name",
    "Updating replica set revision",
    "Waited before sending request",
    "Watch closed",
    "Watch failed - backing off",
    "Worker finished, removing",
    "deleted",
    "job's ActiveDeadlineSeconds updated, will rsync",
    "namespace controller - deleteAllContent",
    "node has been deleted",
    "podDisruptionBudget has been deleted",
    "replicaSet updated. Desired pod count change.",
    "volume deleted",
];

/// Whether a line's text (`"message" key=value`) is one of those.
pub fn is_verbose(text: &str) -> bool {
    let message = text.strip_prefix('"').and_then(|rest| rest.split('"').next()).unwrap_or_default();
    MESSAGES.binary_search(&message).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_takes_whole_messages() {
        assert!(MESSAGES.is_sorted());
        assert!(is_verbose("\"Waited before sending request\" delay=\"100ms\""));
        assert!(is_verbose("\"Resyncing PV controller\" logger=\"persistentvolume-binder-controller\""));
        assert!(!is_verbose("\"Too few replicas\" replicaSet=\"default/web-1\" need=3"));
        assert!(!is_verbose("\"Successfully bound pod to node\" pod=\"default/web-1\""));
        assert!(!is_verbose("Waited"));
        assert!(!is_verbose(""));
    }
}
