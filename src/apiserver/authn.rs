//! Authentication: client certificates, service account tokens, anybody.

use std::rc::Rc;

use api::core_v1::{Pod, Secret, ServiceAccount};
use api::rest::{Credential, Impersonation};
use api::{Status, Str};

use crate::Inner;
use crate::authz::{Attributes, Decision, authorize, refusal};
use crate::sha256::sha256;
use crate::token::{self, ISSUER};
use crate::user::{ANONYMOUS, AUTHENTICATED, SERVICE_ACCOUNTS, UNAUTHENTICATED, User};

/// Names the credential itself among what is known of a user.
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// Who shows this credential. The error is 401.
pub fn authenticate(server: &Inner, credential: &Credential) -> Result<Rc<User>, Status> {
    match credential {
        Credential::Anonymous => {
            Ok(Rc::new(User { name: ANONYMOUS.into(), groups: vec![UNAUTHENTICATED.into()], ..User::default() }))
        }
        Credential::Certificate { user, groups } => Ok(of_certificate(server, user, groups)),
        Credential::Token(token) => match of_token(server, token, &[]) {
            Some((user, _)) => Ok(Rc::new(user)),
            None => Err(Status::unauthorized("Unauthorized")),
        },
    }
}

/// How many certificates' users are remembered.
const CERTIFICATES: usize = 4096;

/// The user of a client certificate: worked out once.
fn of_certificate(server: &Inner, name: &Str, groups: &[Str]) -> Rc<User> {
    let mut known = server.certificates.borrow_mut();
    // A connection's requests all show the same; names with other groups are rare.
    if let Some(user) = known.get(name)
        && user.groups.starts_with(groups)
        && user.groups.len() <= groups.len() + 1
    {
        return user.clone();
    }
    let mut text = name.to_string();
    groups.iter().for_each(|group| text.push_str(group));
    // The digest of the certificate, which here is its names.
    let digest: String = sha256(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let mut groups = groups.to_vec();
    if !groups.iter().any(|group| &**group == AUTHENTICATED) {
        groups.push(AUTHENTICATED.into());
    }
    let extra = vec![(CREDENTIAL_ID.into(), vec![Str::from(format!("X509SHA256={digest}"))])];
    let user = Rc::new(User { name: name.clone(), groups, extra, ..User::default() });
    if known.len() >= CERTIFICATES {
        known.clear();
    }
    known.insert(name.clone(), user.clone());
    user
}

/// The user of a service account's token for one of these audiences (the server's own if none are named), and the
/// audiences it is good for.
pub fn of_token(server: &Inner, text: &str, audiences: &[Str]) -> Option<(User, Vec<Str>)> {
    let claims = token::verify(text, &server.config.token_key)?;
    let now = server.ctx.unix_nanos() / 1_000_000_000;
    if now >= claims.expires {
        return None;
    }
    let own = [Str::from(ISSUER)];
    let wanted = if audiences.is_empty() { &own[..] } else { audiences };
    let good: Vec<Str> = wanted.iter().filter(|audience| claims.audiences.contains(audience)).cloned().collect();
    if good.is_empty() {
        return None;
    }
    let key = format!("{}/{}", claims.namespace, claims.account);
    let account = server.cache.resource(server.service_accounts).get(&key)?;
    let account = account.body.downcast_ref::<ServiceAccount>()?;
    if account.metadata.uid != claims.uid {
        return None;
    }
    let mut extra = Vec::new();
    if !claims.id.is_empty() {
        extra.push((Str::from(CREDENTIAL_ID), vec![Str::from(format!("JTI={}", claims.id))]));
    }
    if &*claims.bound.kind == "Secret" {
        // Such a token is good only while its Secret holds it.
        let secrets = server.resource_named("", "secrets")?;
        let key = format!("{}/{}", claims.namespace, claims.bound.name);
        let secret = server.cache.resource(secrets.index).get(&key)?;
        let secret = secret.body.downcast_ref::<Secret>()?;
        if secret.metadata.deletion_timestamp.unix().is_some()
            || secret.data.get("token").is_none_or(|held| **held != *text.as_bytes())
        {
            return None;
        }
    }
    if &*claims.bound.kind == "Pod" {
        let pod = server.cache.resource(server.pods).get(&format!("{}/{}", claims.namespace, claims.bound.name))?;
        let pod = pod.body.downcast_ref::<Pod>()?;
        if pod.metadata.uid != claims.bound.uid {
            return None;
        }
        if let Some((node, uid)) = &claims.node {
            extra.push(("authentication.kubernetes.io/node-name".into(), vec![node.clone()]));
            extra.push(("authentication.kubernetes.io/node-uid".into(), vec![uid.clone()]));
        }
        extra.push(("authentication.kubernetes.io/pod-name".into(), vec![claims.bound.name.clone()]));
        extra.push(("authentication.kubernetes.io/pod-uid".into(), vec![claims.bound.uid.clone()]));
    }
    let user = User {
        name: Str::from(format!("system:serviceaccount:{}:{}", claims.namespace, claims.account)),
        uid: claims.uid,
        groups: vec![
            SERVICE_ACCOUNTS.into(),
            Str::from(format!("{SERVICE_ACCOUNTS}:{}", claims.namespace)),
            AUTHENTICATED.into(),
        ],
        extra,
    };
    Some((user, good))
}

/// The user that `user` acts as, if he may (endpoints/filters/impersonation).
pub fn impersonate(server: &Inner, user: &User, wanted: &Impersonation) -> Result<Rc<User>, Status> {
    let may = |resource: &str, name: &str, namespace: &str, subresource: &str| -> Result<(), Status> {
        let attributes = Attributes {
            verb: "impersonate",
            group: if resource == "userextras" || resource == "uids" { "authentication.k8s.io" } else { "" },
            resource,
            subresource,
            namespace,
            name,
            field_selector: "",
            path: "",
        };
        match authorize(server, user, &attributes) {
            Decision::Allow => Ok(()),
            Decision::Deny(_) => Err(Status::forbidden((attributes.group, resource), name, refusal(user, &attributes))),
        }
    };
    let mut groups = wanted.groups.clone();
    let account = wanted.user.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    match account {
        Some((namespace, name)) => {
            may("serviceaccounts", name, namespace, "")?;
            if groups.is_empty() {
                groups = vec![SERVICE_ACCOUNTS.into(), Str::from(format!("{SERVICE_ACCOUNTS}:{namespace}"))];
            }
        }
        None => may("users", &wanted.user, "", "")?,
    }
    for group in &wanted.groups {
        may("groups", group, "", "")?;
    }
    if !wanted.uid.is_empty() {
        may("uids", &wanted.uid, "", "")?;
    }
    let special = groups.iter().any(|group| matches!(&**group, AUTHENTICATED | UNAUTHENTICATED));
    if !special {
        groups.push(if &*wanted.user == ANONYMOUS { UNAUTHENTICATED.into() } else { AUTHENTICATED.into() });
    }
    Ok(Rc::new(User { name: wanted.user.clone(), uid: wanted.uid.clone(), groups, extra: Vec::new() }))
}
