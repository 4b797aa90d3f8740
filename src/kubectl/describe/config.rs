//! ConfigMap, Secret, ServiceAccount.

use super::{Related, Writer};
use crate::value::Value;

/// Bytes that a base64 text stands for.
fn decoded_len(text: &str) -> usize {
    let body = text.trim_end_matches('=').len();
    body * 3 / 4
}

/// Describes a ConfigMap.
pub fn config_map(w: &mut Writer, cm: &Value, related: &Related) {
    w.head(cm);
    w.put(0, "\nData\n====\n");
    for (k, v) in cm.map("data") {
        w.put(0, &format!("{k}:\n----\n"));
        w.put(0, &format!("{}\n", v.as_str().unwrap_or("")));
        w.put(0, "\n");
    }
    w.put(0, "\nBinaryData\n====\n");
    for (k, v) in cm.map("binaryData") {
        w.put(0, &format!("{k}: {} bytes\n", decoded_len(v.as_str().unwrap_or(""))));
    }
    w.put(0, "\n");
    w.events(&related.events);
}

/// Describes a Secret: sizes only, save for service account tokens.
pub fn secret(w: &mut Writer, secret: &Value, _: &Related) {
    w.head(secret);
    w.put(0, &format!("\nType:\t{}\n", secret.str("type")));
    w.put(0, "\nData\n====\n");
    for (k, v) in secret.map("data") {
        let text = v.as_str().unwrap_or("");
        if k == "token" && secret.str("type") == "kubernetes.io/service-account-token" {
            let token = crate::resource::base64_decode(text).unwrap_or_default();
            w.put(0, &format!("{k}:\t{}\n", String::from_utf8_lossy(&token)));
        } else {
            w.put(0, &format!("{k}:\t{} bytes\n", decoded_len(text)));
        }
    }
}

/// Describes a ServiceAccount.
pub fn service_account(w: &mut Writer, sa: &Value, related: &Related) {
    w.head(sa);
    let secrets = sa.list("imagePullSecrets");
    if secrets.is_empty() {
        w.put(0, "Image pull secrets:\t<none>\n");
    }
    for (i, s) in secrets.iter().enumerate() {
        let title = if i == 0 { "Image pull secrets:" } else { "                   " };
        w.put(0, &format!("{title}\t{}\n", s.str("name")));
    }
    w.events(&related.events);
}
