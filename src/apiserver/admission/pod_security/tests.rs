//! Pods and what is said of them. Expected texts are those of a real v1.37.2 cluster.
use super::*;

fn spec(yaml: &str) -> (Value, Value) {
    let manifest = format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n  {}", yaml.replace('\n', "\n  "));
    let value = api::yaml::parse(&manifest).expect("YAML");
    let mut pod = Pod::default();
    api::json::from_value(&value, &mut pod, true).expect("decodes");
    api::defaults::apply(&mut pod);
    let value = api::json::to_value_bare(&pod);
    (value.get("metadata").cloned().unwrap_or_default(), value.get("spec").cloned().unwrap_or_default())
}

#[test]
fn levels_and_versions() {
    let mut count = 0;
    for case in include_str!("testdata.txt").split("=== ").skip(1) {
        let (name, rest) = case.split_once('\n').expect("a name");
        let (level, rest) = rest.split_once('\n').expect("a level");
        let (yaml, expected) = rest.split_once("\n--->\n").expect("an expectation");
        let (level, version) = level.split_once(':').expect("level and version");
        let labels = [("enforce", level), ("enforce-version", version)].into_iter();
        let labels = labels.map(|(key, value)| (Str::from(format!("{LABEL}{key}")), Str::from(value))).collect();
        let policies = policies(&labels);
        assert!(policies.errors.is_empty(), "{name}");
        let (metadata, spec) = spec(yaml);
        let verdict = policies.enforce.judge(&checks::Pod { metadata: Some(&metadata), spec: &spec });
        let found = match verdict.0.is_empty() {
            true => "allowed".to_string(),
            false => format!("violates PodSecurity \"{}\": {}", policies.enforce, verdict.details()),
        };
        assert_eq!(found, expected.trim_end(), "{name} {level}:{version}");
        count += 1;
    }
    assert!(count > 40, "{count} cases");
}

#[test]
fn labels_are_read_as_far_as_they_go() {
    let of = |labels: &[(&str, &str)]| {
        let labels = labels.iter().map(|(key, value)| (Str::from(format!("{LABEL}{key}")), Str::from(*value)));
        policies(&labels.collect())
    };
    let both = of(&[("enforce", "restricted"), ("enforce-version", "v1.30")]);
    assert_eq!(
        (both.enforce.to_string(), both.warn.to_string()),
        ("restricted:v1.30".into(), "restricted:v1.30".into())
    );
    let warned = of(&[("enforce", "restricted"), ("warn", "privileged")]);
    assert_eq!(warned.warn, Policy::DEFAULT);
    let wrong = of(&[("enforce", "none"), ("warn", "strict"), ("audit-version", "v1.05")]);
    let texts: Vec<String> = wrong.errors.iter().map(|error| error.to_string()).collect();
    assert_eq!(
        texts,
        [
            "metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: \"none\": must be one of privileged, baseline, restricted",
            "metadata.labels[pod-security.kubernetes.io/audit-version]: Invalid value: \"v1.05\": must be \"latest\" or \"v1.x\"",
            "metadata.labels[pod-security.kubernetes.io/warn]: Invalid value: \"strict\": must be one of privileged, baseline, restricted",
        ]
    );
    assert_eq!(wrong.enforce.level, Level::Restricted);
    assert_eq!(wrong.warn.level, Level::Privileged);
}
