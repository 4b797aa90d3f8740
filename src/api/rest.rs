//! The wire of the API server: requests and responses as plain data.
