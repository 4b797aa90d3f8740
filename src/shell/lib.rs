//! One small POSIX-like shell with its tools.
