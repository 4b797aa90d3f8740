//! ClusterTrustBundles (certificates' validation).

use super::at::{At, Errors, IMMUTABLE};
use super::tree::Write;
use super::{certificates, metadata};
use crate::certificate_request::{INTEGER, OID, SEQUENCE, element, expect};
use crate::names;
use crate::value::unbase64;

const BUNDLE_MAX: usize = 1024 * 1024;
/// `2.5.29.19`, basic constraints, as DER has it.
const BASIC_CONSTRAINTS: [u8; 3] = [0x55, 0x1d, 0x13];
const BOOLEAN: u8 = 1;
const OCTETS: u8 = 4;
const BITS: u8 = 3;
/// `[0]` and `[3]`: a certificate's version and extensions.
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;

/// A new or changed ClusterTrustBundle.
pub(super) fn check(write: &Write, errors: &mut Errors) {
    write.whole_metadata(metadata::rbac, errors);
    let (spec, at) = (write.new.get("spec"), &At::new("spec"));
    let (signer, name) = (spec.get("signerName").text(), write.new.get("metadata").get("name").text());
    let prefix = format!("{}:", signer.replace('/', ":"));
    let at_name = At::new("metadata");
    let at_name = &at_name.child("name");
    if name.is_empty() {
    } else if signer.is_empty() {
        if name.contains(':') {
            errors.invalid(at_name, name, "ClusterTrustBundle without signer name must not have \":\" in its name");
        } else {
            errors.each(at_name, name, names::dns1123_subdomain(name));
        }
    } else if let Some(rest) = name.strip_prefix(&*prefix) {
        errors.each(at_name, name, names::dns1123_subdomain(rest));
    } else {
        let why = format!("ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}");
        errors.invalid(at_name, name, why);
    }
    if !signer.is_empty() {
        certificates::signer_name(signer, &at.child("signerName"), errors);
    }
    let old = write.old.get("spec");
    if write.before.is_none() || old.get("trustBundle") != spec.get("trustBundle") {
        bundle(spec.get("trustBundle").text(), &at.child("trustBundle"), errors);
    }
    if write.before.is_some() && old.get("signerName").text() != signer {
        errors.invalid(&at.child("signerName"), signer, IMMUTABLE);
    }
}

fn bundle(text: &str, at: &At, errors: &mut Errors) {
    const SHOWN: &str = "<value omitted>";
    if text.len() > BUNDLE_MAX {
        return errors.too_long(at, BUNDLE_MAX);
    }
    let before = errors.len();
    let mut anchors: Vec<(Vec<u8>, Vec<usize>)> = Vec::new();
    for (i, block) in blocks(text).into_iter().enumerate() {
        let mut wrong = |why: &str| errors.invalid(at, SHOWN, format!("entry {i} {why}"));
        if block.kind != "CERTIFICATE" {
            wrong(&format!("has bad block type: {}", block.kind));
        } else if block.headers {
            wrong("has PEM block headers");
        } else {
            match is_authority(&block.bytes) {
                None => wrong("does not parse as X.509"),
                Some(false) => wrong("does not have the CA bit set"),
                Some(true) => match anchors.iter_mut().find(|(bytes, _)| *bytes == block.bytes) {
                    Some((_, at)) => at.push(i),
                    None => anchors.push((block.bytes, vec![i])),
                },
            }
        }
    }
    if errors.len() != before {
        return;
    }
    if anchors.is_empty() {
        errors.invalid(at, SHOWN, "at least one trust anchor must be provided");
    }
    for (_, indices) in anchors.iter().filter(|(_, indices)| indices.len() > 1) {
        let all: Vec<String> = indices.iter().map(usize::to_string).collect();
        errors.invalid(at, SHOWN, format!("duplicate trust anchor (indices [{}])", all.join(" ")));
    }
}

/// One block of a PEM file.
struct Block<'a> {
    kind: &'a str,
    headers: bool,
    bytes: Vec<u8>,
}

/// The blocks of a PEM file; what is none is skipped, as Go does.
fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut lines = text.lines().map(str::trim_end);
    while let Some(line) = lines.next() {
        let Some(kind) = line.strip_prefix("-----BEGIN ").and_then(|rest| rest.strip_suffix("-----")) else { continue };
        let end = format!("-----END {kind}-----");
        let (mut body, mut headers, mut ended) = (String::new(), false, false);
        for line in lines.by_ref() {
            if line == end {
                ended = true;
                break;
            }
            if body.is_empty() && line.contains(':') {
                headers = true;
            } else {
                body.extend(line.chars().filter(|c| !c.is_whitespace()));
            }
        }
        if let (true, Ok(bytes)) = (ended, unbase64(body.as_bytes())) {
            found.push(Block { kind, headers, bytes });
        }
    }
    found
}

/// Whether a certificate is an authority's; None for what is no certificate.
fn is_authority(der: &[u8]) -> Option<bool> {
    let (certificate, rest) = expect(der, SEQUENCE)?;
    let (mut body, signature) = expect(certificate, SEQUENCE)?;
    let (_, bits) = expect(signature, SEQUENCE)?;
    let (_, after) = expect(bits, BITS)?;
    if !rest.is_empty() || !after.is_empty() {
        return None;
    }
    if let Some((_, rest)) = expect(body, VERSION) {
        body = rest;
    }
    body = expect(body, INTEGER)?.1;
    // Algorithm, issuer, validity, subject, public key.
    for _ in 0..5 {
        body = expect(body, SEQUENCE)?.1;
    }
    while !body.is_empty() {
        let (tag, content, rest) = element(body)?;
        body = rest;
        if tag == EXTENSIONS {
            return constraints(expect(content, SEQUENCE)?.0);
        }
    }
    Some(false)
}

fn constraints(mut extensions: &[u8]) -> Option<bool> {
    while !extensions.is_empty() {
        let (extension, rest) = expect(extensions, SEQUENCE)?;
        extensions = rest;
        let (oid, mut value) = expect(extension, OID)?;
        if let Some((_, rest)) = expect(value, BOOLEAN) {
            value = rest;
        }
        let (value, _) = expect(value, OCTETS)?;
        if oid == BASIC_CONSTRAINTS {
            let (basic, _) = expect(value, SEQUENCE)?;
            return Some(expect(basic, BOOLEAN).is_some_and(|(truth, _)| truth.first().is_some_and(|b| *b != 0)));
        }
    }
    Some(false)
}
