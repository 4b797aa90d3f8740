//! `kubectl certificate approve` and `deny`.

use crate::builder::Builder;
use crate::error::Error;
use crate::print::human::quote;
use crate::print::object::for_write;
use crate::print::time::rfc3339;
use crate::server::Write;
use crate::session::Kubectl;
use crate::value::object;

/// Tries of an update that meets conflicts.
const MAX_RETRIES: usize = 10;

/// Adds the condition `Approved` or `Denied` to certificate signing requests.
pub async fn decide(k: &Kubectl<'_>, approve: bool) -> Result<(), Error> {
    let f = &k.flags;
    if k.args().is_empty() && f.list("filename").is_empty() && f.str("kustomize").is_empty() {
        return Err(Error::text("one or more CSRs must be specified as <name> or -f <filename>"));
    }
    let (condition, other, verb, reason) = if approve {
        ("Approved", "Denied", "approved", "KubectlApprove")
    } else {
        ("Denied", "Approved", "denied", "KubectlDeny")
    };
    let m = k.known("certificates.k8s.io", "certificatesigningrequests")?;
    let mut b = Builder::new(k).no_namespace().resource_names("csr", k.args());
    b.latest = true;
    let mut printer = for_write(k, verb)?;
    let mut errors = Vec::new();
    let mut count = 0;
    for item in b.run(k).await?.items {
        let info = match item {
            Ok(i) => i,
            Err(e) => {
                errors.push(e);
                continue;
            }
        };
        if (info.mapping.group.as_str(), info.mapping.kind.as_str()) != (m.group.as_str(), m.kind.as_str()) {
            errors.push(Error::text(format!(
                "can only handle {}.{} objects, got {}",
                m.kind,
                m.group,
                crate::mapping::qualified(&info.mapping.kind, &info.mapping.group)
            )));
            continue;
        }
        let mut shown = info.object;
        let mut tries = 0;
        loop {
            let mut csr = match k.get(&m, "", &info.name, "").await {
                Ok(o) => o,
                Err(e) if e.is_not_found() => {
                    errors.push(Error::text(format!("could not find v1 version of {}: {}", info.name, e.message())));
                    break;
                }
                Err(e) => {
                    errors.push(e);
                    break;
                }
            };
            let has = |kind: &str| csr.list("status/conditions").iter().any(|c| c.str("type") == kind);
            if has(other) {
                errors
                    .push(Error::text(format!("certificate signing request {} is already {other}", quote(&info.name))));
                break;
            }
            let decided = has(condition);
            if !decided {
                let message =
                    format!("This CSR was {verb} by kubectl certificate {}.", if approve { "approve" } else { "deny" });
                csr.list_mut("status/conditions").push(object([
                    ("lastUpdateTime", rfc3339(k.now()).into()),
                    ("message", message.into()),
                    ("reason", reason.into()),
                    ("status", "True".into()),
                    ("type", condition.into()),
                ]));
            }
            if !decided || f.bool("force") {
                match k.update(&m, "", &info.name, "approval", &csr, &Write::default()).await {
                    Ok(_) => {}
                    Err(e) if e.reason() == "Conflict" && tries < MAX_RETRIES => {
                        tries += 1;
                        match k.get(&m, "", &info.name, "").await {
                            Ok(found) => shown = found,
                            Err(e) => {
                                errors.push(e);
                                break;
                            }
                        }
                        continue;
                    }
                    Err(e) => {
                        errors.push(e);
                        break;
                    }
                }
            }
            count += 1;
            // The object as it was found.
            printer.show(k, &shown)?;
            break;
        }
    }
    Error::aggregate(errors)?;
    if count == 0 {
        k.out("No resources found\n");
    }
    Ok(())
}
