//! Dates as the servers in images write them.

/// A civil date and time in UTC.
pub struct Stamp {
    year: i64,
    month: usize,
    day: i64,
    weekday: usize,
    hour: i64,
    minute: i64,
    second: i64,
    nanos: i64,
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

impl Stamp {
    /// From nanoseconds since 1970.
    pub fn of(unix_nanos: i64) -> Self {
        let seconds = unix_nanos.div_euclid(1_000_000_000);
        let days = seconds.div_euclid(86_400);
        let of_day = seconds.rem_euclid(86_400);
        // Civil from days (Howard Hinnant's algorithm).
        let z = days + 719_468;
        let era = z.div_euclid(146_097);
        let doe = z.rem_euclid(146_097);
        let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
        let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
        let mp = (5 * doy + 2) / 153;
        let month = if mp < 10 { mp + 3 } else { mp - 9 };
        Self {
            year: yoe + era * 400 + i64::from(month <= 2),
            month: usize::try_from(month - 1).unwrap_or(0),
            day: doy - (153 * mp + 2) / 5 + 1,
            weekday: usize::try_from(days.rem_euclid(7)).unwrap_or(0),
            hour: of_day / 3_600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
            nanos: unix_nanos.rem_euclid(1_000_000_000),
        }
    }
    fn month(&self) -> &'static str {
        MONTHS.get(self.month).unwrap_or(&"")
    }
    fn weekday(&self) -> &'static str {
        DAYS.get(self.weekday).unwrap_or(&"")
    }
    /// `29/Nov/2026:18:28:02 +0000`: access logs.
    pub fn access(&self) -> String {
        format!(
            "{:02}/{}/{}:{:02}:{:02}:{:02} +0000",
            self.day,
            self.month(),
            self.year,
            self.hour,
            self.minute,
            self.second
        )
    }
    /// `29 Nov 2026 18:28:02.123`: redis.
    pub fn redis(&self) -> String {
        let milli = self.nanos / 1_000_000;
        format!(
            "{:02} {} {} {:02}:{:02}:{:02}.{milli:03}",
            self.day,
            self.month(),
            self.year,
            self.hour,
            self.minute,
            self.second
        )
    }
    /// `2026-11-29T18:28:02.123456Z`: etcd.
    pub fn iso(&self) -> String {
        let (month, micro) = (self.month + 1, self.nanos / 1_000);
        let date = format!("{}-{month:02}-{:02}", self.year, self.day);
        format!("{date}T{:02}:{:02}:{:02}.{micro:06}Z", self.hour, self.minute, self.second)
    }
    /// `2026-11-29 18:28:02.123 UTC`: PostgreSQL.
    pub fn postgres(&self) -> String {
        let milli = self.nanos / 1_000_000;
        format!(
            "{}-{:02}-{:02} {:02}:{:02}:{:02}.{milli:03} UTC",
            self.year,
            self.month + 1,
            self.day,
            self.hour,
            self.minute,
            self.second
        )
    }
    /// `Sun Nov 29 18:28:02.123456 2026`: Apache.
    pub fn apache(&self) -> String {
        let micro = self.nanos / 1_000;
        format!(
            "{} {} {:02} {:02}:{:02}:{:02}.{micro:06} {}",
            self.weekday(),
            self.month(),
            self.day,
            self.hour,
            self.minute,
            self.second,
            self.year
        )
    }
    /// `29/Nov/2026 18:28:02`: Python's http.server.
    pub fn python(&self) -> String {
        format!("{:02}/{}/{} {:02}:{:02}:{:02}", self.day, self.month(), self.year, self.hour, self.minute, self.second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written() {
        let stamp = Stamp::of(1_795_976_882_123_456_789);
        assert_eq!(stamp.access(), "29/Nov/2026:18:28:02 +0000");
        assert_eq!(stamp.redis(), "29 Nov 2026 18:28:02.123");
        assert_eq!(stamp.postgres(), "2026-11-29 18:28:02.123 UTC");
        assert_eq!(stamp.apache(), "Sun Nov 29 18:28:02.123456 2026");
        assert_eq!(Stamp::of(951_782_400_000_000_000).access(), "29/Feb/2000:00:00:00 +0000");
    }
}
