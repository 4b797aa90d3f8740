//! gRPC's health protocol (grpc.health.v1.Health/Check) between programs.

/// Asks how a service is.
#[derive(Clone, Debug)]
pub struct HealthCheck {
    /// The service; empty: the server as a whole.
    pub service: String,
}

/// What a server answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Health {
    /// SERVING
    Serving,
    /// NOT_SERVING
    NotServing,
    /// The server has no such service (code NotFound).
    UnknownService,
}
