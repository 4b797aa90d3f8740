//! The only door to the store.
