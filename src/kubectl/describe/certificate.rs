//! CertificateSigningRequests and CSINodes.

use super::Related;
use super::writer::{Writer, date, format_labels};
use crate::print::human::human_duration;
use crate::resource::base64_decode;
use crate::value::Value;

/// Describes a CertificateSigningRequest.
pub fn signing_request(w: &mut Writer, csr: &Value, related: &Related) {
    w.put(0, &format!("Name:\t{}\n", csr.str("metadata/name")));
    w.put(0, &format!("Labels:\t{}\n", format_labels(csr.at("metadata/labels"))));
    w.put(0, &format!("Annotations:\t{}\n", format_labels(csr.at("metadata/annotations"))));
    w.put(0, &format!("CreationTimestamp:\t{}\n", date(csr.str("metadata/creationTimestamp"))));
    w.put(0, &format!("Requesting User:\t{}\n", csr.str("spec/username")));
    if !csr.str("spec/signerName").is_empty() {
        w.put(0, &format!("Signer:\t{}\n", csr.str("spec/signerName")));
    }
    if let Some(seconds) = csr.at("spec/expirationSeconds").as_int() {
        w.put(0, &format!("Requested Duration:\t{}\n", human_duration(seconds.saturating_mul(1_000_000_000))));
    }
    w.put(0, &format!("Status:\t{}\n", status(csr)));
    let subject = subject(csr.str("spec/request"));
    let of = |oid: &[u8]| -> Vec<&str> {
        subject.iter().filter(|(o, _)| o.as_slice() == oid).map(|(_, v)| v.as_str()).collect()
    };
    w.put(0, "Subject:\n");
    w.put(0, &format!("\tCommon Name:\t{}\n", of(&[85, 4, 3]).first().unwrap_or(&"")));
    w.put(0, &format!("\tSerial Number:\t{}\n", of(&[85, 4, 5]).first().unwrap_or(&"")));
    for (title, last) in [
        ("Organization", 10),
        ("Organizational Unit", 11),
        ("Country", 6),
        ("Locality", 7),
        ("Province", 8),
        ("StreetAddress", 9),
        ("PostalCode", 17),
    ] {
        let values = of(&[85, 4, last]);
        if !values.is_empty() {
            w.put(0, &format!("\t{title}:\t{}\n", values.join("\n\t\t")));
        }
    }
    w.events(&related.events);
}

/// What the conditions and the certificate come to, as the printer of tables says it.
fn status(csr: &Value) -> String {
    let has = |kind: &str| csr.list("status/conditions").iter().any(|c| c.str("type") == kind);
    let mut text = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (_, true) => "Approved",
        _ => "Pending",
    }
    .to_string();
    if has("Failed") {
        text.push_str(",Failed");
    }
    if !csr.str("status/certificate").is_empty() {
        text.push_str(",Issued");
    }
    text
}

/// The attributes of a PKCS #10 request's subject, by the bytes of their OIDs. What can't be read gives none.
fn subject(request: &str) -> Vec<(Vec<u8>, String)> {
    let pem = base64_decode(request).unwrap_or_default();
    let body: String = String::from_utf8_lossy(&pem).lines().filter(|l| !l.starts_with("-----")).collect();
    let der = base64_decode(body.trim()).unwrap_or_default();
    read(&der).unwrap_or_default()
}

fn read(der: &[u8]) -> Option<Vec<(Vec<u8>, String)>> {
    // CertificationRequest { CertificationRequestInfo { version, subject, ... } ... }
    let (request, _) = element(der)?;
    let (info, _) = element(request)?;
    let (_, rest) = element(info)?;
    let (mut names, _) = element(rest)?;
    let mut out = Vec::new();
    while !names.is_empty() {
        let (mut set, after) = element(names)?;
        names = after;
        while !set.is_empty() {
            let (pair, more) = element(set)?;
            set = more;
            let (oid, value) = element(pair)?;
            let (text, _) = element(value)?;
            out.push((oid.to_vec(), String::from_utf8_lossy(text).into_owned()));
        }
    }
    Some(out)
}

/// The content of the first DER element, and what follows it.
fn element(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let first = usize::from(*der.get(1)?);
    let (length, from) = if first < 128 {
        (first, 2)
    } else {
        let n = first - 128;
        let bytes = der.get(2..2 + n).filter(|b| b.len() <= 4)?;
        (bytes.iter().fold(0usize, |l, b| l << 8 | usize::from(*b)), 2 + n)
    };
    let end = from.checked_add(length)?;
    Some((der.get(from..end)?, der.get(end..)?))
}

/// Describes a CSINode.
pub fn csi_node(w: &mut Writer, node: &Value, related: &Related) {
    w.put(0, &format!("Name:\t{}\n", node.str("metadata/name")));
    w.labels("Labels", node.at("metadata/labels"));
    w.annotations("Annotations", node.at("metadata/annotations"));
    w.put(0, &format!("CreationTimestamp:\t{}\n", date(node.str("metadata/creationTimestamp"))));
    w.put(0, "Spec:\n");
    let drivers = node.list("spec/drivers");
    if !drivers.is_empty() {
        w.put(1, "Drivers:\n");
    }
    for d in drivers {
        w.put(2, &format!("{}:\n", d.str("name")));
        w.put(3, &format!("Node ID:\t{}\n", d.str("nodeID")));
        if let Some(count) = d.at("allocatable/count").as_int() {
            w.put(3, &format!("Allocatables:\n\t\t\t\tCount:\t{count}\n"));
        }
        let keys: Vec<&str> = d.list("topologyKeys").iter().filter_map(Value::as_str).collect();
        if !keys.is_empty() {
            w.put(3, &format!("Topology Keys:\t[{}]\n", keys.join(" ")));
        }
    }
    w.events(&related.events);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects() {
        assert_eq!(read(&[0x30, 0x80]), None);
        assert_eq!(subject("not base64!"), Vec::new());
        let name = [
            0x30, 0x12, 0x30, 0x10, 0x02, 0x01, 0x00, 0x30, 0x0b, 0x31, 0x09, 0x30, 0x07, 0x06, 0x03, 0x55, 0x04, 0x03,
            0x0c, 0x00,
        ];
        assert_eq!(read(&name), Some(vec![(vec![0x55, 4, 3], String::new())]));
    }
}
