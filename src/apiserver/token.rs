//! Service account tokens: JSON web tokens bound to a pod or secret, as the TokenRequest API issues them
//! (pkg/serviceaccount). They are signed with a key of the cluster's; the algorithm is HMAC.

use api::Str;
use api::json::Value;

use crate::base64::{decode_url, encode_url};
use crate::sha256::hmac;

/// `--service-account-issuer`, which is also the default audience.
pub const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";
/// Who issues the tokens that lie in Secrets (`LegacyIssuer`).
const LEGACY_ISSUER: &str = "kubernetes/serviceaccount";
/// The key that a cluster has unless it is given another.
pub const KEY: &[u8] = b"the cluster's service account key";

/// The object a token lives and dies with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bound {
    /// `Pod`, `Secret` or `Node`; empty for none.
    pub kind: Str,
    /// Its name.
    pub name: Str,
    /// Its uid.
    pub uid: Str,
}

/// What a token says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// The account's namespace.
    pub namespace: Str,
    /// The account's name.
    pub account: Str,
    /// The account's uid.
    pub uid: Str,
    /// What it is bound to.
    pub bound: Bound,
    /// The node of the pod it is bound to: name and uid.
    pub node: Option<(Str, Str)>,
    /// For whom it is.
    pub audiences: Vec<Str>,
    /// Seconds since 1970 from which it is good.
    pub issued: i64,
    /// Seconds since 1970 until which it is good.
    pub expires: i64,
    /// Its own identity.
    pub id: Str,
}

fn text(value: &str) -> Value {
    Value::Str(Str::from(value))
}

fn reference(name: &str, uid: &str) -> Value {
    let mut object = Value::object();
    object.set("name", text(name));
    object.set("uid", text(uid));
    object
}

/// Signs claims.
pub fn sign(claims: &Claims, key: &[u8]) -> String {
    let mut kubernetes = Value::object();
    kubernetes.set("namespace", text(&claims.namespace));
    kubernetes.set("serviceaccount", reference(&claims.account, &claims.uid));
    if !claims.bound.kind.is_empty() {
        kubernetes.set(claims.bound.kind.to_lowercase(), reference(&claims.bound.name, &claims.bound.uid));
    }
    if let Some((name, uid)) = &claims.node {
        kubernetes.set("node", reference(name, uid));
    }
    let mut payload = Value::object();
    payload.set("aud", Value::Array(claims.audiences.iter().map(|audience| text(audience)).collect()));
    payload.set("exp", Value::Int(claims.expires));
    payload.set("iat", Value::Int(claims.issued));
    payload.set("iss", text(ISSUER));
    payload.set("jti", text(&claims.id));
    payload.set("kubernetes.io", kubernetes);
    payload.set("nbf", Value::Int(claims.issued));
    payload.set("sub", text(&format!("system:serviceaccount:{}:{}", claims.namespace, claims.account)));
    signed(&payload, key)
}

/// The token that lies in a Secret of the type `kubernetes.io/service-account-token`: it is good as long as the Secret is
/// there (`LegacyClaims`).
pub fn sign_legacy(namespace: &str, secret: &str, account: &str, uid: &str, key: &[u8]) -> String {
    let mut payload = Value::object();
    payload.set("iss", text(LEGACY_ISSUER));
    payload.set("kubernetes.io/serviceaccount/namespace", text(namespace));
    payload.set("kubernetes.io/serviceaccount/secret.name", text(secret));
    payload.set("kubernetes.io/serviceaccount/service-account.name", text(account));
    payload.set("kubernetes.io/serviceaccount/service-account.uid", text(uid));
    payload.set("sub", text(&format!("system:serviceaccount:{namespace}:{account}")));
    signed(&payload, key)
}

fn signed(payload: &Value, key: &[u8]) -> String {
    let header = encode_url(br#"{"alg":"HS256","kid":"cluster"}"#);
    let signed = format!("{header}.{}", encode_url(payload.to_json().as_bytes()));
    let signature = encode_url(&hmac(key, signed.as_bytes()));
    format!("{signed}.{signature}")
}

/// Reads a token whose signature is right.
pub fn verify(token: &str, key: &[u8]) -> Option<Claims> {
    let (signed, signature) = token.rsplit_once('.')?;
    if decode_url(signature)? != hmac(key, signed.as_bytes()) {
        return None;
    }
    let (_, payload) = signed.split_once('.')?;
    let payload = String::from_utf8(decode_url(payload)?).ok()?;
    let payload = Value::parse(&payload).ok()?;
    if payload.get("iss").and_then(Value::as_str) == Some(LEGACY_ISSUER) {
        return legacy(&payload);
    }
    let kubernetes = payload.get("kubernetes.io")?;
    let at = |path: &[&str]| Str::from(kubernetes.str_at(path));
    let bound = ["pod", "secret", "node"].into_iter().find(|kind| kubernetes.get(kind).is_some());
    let node = (bound == Some("pod") && kubernetes.get("node").is_some())
        .then(|| (at(&["node", "name"]), at(&["node", "uid"])));
    Some(Claims {
        namespace: at(&["namespace"]),
        account: at(&["serviceaccount", "name"]),
        uid: at(&["serviceaccount", "uid"]),
        bound: bound.map_or_else(Bound::default, |kind| Bound {
            kind: match kind {
                "pod" => "Pod",
                "secret" => "Secret",
                _ => "Node",
            }
            .into(),
            name: at(&[kind, "name"]),
            uid: at(&[kind, "uid"]),
        }),
        node,
        audiences: payload
            .get("aud")
            .and_then(Value::as_array)
            .map(|list| list.iter().filter_map(|value| value.as_str().map(Str::from)).collect())
            .unwrap_or_default(),
        issued: payload.get("iat").and_then(Value::as_i64)?,
        expires: payload.get("exp").and_then(Value::as_i64)?,
        id: payload.get("jti").and_then(Value::as_str).map(Str::from).unwrap_or_default(),
    })
}

fn legacy(payload: &Value) -> Option<Claims> {
    let at = |name: &str| {
        let value = payload.get(&format!("kubernetes.io/serviceaccount/{name}"))?.as_str()?;
        (!value.is_empty()).then(|| Str::from(value))
    };
    Some(Claims {
        namespace: at("namespace")?,
        account: at("service-account.name")?,
        uid: at("service-account.uid")?,
        bound: Bound { kind: "Secret".into(), name: at("secret.name")?, uid: Str::default() },
        audiences: vec![ISSUER.into()],
        expires: i64::MAX,
        ..Claims::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_of_a_secret_names_it() {
        let token = sign_legacy("default", "robot-token", "robot", "u1", b"key");
        assert_eq!(token.split('.').count(), 3);
        let claims = verify(&token, b"key").unwrap();
        assert_eq!((&*claims.account, &*claims.uid, claims.expires), ("robot", "u1", i64::MAX));
        assert_eq!((&*claims.bound.kind, &*claims.bound.name), ("Secret", "robot-token"));
    }

    #[test]
    fn a_token_is_read_back_unless_touched() {
        let claims = Claims {
            namespace: "default".into(),
            account: "robot".into(),
            uid: "u1".into(),
            bound: Bound { kind: "Pod".into(), name: "p".into(), uid: "u2".into() },
            node: Some(("node-1".into(), "u3".into())),
            audiences: vec![ISSUER.into()],
            issued: 100,
            expires: 3707,
            id: "j".into(),
        };
        let token = sign(&claims, b"key");
        assert_eq!(verify(&token, b"key"), Some(claims));
        assert_eq!(verify(&token, b"other"), None);
        assert_eq!(verify(&token.replace('.', ".A"), b"key"), None);
        assert_eq!(verify("x", b"key"), None);
    }
}
