//! `kubectl top`: nothing measures here, as in a cluster without a metrics server.

use crate::error::Error;
use crate::session::Kubectl;

/// `top node` and `top pod`
pub async fn top(k: &Kubectl<'_>, what: &str) -> Result<(), Error> {
    let f = &k.flags;
    if k.args().len() > 1 {
        return Err(k.usage_error(&format!("{what} [NAME | -l label]")));
    }
    if !matches!(f.str("sort-by"), "" | "cpu" | "memory") {
        return Err(Error::text("--sort-by accepts only cpu or memory"));
    }
    if !k.args().is_empty() && (!f.str("selector").is_empty() || !f.str("field-selector").is_empty()) {
        return Err(Error::text("only one of NAME or selector can be provided"));
    }
    k.connect("/apis?timeout=32s").await?;
    Err(Error::text("Metrics API not available"))
}
