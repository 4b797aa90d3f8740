//! Certificate signing requests: whom a PKCS#10 request in PEM is for. Its key and signature are not looked at.

use crate::value::unbase64;

/// The request's subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// `CN`, empty if none.
    pub common_name: String,
    /// `O`, in order.
    pub organisations: Vec<String>,
    /// Whether names of another kind are asked for (`subjectAltName`).
    pub other_names: bool,
}

/// `2.5.29.17` as an element.
const ALTERNATIVE_NAMES: [u8; 5] = [OID, 3, 0x55, 0x1d, 17];
/// `2.5.4.3` and `2.5.4.10`, as DER has them.
const COMMON_NAME: [u8; 3] = [0x55, 4, 3];
const ORGANISATION: [u8; 3] = [0x55, 4, 10];

pub(crate) const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
pub(crate) const INTEGER: u8 = 2;
pub(crate) const OID: u8 = 6;

/// Reads a request.
///
/// # Errors
/// `PEM block type must be CERTIFICATE REQUEST`, or what is wrong with the DER in Go's words.
pub fn parse(pem: &[u8]) -> Result<Subject, String> {
    let der = block(pem).ok_or("PEM block type must be CERTIFICATE REQUEST")?;
    subject(&der).ok_or_else(|| "asn1: syntax error: data truncated".to_string())
}

/// The bytes of the first PEM block, if it is a request.
fn block(pem: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(pem).ok()?;
    let start = text.find("-----BEGIN ")?;
    let rest = text.get(start..)?.strip_prefix("-----BEGIN CERTIFICATE REQUEST-----")?;
    let end = rest.find("-----END CERTIFICATE REQUEST-----")?;
    let body: String = rest.get(..end)?.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    unbase64(body.as_bytes()).ok()
}

/// An element: its tag, its content and what follows it.
pub(crate) fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, mut rest) = rest.split_first()?;
    let mut length = usize::from(first);
    if first >= 0x80 {
        let count = usize::from(first & 0x7f);
        if count == 0 || count > 4 {
            return None;
        }
        length = 0;
        for byte in rest.get(..count)? {
            length = length << 8 | usize::from(*byte);
        }
        rest = rest.get(count..)?;
    }
    Some((tag, rest.get(..length)?, rest.get(length..)?))
}

/// The content of an element with a tag, and what follows it.
pub(crate) fn expect(der: &[u8], wanted: u8) -> Option<(&[u8], &[u8])> {
    element(der).filter(|(tag, ..)| *tag == wanted).map(|(_, content, rest)| (content, rest))
}

fn subject(der: &[u8]) -> Option<Subject> {
    let (request, _) = expect(der, SEQUENCE)?;
    let (info, _) = expect(request, SEQUENCE)?;
    let (_, info) = expect(info, INTEGER)?;
    let (mut names, rest) = expect(info, SEQUENCE)?;
    let other_names = rest.windows(ALTERNATIVE_NAMES.len()).any(|bytes| bytes == ALTERNATIVE_NAMES);
    let mut subject = Subject { other_names, ..Subject::default() };
    while !names.is_empty() {
        let (mut set, rest) = expect(names, SET)?;
        names = rest;
        while !set.is_empty() {
            let (pair, rest) = expect(set, SEQUENCE)?;
            set = rest;
            let (oid, value) = expect(pair, OID)?;
            let (_, value, _) = element(value)?;
            let text = String::from_utf8_lossy(value).into_owned();
            if oid == COMMON_NAME {
                subject.common_name = text;
            } else if oid == ORGANISATION {
                subject.organisations.push(text);
            }
        }
    }
    Some(subject)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `openssl req -new -newkey ed25519 -nodes -subj "/O=devs/O=ops/CN=mina"`
    const MINA: &str = "-----BEGIN CERTIFICATE REQUEST-----\nMIGrMF8CAQAwLDENMAsGA1UECgwEZGV2czEMMAoGA1UECgwDb3BzMQ0wCwYDVQQD\nDARtaW5hMCowBQYDK2VwAyEAIWJgF+BJR3yDC/MxABR1NzfUt7x79tHbmEv+HUDY\n6SSgADAFBgMrZXADQQCvgr+9FAe7sarBSt6dVB9iiwWYprbSl6I7e5db8tsiugVN\nM/RPKIcPQXBqPDf7mF+oyjdbu/naBrUOmbBYKd8D\n-----END CERTIFICATE REQUEST-----\n";

    #[test]
    fn tells_who_asks() {
        let subject = parse(MINA.as_bytes()).expect("a request");
        assert_eq!(
            subject,
            Subject {
                common_name: "mina".into(),
                organisations: vec!["devs".into(), "ops".into()],
                ..Subject::default()
            }
        );
    }

    #[test]
    fn anything_else_is_refused() {
        let wrong = Err("PEM block type must be CERTIFICATE REQUEST".to_string());
        assert_eq!(parse(b"x"), wrong);
        assert_eq!(parse(MINA.replace("CERTIFICATE REQUEST", "CERTIFICATE").as_bytes()), wrong);
        for end in 0..MINA.len() {
            let _ = parse(&MINA.as_bytes()[..end]);
        }
        let broken = MINA.replace("MIG", "MIF");
        let _ = parse(broken.as_bytes());
    }
}
