//! ClusterRoles that grow by others.

use api::rbac_v1::{ClusterRole, PolicyRule};
use api::{List, Map};

use super::{World, with_world};

/// A role for a new kind of object becomes part of `view` by its label, and leaves it again.
#[test]
fn view_grows_by_a_labelled_role() {
    with_world(|w| async move {
        let mut role = ClusterRole::default();
        role.metadata.name = "see-widgets".into();
        role.metadata.labels = Map::from([("rbac.authorization.k8s.io/aggregate-to-view", "true".into())]);
        role.rules = List::from(vec![PolicyRule {
            api_groups: List::from(vec!["example.com".into()]),
            resources: List::from(vec!["widgets".into()]),
            verbs: List::from(vec!["get".into()]),
            ..Default::default()
        }]);
        w.client.create("", role).await.unwrap();
        let has = async |w: &World, name: &str| {
            let role: api::Rev<ClusterRole> = w.client.get("", name).await.unwrap();
            role.rules.iter().any(|r| r.resources.iter().any(|r| r == "widgets"))
        };
        w.eventually("view has it", async |w: &World| has(w, "view").await).await;
        // What view may do, edit and admin may too.
        w.eventually("admin has it", async |w: &World| has(w, "admin").await).await;
        w.client.delete::<ClusterRole>("", "see-widgets", &Default::default()).await.unwrap();
        w.eventually("view lost it", async |w: &World| !has(w, "view").await).await;
    });
}
