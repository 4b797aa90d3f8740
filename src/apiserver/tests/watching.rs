//! Watches: from the present, from the past, with selectors, bookmarks and ends.

use super::*;
use api::core_v1::{ConfigMap, Pod};
use api::rest::{EventType, WatchBody};

fn config_map(name: &str, tier: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = name.into();
    object.metadata.labels.insert(Str::from("tier"), Str::from(tier));
    object
}

fn told(events: &[WatchEvent]) -> Vec<String> {
    events
        .iter()
        .map(|event| match &event.body {
            WatchBody::Object(object) => format!("{} {}", event.type_.name(), metadata(object).name),
            WatchBody::Bookmark(_, initial) => format!("{} {initial}", event.type_.name()),
            _ => event.type_.name().to_string(),
        })
        .collect()
}

#[test]
fn objects_come_into_sight_and_go() {
    with_server(|ctx, client, _| async move {
        client.create("default", config_map("old", "web")).await.unwrap();
        let watcher = Client::new(&ctx).await;
        let options = ListOptions { label_selector: "tier=web".into(), ..Default::default() };
        watcher.watch(ConfigMap::KIND, "default", options).await.unwrap();
        assert_eq!(told(&watcher.events().await), ["ADDED old"]);
        client.create("default", config_map("other", "db")).await.unwrap();
        let created = client.create("default", config_map("new", "web")).await.unwrap();
        assert_eq!(told(&watcher.events().await), ["ADDED new"]);
        let mut changed = created.clone();
        Rc::make_mut(&mut changed.body).data.insert(Str::from("a"), Str::from("b"));
        let changed = client.update("", &changed).await.unwrap();
        assert_eq!(told(&watcher.events().await), ["MODIFIED new"]);
        let mut hidden = changed.clone();
        Rc::make_mut(&mut hidden.body).metadata.labels.insert(Str::from("tier"), Str::from("db"));
        let hidden = client.update("", &hidden).await.unwrap();
        let events = watcher.events().await;
        assert_eq!(told(&events), ["DELETED new"]);
        let WatchBody::Object(last) = &events[0].body else { panic!() };
        assert_eq!(last.revision, hidden.revision);
        client.delete::<ConfigMap>("default", "old").await.unwrap();
        assert_eq!(told(&watcher.events().await), ["DELETED old"]);
    });
}

#[test]
fn a_watch_goes_on_from_a_revision() {
    with_server(|ctx, client, _| async move {
        let first = client.create("default", config_map("a", "x")).await.unwrap();
        client.create("default", config_map("b", "x")).await.unwrap();
        client.delete::<ConfigMap>("default", "a").await.unwrap();
        let watcher = Client::new(&ctx).await;
        let since = ListOptions { resource_version: first.resource_version(), ..Default::default() };
        watcher.watch(ConfigMap::KIND, "", since).await.unwrap();
        assert_eq!(told(&watcher.events().await), ["ADDED b", "DELETED a"]);
    });
}

#[test]
fn a_streaming_list_ends_with_its_bookmark_and_others_follow() {
    with_server(|ctx, client, _| async move {
        client.create("default", config_map("a", "x")).await.unwrap();
        let watcher = Client::new(&ctx).await;
        let options = ListOptions {
            send_initial_events: Some(true),
            resource_version_match: "NotOlderThan".into(),
            allow_watch_bookmarks: true,
            timeout_seconds: Some(100),
            ..Default::default()
        };
        watcher.watch(ConfigMap::KIND, "default", options).await.unwrap();
        assert_eq!(told(&watcher.events().await), ["ADDED a", "BOOKMARK true"]);
        let before = ctx.now();
        let events = watcher.events().await;
        assert_eq!(told(&events), ["BOOKMARK false"]);
        assert_eq!(events[0].type_, EventType::Bookmark);
        assert_eq!(ctx.now().since(before).as_secs(), 60);
        // The timeout ends it.
        assert!(watcher.events().await.is_empty());
        assert_eq!(ctx.now().since(before).as_secs(), 100);
    });
}

#[test]
fn a_node_hears_of_its_pods_alone() {
    with_server(|ctx, client, server| async move {
        let mut account = api::core_v1::ServiceAccount::default();
        account.metadata.name = "default".into();
        client.create("default", account).await.unwrap();
        let watcher = Client::new(&ctx).await;
        let options = ListOptions { field_selector: "spec.nodeName=node-1".into(), ..Default::default() };
        watcher.watch(Pod::KIND, "", options).await.unwrap();
        for (name, node) in [("a", "node-1"), ("b", "node-2"), ("c", "")] {
            let mut pod = pod(name);
            pod.spec.make().node_name = node.into();
            client.create("default", pod).await.unwrap();
        }
        assert_eq!(told(&watcher.events().await), ["ADDED a"]);
        let cache = server.inner().cache.resource(server.inner().pods);
        assert_eq!(cache.watchers(), 1);
        drop(watcher);
        ctx.sleep(sim::Duration::from_secs(1)).await;
        assert_eq!(cache.watchers(), 0);
    });
}
