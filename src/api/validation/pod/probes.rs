//! Probes and lifecycle hooks.

use super::super::at::{At, Errors};
use crate::core_v1::{
    ExecAction, GRPCAction, HTTPGetAction, Lifecycle, LifecycleHandler, Probe, SleepAction, TCPSocketAction,
};
use crate::{IntOrString, Ptr, names};

/// Which probe it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `livenessProbe`
    Liveness,
    /// `readinessProbe`
    Readiness,
    /// `startupProbe`
    Startup,
}

/// A probe; `grace` is the pod's grace period in seconds.
pub(super) fn probe(probe: &Ptr<Probe>, kind: Kind, grace: Option<i64>, at: &At, errors: &mut Errors) {
    let Some(probe) = probe.get() else { return };
    let handler = Handler {
        exec: probe.exec.get(),
        http_get: probe.http_get.get(),
        tcp_socket: probe.tcp_socket.get(),
        grpc: probe.grpc.get(),
        sleep: None,
    };
    handler.validate(grace, at, errors);
    errors.not_negative(&at.child("initialDelaySeconds"), probe.initial_delay_seconds);
    errors.not_negative(&at.child("timeoutSeconds"), probe.timeout_seconds);
    errors.not_negative(&at.child("periodSeconds"), probe.period_seconds);
    errors.not_negative(&at.child("successThreshold"), probe.success_threshold);
    errors.not_negative(&at.child("failureThreshold"), probe.failure_threshold);
    let termination = at.child("terminationGracePeriodSeconds");
    if let Some(seconds) = probe.termination_grace_period_seconds
        && seconds <= 0
    {
        errors.invalid(&termination, seconds, "must be greater than 0");
    }
    if kind == Kind::Readiness {
        if let Some(seconds) = probe.termination_grace_period_seconds {
            errors.invalid(&termination, seconds, "must not be set for readinessProbes");
        }
    } else if probe.success_threshold != 1 {
        errors.invalid(&at.child("successThreshold"), probe.success_threshold, "must be 1");
    }
}

/// Hooks.
pub(super) fn lifecycle(lifecycle: &Lifecycle, grace: Option<i64>, at: &At, errors: &mut Errors) {
    for (name, hook) in [("postStart", &lifecycle.post_start), ("preStop", &lifecycle.pre_stop)] {
        if let Some(hook) = hook.get() {
            handler(hook).validate(grace, &at.child(name), errors);
        }
    }
}

fn handler(hook: &LifecycleHandler) -> Handler<'_> {
    Handler {
        exec: hook.exec.get(),
        http_get: hook.http_get.get(),
        tcp_socket: hook.tcp_socket.get(),
        grpc: None,
        sleep: hook.sleep.get(),
    }
}

struct Handler<'a> {
    exec: Option<&'a ExecAction>,
    http_get: Option<&'a HTTPGetAction>,
    tcp_socket: Option<&'a TCPSocketAction>,
    grpc: Option<&'a GRPCAction>,
    sleep: Option<&'a SleepAction>,
}

impl Handler<'_> {
    fn validate(&self, grace: Option<i64>, at: &At, errors: &mut Errors) {
        let mut any = false;
        // The first handler is checked, others are refused.
        let mut first = |is: bool, name: &str, errors: &mut Errors| {
            if is && any {
                errors.forbidden(&at.child(name), "may not specify more than 1 handler type");
                return false;
            }
            any |= is;
            is
        };
        if first(self.exec.is_some(), "exec", errors) && self.exec.is_some_and(|exec| exec.command.is_empty()) {
            errors.required(&at.child("exec").child("command"), "");
        }
        if first(self.http_get.is_some(), "httpGet", errors)
            && let Some(http) = self.http_get
        {
            http_get(http, &at.child("httpGet"), errors);
        }
        if first(self.tcp_socket.is_some(), "tcpSocket", errors)
            && let Some(tcp) = self.tcp_socket
        {
            port(&tcp.port, &at.child("tcpSocket").child("port"), errors);
        }
        if first(self.grpc.is_some(), "grpc", errors)
            && let Some(grpc) = self.grpc
        {
            let at = at.child("grpc");
            port(&IntOrString::Int(grpc.port), &at.child("port"), errors);
        }
        if first(self.sleep.is_some(), "sleep", errors)
            && let (Some(sleep), Some(grace)) = (self.sleep, grace)
            && (sleep.seconds < 0 || sleep.seconds > grace)
        {
            let why = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
            errors.invalid(&at.child("sleep"), sleep.seconds, why);
        }
        if !any {
            errors.required(at, "must specify a handler type");
        }
    }
}

fn http_get(http: &HTTPGetAction, at: &At, errors: &mut Errors) {
    errors.need(&at.child("path"), &http.path);
    port(&http.port, &at.child("port"), errors);
    errors.one_of(&at.child("scheme"), &http.scheme, &["HTTP", "HTTPS"]);
    for header in &http.http_headers {
        errors.each(&at.child("httpHeaders"), &header.name, names::http_header_name(&header.name));
    }
    if let Some(protocol) = http.protocol.get() {
        let at_protocol = &at.child("protocol");
        match protocol {
            "HTTP1" => {}
            "HTTP2" if http.scheme != "HTTP" => {
                errors.invalid(at_protocol, protocol, "is only supported with HTTP (H2C)");
            }
            "HTTP2" if !http.host.is_empty() => {
                errors.invalid(&at.child("host"), &http.host, "must be empty when `protocol` is \"HTTP2\"");
            }
            "HTTP2" => {}
            _ => errors.not_supported(at_protocol, protocol, &["HTTP1", "HTTP2"]),
        }
    }
}

/// A port by number or by name (`ValidatePortNumOrName`).
pub(in super::super) fn port(port: &IntOrString, at: &At, errors: &mut Errors) {
    match port {
        IntOrString::Int(number) => {
            for why in names::port_number(i64::from(*number)) {
                errors.invalid(at, *number, why);
            }
        }
        IntOrString::Str(name) => errors.each(at, name, names::port_name(name)),
    }
}
