//! Label selectors in messages.

use api::meta_v1::LabelSelector;

/// A label selector as Go prints a pointer to one.
pub fn label_selector_text(selector: Option<&LabelSelector>) -> String {
    let Some(selector) = selector else { return "nil".to_string() };
    let labels: String = selector.match_labels.iter().map(|(k, v)| format!("{k}: {v},")).collect();
    let expressions = selector.match_expressions.iter().map(|e| {
        let values: Vec<&str> = e.values.iter().map(|v| &**v).collect();
        format!("LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},", e.key, e.operator, values.join(" "))
    });
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]LabelSelectorRequirement{{{}}},}}",
        expressions.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::meta_v1::LabelSelectorRequirement;
    use api::{List, Map};

    #[test]
    fn a_selector_reads_as_go_prints_it() {
        let selector = LabelSelector {
            match_labels: Map::from([("app", "web".into())]),
            match_expressions: List::from(vec![LabelSelectorRequirement {
                key: "tier".into(),
                operator: "In".into(),
                values: List::from(vec!["a".into(), "b".into()]),
            }]),
        };
        assert_eq!(
            label_selector_text(Some(&selector)),
            "&LabelSelector{MatchLabels:map[string]string{app: web,},MatchExpressions:[]LabelSelectorRequirement\
             {LabelSelectorRequirement{Key:tier,Operator:In,Values:[a b],},},}"
        );
        assert_eq!(label_selector_text(None), "nil");
    }
}
