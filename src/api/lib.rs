//! The object model: Kubernetes' types, their codec, defaulting and validation. Pure functions.
