//! CronJobs by the minute, and Jobs that go by themselves.

use std::time::Duration;

use api::batch_v1::{CronJob, Job};
use api::core_v1::Event;

use super::jobs::job;
use super::{World, with_world};

fn cron_job(name: &str, schedule: &str, image: &str) -> CronJob {
    let mut cron_job = CronJob::default();
    cron_job.metadata.name = name.into();
    cron_job.metadata.namespace = "default".into();
    let spec = cron_job.spec.make();
    spec.schedule = schedule.into();
    spec.concurrency_policy = "Forbid".into();
    spec.suspend = Some(false);
    spec.successful_jobs_history_limit = Some(3);
    spec.failed_jobs_history_limit = Some(1);
    spec.job_template.make().spec = job(name, image).spec;
    cron_job
}

#[test]
fn a_job_every_minute_and_three_are_kept() {
    with_world(|w| async move {
        w.start_nodes(1).await;
        w.ending.borrow_mut().insert("ok".into(), 0);
        w.client.create("default", cron_job("tick", "* * * * *", "ok")).await.unwrap();
        w.ctx.sleep(Duration::from_secs(5 * 60 + 30)).await;
        let mut names: Vec<String> = w.list::<Job>().await.iter().map(|j| j.metadata.name.to_string()).collect();
        names.sort();
        assert_eq!(names.len(), 3);
        let first = w.list::<Job>().await.into_iter().min_by_key(|j| j.revision).unwrap();
        let minute: i64 = first.metadata.name.strip_prefix("tick-").unwrap().parse().unwrap();
        let created = first.metadata.creation_timestamp.unix().unwrap();
        assert_eq!((created / 60, created % 60), (minute, 0));
        assert_eq!(first.metadata.owner_references.first().map(|r| r.kind.to_string()).as_deref(), Some("CronJob"));
        let cron_job: api::Rev<CronJob> = w.client.get("default", "tick").await.unwrap();
        assert!(cron_job.status.active.is_empty());
        assert!(!cron_job.status.last_successful_time.is_zero());
        let events = w.list::<Event>().await;
        let said = |reason: &str, text: &str| events.iter().any(|e| e.reason == reason && *e.message == *text);
        assert!(said("SuccessfulCreate", &format!("Created job {}", first.metadata.name)));
        assert!(said("SawCompletedJob", &format!("Saw completed job: {}, condition: Complete", first.metadata.name)));
        assert!(events.iter().any(|e| e.reason == "SuccessfulDelete" && e.message.starts_with("Deleted job tick-")));
    });
}

#[test]
fn a_run_that_goes_on_keeps_the_next_from_beginning_and_a_suspended_one_begins_none() {
    with_world(|w| async move {
        w.start_nodes(1).await;
        w.client.create("default", cron_job("long", "* * * * *", "endless")).await.unwrap();
        let mut asleep = cron_job("asleep", "* * * * *", "endless");
        asleep.spec.make().suspend = Some(true);
        w.client.create("default", asleep).await.unwrap();
        w.ctx.sleep(Duration::from_secs(3 * 60 + 30)).await;
        let jobs = w.list::<Job>().await;
        assert_eq!(jobs.len(), 1);
        assert!(jobs.first().unwrap().metadata.name.starts_with("long-"));
        let events = w.list::<Event>().await;
        assert!(events.iter().any(|e| e.reason == "JobAlreadyActive"
            && e.message == "Not starting job because prior execution is running and concurrency policy is Forbid"));
    });
}

#[test]
fn a_finished_job_goes_after_its_time() {
    with_world(|w| async move {
        w.start_nodes(1).await;
        w.ending.borrow_mut().insert("ok".into(), 0);
        let mut short = job("short", "ok");
        short.spec.make().ttl_seconds_after_finished = Some(5);
        w.client.create("default", short).await.unwrap();
        w.eventually("complete", async |w: &World| {
            w.list::<Job>().await.iter().any(|j| !j.status.completion_time.is_zero())
        })
        .await;
        w.ctx.sleep(Duration::from_secs(3)).await;
        assert_eq!(w.list::<Job>().await.len(), 1);
        w.ctx.sleep(Duration::from_secs(4)).await;
        assert_eq!(w.list::<Job>().await.len(), 0);
        assert_eq!(w.list::<api::core_v1::Pod>().await.len(), 0);
    });
}
