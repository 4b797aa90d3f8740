//! `kubectl port-forward`: listens on ports of the machine that kubectl runs on, and carries what comes there to a pod
//! (client-go's tools/portforward).

use super::exec::pod_behind;
use crate::builder::Builder;
use crate::error::Error;
use crate::print::human::quote;
use crate::print::time::klog;
use crate::server::{Sender, Stream};
use crate::session::Kubectl;
use crate::value::Value;
use ::api::rest::Forwarded;
use ::api::{SortSmall, go};
use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use sim::sync::mpsc;
use sim::{Conn, Ip, Listener};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};

/// A port of this machine and the pod's that it stands for.
struct Ports {
    local: u16,
    remote: u16,
}

/// The command.
pub async fn port_forward(k: &Kubectl<'_>) -> Result<(), Error> {
    let [target, ports @ ..] = k.args() else {
        return Err(k.usage_error("TYPE/NAME and list of ports are required for port-forward"));
    };
    if ports.is_empty() {
        return Err(k.usage_error("TYPE/NAME and list of ports are required for port-forward"));
    }
    if k.flags.duration("pod-running-timeout") <= 0 {
        return Err(k.usage_error("--pod-running-timeout must be higher than zero"));
    }
    let b = Builder::new(k).resource_names("pods", std::slice::from_ref(target));
    let (infos, failed) = b.run(k).await?.infos();
    failed?;
    let Some(info) = infos.into_iter().next() else { return Err(Error::text("expected a resource")) };
    let service = (info.mapping.kind == "Service").then(|| info.object.clone());
    let pod = pod_behind(k, info).await?;
    let ports = match &service {
        Some(service) => of_service(ports, service, &pod)?,
        None => of_pod(ports, &pod)?,
    };
    let (ns, name) = (pod.str("metadata/namespace"), pod.str("metadata/name"));
    let pod = k.get(&*k.known("", "pods")?, ns, name, "").await?;
    let phase = pod.str("status/phase");
    if phase != "Running" {
        return Err(Error::text(format!("unable to forward port because pod is not running. Current status={phase}")));
    }
    let addresses = addresses(&k.flags.list("address"))?;
    let ports = ports.iter().map(|text| parse(text)).collect::<Result<Vec<_>, _>>()?;
    let opened = k.port_forward(ns, name).await;
    let stream = opened.map_err(|error| Error::text(format!("error upgrading connection: {}", error.message())))?;
    forward(k, stream, &addresses, ports).await
}

/// `LOCAL:REMOTE`, or one of both for both; of more parts the first.
fn split(text: &str) -> (&str, &str) {
    let parts: Vec<&str> = text.split(':').collect();
    match parts.as_slice() {
        [local, remote] => (local, remote),
        [first, ..] => (first, first),
        [] => ("", ""),
    }
}

fn joined(local: &str, remote: i64) -> String {
    let remote = remote.to_string();
    if local == remote { remote } else { format!("{local}:{remote}") }
}

fn named<'a>(list: impl Iterator<Item = &'a Value>, name: &str, field: &str) -> Option<i64> {
    list.filter(|port| port.str("name") == name).map(|port| port.int(field)).next()
}

/// Go's Atoi.
fn number(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// Refuses ports that are only there for UDP; `found` gives a named port's number.
fn not_udp<'a>(
    asked: &[String],
    declared: impl Iterator<Item = &'a Value>,
    field: &str,
    found: impl Fn(&str) -> Result<i64, Error>,
) -> Result<(), Error> {
    let of = |port: &Value| (port.str("protocol").to_string(), port.int(field));
    let all: Vec<(String, i64)> = declared.map(of).collect();
    for text in asked {
        let (_, remote) = split(text);
        let number = match number(remote) {
            Some(number) => number,
            None => found(remote)?,
        };
        let has = |protocol: &str| all.iter().any(|(p, n)| p == protocol && *n == number);
        if has("UDP") && !has("TCP") {
            return Err(Error::text(format!("UDP protocol is not supported for {remote}")));
        }
    }
    Ok(())
}

fn container_ports(pod: &Value) -> impl Iterator<Item = &Value> {
    pod.list("spec/containers").iter().flat_map(|c| c.list("ports"))
}

fn of_container(pod: &Value, name: &str) -> Result<i64, Error> {
    let init = pod.list("spec/initContainers").iter().filter(|c| c.str("restartPolicy") == "Always");
    let all = container_ports(pod).chain(init.flat_map(|c| c.list("ports")));
    let none = || Error::text(format!("Pod '{}' does not have a named port '{name}'", pod.str("metadata/name")));
    named(all, name, "containerPort").ok_or_else(none)
}

/// A pod's named ports as numbers (`convertPodNamedPortToNumber`).
fn of_pod(asked: &[String], pod: &Value) -> Result<Vec<String>, Error> {
    not_udp(asked, container_ports(pod), "containerPort", |name| of_container(pod, name))?;
    let convert = |text: &String| {
        let (local, remote) = split(text);
        let number = match number(remote) {
            Some(number) => number,
            None => of_container(pod, remote)?,
        };
        Ok(if local == remote { number.to_string() } else { format!("{local}:{number}") })
    };
    asked.iter().map(convert).collect()
}

/// A service's ports as those of its pod (`translateServicePortToTargetPort`).
fn of_service(asked: &[String], service: &Value, pod: &Value) -> Result<Vec<String>, Error> {
    let name = service.str("metadata/name");
    let ports = service.list("spec/ports");
    let found = |wanted: &str| {
        let none = || Error::text(format!("Service '{name}' does not have a named port '{wanted}'"));
        named(ports.iter(), wanted, "port").ok_or_else(none)
    };
    not_udp(asked, ports.iter(), "port", found)?;
    let mut translated = Vec::new();
    for text in asked {
        let (local, remote) = split(text);
        let (local, number) = match number(remote) {
            Some(number) => (local.to_string(), number),
            None => {
                let number = found(remote)?;
                (if local == remote { number.to_string() } else { local.to_string() }, number)
            }
        };
        let none = || Error::text(format!("Service {name} does not have a service port {number}"));
        let port = ports.iter().find(|p| p.int("port") == number).ok_or_else(none)?;
        let target = port.at("targetPort");
        let target = match target.as_str() {
            _ if service.str("spec/clusterIP") == "None" => number,
            Some(name) => of_container(pod, name)?,
            None => target.as_int().filter(|n| *n != 0).unwrap_or(number),
        };
        translated.push(joined(&local, target));
    }
    Ok(translated)
}

fn parse(text: &str) -> Result<Ports, Error> {
    let parts: Vec<&str> = text.split(':').collect();
    let (local, remote) = match parts.as_slice() {
        [both] => (*both, *both),
        [local, remote] => (if local.is_empty() { "0" } else { local }, *remote),
        _ => return Err(Error::text(format!("invalid port format '{text}'"))),
    };
    let port = |what: &str, text: &str| {
        text.parse::<u16>().map_err(|_| {
            let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            let why = if digits { "value out of range" } else { "invalid syntax" };
            Error::text(format!(
                "error parsing {what} port '{text}': strconv.ParseUint: parsing {}: {why}",
                quote(text)
            ))
        })
    };
    let ports = Ports { local: port("local", local)?, remote: port("remote", remote)? };
    if ports.remote == 0 {
        return Err(Error::text("remote port must be > 0"));
    }
    Ok(ports)
}

/// Where to listen: as written, the address, and whether one of its kind is enough.
type Place = (String, Ip, bool);

fn addresses(asked: &[String]) -> Result<Vec<Place>, Error> {
    let mut places: Vec<Place> = Vec::new();
    for text in asked {
        let new = match text.as_str() {
            "localhost" => vec![("127.0.0.1".to_string(), Ip::LOCALHOST, true), ("::1".into(), Ip::LOCALHOST6, true)],
            "::1" => vec![(text.clone(), Ip::LOCALHOST6, false)],
            _ => {
                let ip = text.parse::<std::net::Ipv4Addr>();
                let ip = ip.map_err(|_| Error::text(format!("{text} is not a valid IP")))?;
                vec![(text.clone(), Ip(ip.to_bits()), false)]
            }
        };
        for place in new {
            match places.iter_mut().find(|(text, ..)| *text == place.0) {
                Some(_) if place.2 => {}
                Some(old) => *old = place,
                None => places.push(place),
            }
        }
    }
    places.sort_small_by_key(|(text, ..)| text.clone());
    Ok(places)
}

/// What happens while ports are forwarded.
enum Event {
    /// Somebody connected to a listener.
    Accepted(usize, Option<Conn>),
    /// A connection is over; true if the whole goes with it.
    Over(u64, bool),
}

type Waiting<'a> = FuturesUnordered<Pin<Box<dyn Future<Output = Event> + 'a>>>;

async fn forward(k: &Kubectl<'_>, mut stream: Stream, places: &[Place], ports: Vec<Ports>) -> Result<(), Error> {
    let (mut listeners, mut listening, mut all_ports) = (Vec::<(Listener, Ports)>::new(), false, Vec::new());
    for mut port in ports {
        let (mut errors, mut all, mut lost) = (Vec::new(), (0, 0), false);
        for (text, ip, one_is_enough) in places {
            let place = if *ip == Ip::LOCALHOST6 { format!("[{text}]") } else { text.clone() };
            match k.ctx.listen_on(*ip, port.local) {
                Ok(listener) => {
                    port.local = listener.addr().port;
                    k.out(&format!("Forwarding from {place}:{} -> {}\n", port.local, port.remote));
                    all.0 += u32::from(*one_is_enough);
                    listeners.push((listener, Ports { ..port }));
                }
                Err(error) => {
                    let family = if *ip == Ip::LOCALHOST6 { "tcp6" } else { "tcp4" };
                    let why = format!("listen {family} {place}:{}: {error}", port.local);
                    errors.push(format!("unable to create listener: Error {why}"));
                    all.1 += u32::from(*one_is_enough);
                    lost |= !one_is_enough;
                }
            }
        }
        if lost || all.0 == 0 && all.1 > 0 {
            let errors = errors.join(" ");
            k.err(&format!(
                "Unable to listen on port {}: Listeners failed to create with the following errors: [{errors}]\n",
                port.local
            ));
        } else {
            listening = true;
        }
        all_ports.push(format!("{{{} {}}}", port.local, port.remote));
    }
    if !listening {
        let all_ports = all_ports.join(" ");
        return Err(Error::text(format!("unable to listen on any of the requested ports: [{all_ports}]")));
    }
    let sender = stream.sender();
    let (sender, accept) = (&sender, |at: usize| {
        let listener = listeners.get(at).map(|(listener, _)| listener);
        async move {
            match listener {
                Some(listener) => Event::Accepted(at, listener.accept().await.ok()),
                None => Event::Accepted(at, None),
            }
        }
    });
    let mut waiting: Waiting<'_> = FuturesUnordered::new();
    (0..listeners.len()).for_each(|at| waiting.push(Box::pin(accept(at))));
    let mut open: BTreeMap<u64, mpsc::UnboundedSender<Forwarded>> = BTreeMap::new();
    let mut last = 0;
    loop {
        let next = {
            let (step, event) = (pin!(stream.forwarded()), pin!(waiting.next()));
            match select(step, event).await {
                Either::Left((step, _)) => Either::Left(step),
                Either::Right((event, _)) => Either::Right(event),
            }
        };
        match next {
            Either::Left(None) | Either::Right(Some(Event::Over(_, true))) => {
                return Err(Error::text("lost connection to pod"));
            }
            Either::Left(Some((number, step))) => {
                if let Some(connection) = open.get(&number) {
                    let _ = connection.unbounded_send(step);
                }
            }
            Either::Right(Some(Event::Accepted(at, Some(conn)))) => {
                waiting.push(Box::pin(accept(at)));
                if let Some((_, port)) = listeners.get(at) {
                    last += 1;
                    let (inbox, steps) = mpsc::unbounded();
                    open.insert(last, inbox);
                    waiting.push(Box::pin(handle(k, sender, last, conn, port, steps)));
                }
            }
            Either::Right(Some(Event::Over(number, false))) => {
                open.remove(&number);
            }
            Either::Right(Some(Event::Accepted(_, None)) | None) => {}
        }
    }
}

/// One connection, until its far end has said all; true if the pod could not be reached.
async fn handle(
    k: &Kubectl<'_>,
    sender: &Sender,
    number: u64,
    conn: Conn,
    port: &Ports,
    mut steps: mpsc::UnboundedReceiver<Forwarded>,
) -> Event {
    k.out(&format!("Handling connection for {}\n", port.local));
    sender.forward(number, Forwarded::Open(port.remote));
    let up = async {
        while let Ok(message) = conn.recv_boxed().await {
            sender.forward(number, Forwarded::Message(message));
        }
        sender.forward(number, Forwarded::End);
        std::future::pending::<()>().await;
    };
    let down = async {
        let mut lost = false;
        while let Some(step) = steps.next().await {
            match step {
                Forwarded::Message(message) => {
                    let _ = conn.send_boxed("forwarded", message);
                }
                Forwarded::Failed(why) => {
                    lost = true;
                    let text = format!(
                        "\"An error occurred forwarding\" err={} localPort={} remotePort={}",
                        go::quote(&why),
                        port.local,
                        port.remote
                    );
                    k.err(&klog(k.now(), 'E', "portforward.go:549", &text));
                }
                Forwarded::Open(_) => {}
                Forwarded::End => break,
            }
        }
        lost
    };
    let lost = match select(pin!(down), pin!(up)).await {
        Either::Left((lost, _)) => lost,
        Either::Right(_) => false,
    };
    Event::Over(number, lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    // As a real kubectl v1.37 answered.
    #[test]
    fn ports() {
        let said = |text: &str| match parse(text) {
            Ok(p) => format!("{} {}", p.local, p.remote),
            Err(e) => e.message(),
        };
        assert_eq!(said("8080:80"), "8080 80");
        assert_eq!(said(":80"), "0 80");
        assert_eq!(said("80:0"), "remote port must be > 0");
        let wrong = "error parsing local port '99999': strconv.ParseUint: parsing \"99999\": value out of range";
        assert_eq!(said("99999"), wrong);
        assert_eq!(said("x:80"), "error parsing local port 'x': strconv.ParseUint: parsing \"x\": invalid syntax");
        // Of more parts than two the first is taken, before ports are read.
        assert_eq!(split("1:2:3"), ("1", "1"));
    }

    #[test]
    fn places() {
        let said = |list: &[&str]| {
            let list: Vec<String> = list.iter().map(|s| s.to_string()).collect();
            addresses(&list).map(|all| all.into_iter().map(|p| p.0).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(said(&["localhost", "10.9.9.9"]).ok().as_deref(), Some("10.9.9.9 127.0.0.1 ::1"));
        let wrong = said(&["foo.bar"]).err().map(|e| e.message());
        assert_eq!(wrong.as_deref(), Some("foo.bar is not a valid IP"));
    }
}
