//! The native program.
