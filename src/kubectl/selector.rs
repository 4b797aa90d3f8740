//! Label selectors as kubectl reads them for objects of files.

use crate::value::Value;

/// A parsed selector.
pub struct Selector(api::selector::LabelSelector);

/// Parses a selector; the error is apimachinery's.
pub fn parse(text: &str) -> Result<Selector, String> {
    api::selector::LabelSelector::parse(text).map(Selector).map_err(|e| e.to_string())
}

impl Selector {
    /// Whether labels match.
    pub fn matches(&self, labels: &Value) -> bool {
        let map: api::Map<api::Str> =
            labels.map_entries().filter_map(|(k, v)| Some((api::Str::from(k), api::Str::from(v.as_str()?)))).collect();
        self.0.matches(&map)
    }
}
