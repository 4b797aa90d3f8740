//! Whether the world's worker still answers. A worker that computes flat out answers between two of its slices, so
//! silence is a hang; but a page that was hidden, or asleep itself, learns nothing from silence, nor does it before the
//! worker's first word or while the worker stands still to fetch a part of its program.

/// Milliseconds between two looks.
pub const TICK: u32 = 1000;
/// Milliseconds of silence that are a hang.
pub const HUNG: f64 = 10_000.0;

/// What is known of the worker's answers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Watch {
    known: bool,
    fetching: bool,
    asked: bool,
    silent: f64,
    last: f64,
}

impl Watch {
    /// The worker said something.
    pub fn heard(&mut self) {
        (self.known, self.asked, self.silent) = (true, false, 0.0);
    }

    /// The worker begins to fetch a part of its program, or has it.
    pub fn fetching(&mut self, on: bool) {
        self.heard();
        self.fetching = on;
    }

    /// Called every [`TICK`] at the time `now`, in milliseconds. True when the worker is to be asked.
    pub fn tick(&mut self, now: f64, hidden: bool) -> bool {
        let passed = now - std::mem::replace(&mut self.last, now);
        if hidden || passed > 3.0 * f64::from(TICK) || !self.known || self.fetching {
            self.silent = 0.0;
        } else if self.asked {
            self.silent += passed;
        }
        let ask = !hidden && !self.asked;
        self.asked |= ask;
        ask
    }

    /// Whether the worker hangs.
    pub fn hung(&self) -> bool {
        self.silent >= HUNG
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(watch: &mut Watch, from: u32, n: u32, hidden: bool) -> u32 {
        (0..n).map(|i| u32::from(watch.tick(f64::from((from + i) * TICK), hidden))).sum()
    }

    #[test]
    fn silence_is_a_hang_only_where_an_answer_was_due() {
        let mut watch = Watch::default();
        // A worker that is being loaded owes nothing, and is asked once.
        assert_eq!(ticks(&mut watch, 1, 60, false), 1);
        assert!(!watch.hung());
        watch.heard();
        assert_eq!(ticks(&mut watch, 61, 10, false), 1);
        assert!(!watch.hung());
        ticks(&mut watch, 71, 1, false);
        assert!(watch.hung());
        watch.heard();
        assert!(!watch.hung());
    }

    #[test]
    fn hidden_and_sleeping_pages_and_fetching_workers_wait() {
        let mut watch = Watch::default();
        watch.heard();
        assert_eq!(ticks(&mut watch, 1, 60, true), 0);
        assert!(!watch.hung());
        // A laptop that slept: the page's own ticks were late.
        for hour in 1..20 {
            watch.tick(f64::from(hour * 3_600_000), false);
        }
        assert!(!watch.hung());
        watch.fetching(true);
        ticks(&mut watch, 70_000, 60, false);
        assert!(!watch.hung());
        watch.fetching(false);
        ticks(&mut watch, 70_060, 12, false);
        assert!(watch.hung());
    }
}
