//! Verdicts and numbers of the plugins.
