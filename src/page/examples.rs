//! Manifests to begin with.

use crate::lang::Text;

/// One of the examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Example {
    /// What it shows.
    pub title: Text,
    /// The manifest.
    pub text: &'static str,
}

const fn example(en: &'static str, ko: &'static str, text: &'static str) -> Example {
    Example { title: Text { en, ko }, text }
}

/// All of them; the first waits in the editor.
pub const EXAMPLES: &[Example] = &[
    example("Deployment: three copies of nginx", "Deployment: nginx 세 개", include_str!("examples/deployment.yaml")),
    example(
        "Deployment with a Service in front",
        "Deployment와 그 앞의 Service",
        include_str!("examples/service.yaml"),
    ),
    example("Pod that counts in its log", "로그에 숫자를 세는 Pod", include_str!("examples/counter.yaml")),
    example(
        "Init container and readiness probe",
        "init 컨테이너와 readiness probe",
        include_str!("examples/init.yaml"),
    ),
    example("Pod that fits on no node", "어느 노드에도 배치되지 않는 Pod", include_str!("examples/huge.yaml")),
    example("Pod that crashes again and again", "계속 비정상 종료되는 Pod", include_str!("examples/crash.yaml")),
    example("Image that does not exist", "존재하지 않는 이미지", include_str!("examples/image.yaml")),
    example(
        "Spread over zones, with ConfigMap and Secret",
        "여러 영역에 분산, ConfigMap과 Secret 사용",
        include_str!("examples/spread.yaml"),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_says_what_it_is() {
        for example in EXAMPLES {
            assert!(!crate::yaml::documents(example.text).is_empty(), "{}", example.title.en);
            assert!(example.text.ends_with('\n') && !example.text.contains('\t'));
        }
    }
}
