//! Jobs that succeed, fail, are suspended, and go by index.

use api::batch_v1::{Job, JobSpec};
use api::core_v1::{Container, Event, Pod};
use api::meta_v1::DeleteOptions;
use api::{List, OStr};

use super::{World, with_world};

pub fn job(name: &str, image: &str) -> Job {
    let mut job = Job::default();
    job.metadata.name = name.into();
    job.metadata.namespace = "default".into();
    let mut spec = JobSpec {
        parallelism: Some(1),
        completions: Some(1),
        backoff_limit: Some(6),
        completion_mode: OStr::some("NonIndexed"),
        pod_replacement_policy: OStr::some("TerminatingOrFailed"),
        suspend: Some(false),
        ..Default::default()
    };
    let pod = spec.template.make().spec.make();
    let container = Container { name: "app".into(), image: image.into(), ..Default::default() };
    pod.containers = List::from(vec![container]);
    pod.restart_policy = "Never".into();
    pod.termination_grace_period_seconds = Some(30);
    *job.spec.make() = spec;
    job
}

async fn get(w: &World, name: &str) -> api::Rev<Job> {
    w.client.get("default", name).await.unwrap()
}

fn conditions(job: &Job) -> Vec<String> {
    job.status.conditions.iter().map(|c| format!("{}={} {}", c.type_, c.status, c.reason)).collect()
}

#[test]
fn five_successes_two_at_a_time() {
    with_world(|w| async move {
        w.start_nodes(3).await;
        w.ending.borrow_mut().insert("ok".into(), 0);
        let mut five = job("five", "ok");
        let spec = five.spec.make();
        spec.completions = Some(5);
        spec.parallelism = Some(2);
        w.client.create("default", five).await.unwrap();
        w.eventually("all done", async |w: &World| {
            let active = w.list::<Pod>().await.iter().filter(|p| crate::controller_utils::is_pod_active(p)).count();
            assert!(active <= 2, "{active} at once");
            get(w, "five").await.status.succeeded == 5
        })
        .await;
        w.eventually("complete", async |w: &World| !get(w, "five").await.status.completion_time.is_zero()).await;
        let done = get(&w, "five").await;
        let expected = ["SuccessCriteriaMet=True CompletionsReached", "Complete=True CompletionsReached"];
        assert_eq!(conditions(&done), expected);
        assert_eq!((done.status.active, done.status.ready, done.status.failed), (0, Some(0), 0));
        w.ctx.sleep(std::time::Duration::from_secs(2)).await;
        let pods = w.list::<Pod>().await;
        assert_eq!(pods.len(), 5);
        assert!(pods.iter().all(|p| p.metadata.finalizers.is_empty()), "a finalizer is left");
        let events = w.list::<Event>().await;
        assert!(events.iter().any(|e| e.message == "Job completed" && e.reason == "Completed"));
        // Deleted in the background: the pods go too.
        let options = DeleteOptions { propagation_policy: OStr::some("Background"), ..Default::default() };
        w.client.delete::<Job>("default", "five", &options).await.unwrap();
        w.eventually("no pods", async |w: &World| w.list::<Pod>().await.is_empty()).await;
    });
}

#[test]
fn failures_pause_and_end_it() {
    with_world(|w| async move {
        w.start_nodes(2).await;
        w.ending.borrow_mut().insert("bad".into(), 3);
        let mut bad = job("bad", "bad");
        bad.spec.make().backoff_limit = Some(2);
        let start = w.ctx.now();
        w.client.create("default", bad).await.unwrap();
        w.eventually("failed", async |w: &World| {
            conditions(&*get(w, "bad").await).contains(&"Failed=True BackoffLimitExceeded".into())
        })
        .await;
        let took = w.ctx.now().since(start).as_secs();
        assert!((30..45).contains(&took), "10 s and 20 s between: {took}");
        assert_eq!(get(&w, "bad").await.status.failed, 3);
        assert_eq!(w.list::<Pod>().await.len(), 3);
    });
}

#[test]
fn a_deadline_ends_it() {
    with_world(|w| async move {
        w.start_nodes(2).await;
        let mut slow = job("slow", "slow");
        slow.spec.make().active_deadline_seconds = Some(20);
        w.client.create("default", slow).await.unwrap();
        w.eventually("active", async |w: &World| get(w, "slow").await.status.ready == Some(1)).await;
        w.eventually("failed", async |w: &World| {
            conditions(&*get(w, "slow").await).contains(&"Failed=True DeadlineExceeded".into())
        })
        .await;
        assert!(w.list::<Pod>().await.is_empty());
    });
}

#[test]
fn suspended_and_resumed() {
    with_world(|w| async move {
        w.start_nodes(2).await;
        w.client.create("default", job("nap", "slow")).await.unwrap();
        w.eventually("active", async |w: &World| get(w, "nap").await.status.ready == Some(1)).await;
        let suspend = async |on: bool| {
            let now = get(&w, "nap").await;
            let mut new = (*now).clone();
            new.spec.make().suspend = Some(on);
            w.client.update(new, now.revision).await.unwrap();
        };
        suspend(true).await;
        w.eventually("asleep", async |w: &World| {
            conditions(&*get(w, "nap").await) == ["Suspended=True JobSuspended"] && w.list::<Pod>().await.is_empty()
        })
        .await;
        assert_eq!(get(&w, "nap").await.status.failed, 0);
        w.ending.borrow_mut().insert("slow".into(), 0);
        suspend(false).await;
        w.eventually("done", async |w: &World| get(w, "nap").await.status.succeeded == 1).await;
    });
}

#[test]
fn each_index_once() {
    with_world(|w| async move {
        w.start_nodes(3).await;
        w.ending.borrow_mut().insert("ok".into(), 0);
        let mut indexed = job("ix", "ok");
        let spec = indexed.spec.make();
        spec.completion_mode = OStr::some("Indexed");
        spec.completions = Some(4);
        spec.parallelism = Some(3);
        w.client.create("default", indexed).await.unwrap();
        w.eventually("all", async |w: &World| get(w, "ix").await.status.completed_indexes == "0-3").await;
        let mut names: Vec<String> = w.list::<Pod>().await.iter().map(|p| p.spec.hostname.to_string()).collect();
        names.sort();
        assert_eq!(names, ["ix-0", "ix-1", "ix-2", "ix-3"]);
        let pod = &w.list::<Pod>().await[0];
        assert_eq!(&*pod.spec.containers[0].env[0].name, "JOB_COMPLETION_INDEX");
    });
}
