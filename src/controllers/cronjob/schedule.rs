//! Which run of a CronJob is due, and when to look again (`pkg/controller/cronjob/utils.go`).

use std::time::Duration;

use api::batch_v1::CronJob;
use api::cron::Schedule;

const NANOS: i64 = 1_000_000_000;
/// A little later than the schedule says, for clocks that differ (`nextScheduleDelta`).
const SLACK: i64 = NANOS / 10;

/// How many runs did not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    None,
    Few,
    /// More than a hundred.
    Many,
}

struct Recent {
    /// The last run or the CronJob's creation, in seconds since 1970.
    earliest: i64,
    /// The latest run that should have begun by now.
    due: Option<i64>,
    missed: Missed,
}

/// `now` is in nanoseconds since 1970 (`mostRecentScheduleTime`).
fn most_recent(job: &CronJob, schedule: &Schedule, now: i64, within_deadline: bool) -> Result<Recent, String> {
    let created = job.metadata.creation_timestamp.unix().unwrap_or(0);
    let mut earliest = job.status.last_schedule_time.unix().unwrap_or(created);
    let seconds = now.div_euclid(NANOS);
    if let Some(deadline) = job.spec.starting_deadline_seconds.filter(|_| within_deadline) {
        earliest = earliest.max(seconds.saturating_sub(deadline));
    }
    let (first, second) = {
        let first = schedule.next(earliest);
        (first, schedule.next(first))
    };
    if seconds < first {
        return Ok(Recent { earliest, due: None, missed: Missed::None });
    }
    if seconds < second {
        return Ok(Recent { earliest, due: Some(first), missed: Missed::None });
    }
    let between = second.saturating_sub(first);
    if between < 1 {
        return Err("time difference between two schedules is less than 1 second".to_string());
    }
    let missed = seconds.saturating_sub(first) / between + 1;
    let mut due = None;
    let mut time = schedule.next(first.saturating_add((missed - 2).saturating_mul(between)));
    while time <= seconds && due.is_none_or(|last| last < time) {
        due = Some(time);
        time = schedule.next(time);
    }
    Ok(Recent { earliest, due, missed: if missed > 100 { Missed::Many } else { Missed::Few } })
}

/// The run that should have begun by now and did not, in seconds since 1970, and how many were missed
/// (`nextScheduleTime`). `now` is in nanoseconds since 1970.
///
/// # Errors
/// A schedule that never comes.
pub fn unmet(job: &CronJob, schedule: &Schedule, now: i64) -> Result<Option<(i64, Missed)>, String> {
    let recent = most_recent(job, schedule, now, true)?;
    Ok(recent.due.map(|due| (due, recent.missed)))
}

/// How long until the next run (`nextScheduleTimeDuration`). `now` is in nanoseconds since 1970.
pub fn until_next(job: &CronJob, schedule: &Schedule, now: i64) -> Duration {
    let from = match most_recent(job, schedule, now, false) {
        Ok(Recent { due: Some(due), .. }) => due,
        Ok(Recent { earliest, missed: Missed::None, .. }) => earliest,
        _ => now.div_euclid(NANOS),
    };
    let next = schedule.next(from).saturating_mul(NANOS).saturating_add(SLACK);
    Duration::from_nanos(u64::try_from(next.saturating_sub(now)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::Time;

    fn job(created: i64, last: Option<i64>, deadline: Option<i64>) -> CronJob {
        let mut job = CronJob::default();
        job.metadata.creation_timestamp = Time::from_unix(created);
        job.status.make().last_schedule_time = last.map(Time::from_unix).unwrap_or_default();
        job.spec.make().starting_deadline_seconds = deadline;
        job
    }

    /// Cases of Kubernetes' own tests, around an hour at 0.
    #[test]
    fn which_run_is_due() {
        let hourly = Schedule::parse("0 * * * *").unwrap();
        let hour = 3600;
        let at = |job: &CronJob, seconds: i64| unmet(job, &hourly, seconds * NANOS).unwrap();
        // Created ten minutes ago, before the hour.
        assert_eq!(at(&job(hour - 600, None, None), hour - 60), None);
        // The hour came a minute ago.
        assert_eq!(at(&job(hour - 600, None, None), hour + 60), Some((hour, Missed::None)));
        // That run began already.
        assert_eq!(at(&job(0, Some(hour), None), hour + 60), None);
        // Two runs did not happen; the latest is due.
        assert_eq!(at(&job(0, Some(0), None), 2 * hour + 60), Some((2 * hour, Missed::Few)));
        assert_eq!(at(&job(0, Some(0), None), 200 * hour + 60), Some((200 * hour, Missed::Many)));
        // A deadline forgets what is older.
        assert_eq!(at(&job(0, Some(0), Some(30)), 2 * hour + 60), None);
        let never = Schedule::parse("59 23 31 2 *").unwrap();
        assert!(unmet(&job(0, None, None), &never, hour * NANOS).is_err());
    }

    #[test]
    fn when_to_look_again() {
        let hourly = Schedule::parse("0 * * * *").unwrap();
        let wait = until_next(&job(0, Some(3600), None), &hourly, 4000 * NANOS);
        assert_eq!(wait, Duration::from_millis(3_200_100));
    }
}
