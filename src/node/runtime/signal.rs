//! The signals that containers are sent.

use std::fmt;

/// A POSIX signal that the runtime, a shell or a hook sends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Signal {
    /// Hang-up.
    Hup,
    /// Interrupt from a terminal.
    Int,
    /// Quit; nginx and httpd stop gracefully on it.
    Quit,
    /// The end, not to be caught.
    Kill,
    /// First user-defined signal.
    Usr1,
    /// Second user-defined signal.
    Usr2,
    /// Please end.
    Term,
    /// Window changed; httpd stops gracefully on it.
    Winch,
}

/// (signal, name without SIG, number on Linux).
const TABLE: &[(Signal, &str, i32)] = &[
    (Signal::Hup, "HUP", 1),
    (Signal::Int, "INT", 2),
    (Signal::Quit, "QUIT", 3),
    (Signal::Kill, "KILL", 9),
    (Signal::Usr1, "USR1", 10),
    (Signal::Usr2, "USR2", 12),
    (Signal::Term, "TERM", 15),
    (Signal::Winch, "WINCH", 28),
];

impl Signal {
    /// By name, with or without `SIG`, or by number.
    pub fn parse(text: &str) -> Option<Self> {
        let name = text.strip_prefix("SIG").unwrap_or(text);
        TABLE.iter().find(|(_, n, number)| *n == name || number.to_string() == text).map(|row| row.0)
    }
    /// Its number on Linux.
    pub fn number(self) -> i32 {
        TABLE.iter().find(|row| row.0 == self).map_or(0, |row| row.2)
    }
    /// What a process that it ends leaves as its exit code, as the runtime reports it.
    pub fn exit_code(self) -> i32 {
        128 + self.number()
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SIG{}", TABLE.iter().find(|row| row.0 == *self).map_or("", |row| row.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        assert_eq!(Signal::parse("SIGTERM"), Some(Signal::Term));
        assert_eq!(Signal::parse("QUIT"), Some(Signal::Quit));
        assert_eq!(Signal::parse("9"), Some(Signal::Kill));
        assert_eq!(Signal::parse("SIGNONE"), None);
        assert_eq!(Signal::Term.exit_code(), 143);
        assert_eq!(Signal::Winch.to_string(), "SIGWINCH");
    }
}
