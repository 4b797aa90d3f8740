//! Command lines held to what the real kubectl v1.37.2 answered to them: `recorded.txt` has, a line each, the words,
//! the exit code, standard output and standard error, the texts as JSON. `<<help X>>` stands for the help of X, which
//! `commands.rs` holds to the real one. What can't match yet stands in `recorded-failures.txt` with its reason.

use crate::play_tests::play;
use crate::value::Value;

/// The files that the commands found.
const FILES: &[(&str, &str)] = &[
    ("cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {app: x}}\ndata: {x: \"1\"}\n"),
    (
        "two.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n",
    ),
    ("bad.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a\n"),
    ("nokind.yaml", "apiVersion: v1\nmetadata: {name: a}\n"),
    ("nover.yaml", "kind: ConfigMap\nmetadata: {name: a}\n"),
    ("unknown.yaml", "apiVersion: example.com/v1\nkind: Foo\nmetadata: {name: a}\n"),
    ("empty.yaml", "\n"),
    (
        "dep.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, labels: {app: web}}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n      - {name: nginx, image: \"nginx:1.27\"}\n",
    ),
    ("t.tmpl", "{{.kind}}: {{.metadata.name}}\n"),
    ("p.jsonpath", "{.kind}/{.metadata.name}"),
    ("c.cols", "NAME KIND\n.metadata.name .kind\n"),
    ("env", "A=1\nB=two\n# c\n"),
    ("bin.dat", "x"),
    ("d/one", "1"),
    ("d/two", "2\n"),
    ("tls.crt", "nope"),
    ("tls.key", "nope"),
    (
        "role.yaml",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r}\nrules:\n- {apiGroups: [\"\"], resources: [pods], verbs: [get]}\n",
    ),
    (
        "base/dep.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, labels: {x: z}}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      serviceAccountName: robot\n      containers:\n      - name: nginx\n        image: nginx:1.27\n        envFrom: [{configMapRef: {name: conf}}, {secretRef: {name: sec}}]\n        env: [{name: A, valueFrom: {configMapKeyRef: {name: conf, key: A}}}]\n      volumes: [{name: v, configMap: {name: conf}}, {name: s, secret: {secretName: sec}}]\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: robot}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: rb}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}\nsubjects: [{kind: ServiceAccount, name: robot}, {kind: ServiceAccount, name: default}]\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r}\nrules: []\n",
    ),
    (
        "base/svc.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: ns1}\n",
    ),
    (
        "base/kustomization.yaml",
        "resources: [dep.yaml, svc.yaml]\nconfigMapGenerator:\n- name: conf\n  literals: [A=1, B=two]\nsecretGenerator:\n- name: sec\n  literals: [p=w]\n  type: Opaque\n",
    ),
    (
        "over/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: prod\nnamePrefix: p-\nnameSuffix: -s\nlabels:\n- pairs: {team: a}\n  includeSelectors: true\n- pairs: {only: meta}\ncommonAnnotations: {note: hi}\nresources: [../base]\nimages: [{name: nginx, newTag: \"1.28\"}]\nreplicas: [{name: web, count: 5}]\npatches:\n- patch: |-\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: web}\n    spec: {template: {spec: {containers: [{name: nginx, env: [{name: B, value: b}]}]}}}\n- target: {kind: Service}\n  patch: |-\n    - {op: replace, path: /spec/ports/0/port, value: 8080}\nconfigMapGenerator:\n- name: conf\n  behavior: merge\n  literals: [C=3]\n",
    ),
    ("g/e.env", "X=1\n# c\nY=z\n"),
    ("g/two.txt", "two"),
    ("g/one.txt", "one\n"),
    (
        "g/kustomization.yaml",
        "commonLabels: {app: x}\ngeneratorOptions: {labels: {g: h}, disableNameSuffixHash: true}\nconfigMapGenerator:\n- name: c\n  files: [one.txt, k=two.txt]\n  envs: [e.env]\n- name: d\n  literals: [\"q='a b'\"]\n  options: {immutable: true, annotations: {x: z}, disableNameSuffixHash: false}\nsecretGenerator:\n- name: tls\n  type: kubernetes.io/tls\n  files: [tls.crt=one.txt]\nresources: [pvc.yaml]\nimages:\n- name: busybox\n  newName: reg/bb\n  digest: sha256:aa\n",
    ),
    (
        "g/pvc.yaml",
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  serviceName: db\n  selector: {matchLabels: {r: db}}\n  template:\n    metadata: {labels: {r: db}}\n    spec:\n      initContainers: [{name: i, image: \"busybox:1.36\"}]\n      containers: [{name: c, image: busybox}]\n  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]\n---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: cj}\nspec: {schedule: \"* * * * *\", jobTemplate: {spec: {template: {spec: {containers: [{name: c, image: other}]}}}}}\n---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: np}\nspec: {podSelector: {matchLabels: {r: db}}, ingress: [{from: [{podSelector: {matchLabels: {a: b}}}]}]}\n",
    ),
    (
        "h/dep.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, labels: {x: z}}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      serviceAccountName: robot\n      containers:\n      - name: nginx\n        image: nginx:1.27\n        envFrom: [{configMapRef: {name: conf}}, {secretRef: {name: sec}}]\n        env: [{name: A, valueFrom: {configMapKeyRef: {name: conf, key: A}}}]\n      volumes: [{name: v, configMap: {name: conf}}, {name: s, secret: {secretName: sec}}]\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: robot}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: rb}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}\nsubjects: [{kind: ServiceAccount, name: robot}, {kind: ServiceAccount, name: default}]\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r}\nrules: []\n",
    ),
    ("h/j.yaml", "[{\"op\":\"add\",\"path\":\"/spec/paused\",\"value\":true}]\n"),
    (
        "h/svc.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: ns1}\n",
    ),
    (
        "h/kustomization.yaml",
        "resources: [dep.yaml]\nbases: [../base2]\npatchesStrategicMerge: [p.yaml]\npatchesJson6902:\n- target: {version: v1, group: apps, kind: Deployment, name: web}\n  path: j.yaml\nsortOptions: {order: fifo}\n",
    ),
    (
        "h/p.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: nginx, $patch: delete}, {name: other, image: x}]}}}\n",
    ),
    ("base2/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
    ("base2/kustomization.yaml", "resources: [a.yaml]\n"),
    ("e1/kustomization.yaml", "resources: [nope.yaml]\n"),
    ("e2/kustomization.yaml", "foo: bar\n"),
    ("e3/kustomization.yaml", "resources: []\n"),
    ("e4/kustomization.yaml", ""),
    ("e5/b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
    ("e5/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
    ("e5/kustomization.yaml", "resources: [a.yaml, b.yaml]\n"),
    ("e6/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
    ("e6/kustomization.yaml", "resources: [a.yaml]\npatches: [{path: nope.yaml}]\n"),
    ("e7/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
    (
        "e7/kustomization.yaml",
        "resources: [a.yaml]\npatches: [{patch: \"apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: zzz}\\n\"}]\n",
    ),
    ("e8/kustomization.yaml", "configMapGenerator: [{name: c, files: [nope.txt]}]\n"),
    ("pod-nameless.json", "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{}}"),
    ("meta-text.json", "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":\"foo\"}"),
    ("meta-empty.json", "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{}}"),
    ("version-abc.json", "{\"apiVersion\":\"a/b/c\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}"),
    ("kind-small.json", "{\"apiVersion\":\"v1\",\"kind\":\"configmap\",\"metadata\":{\"name\":\"small\"}}"),
    ("unknown-field.json", "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},\"nope\":1}"),
    ("cut.json", "{"),
    (
        "kuberc.yaml",
        "apiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference\ndefaults:\n- {command: get, options: [{name: output, default: name}]}\naliases:\n- {name: getn, command: get, prependArgs: [namespaces], options: [{name: output, default: name}]}\n- {name: nodef, command: get, appendArgs: [default]}\n",
    ),
    (
        "kuberc-bad.yaml",
        "apiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference\nfoo: bar\ndefaults:\n- command: nope\n- command: get\n  options:\n  - {name: nada, default: x}\naliases:\n- {name: abc, command: scale, options: [{name: replicas, default: x}]}\n",
    ),
    (
        "csr.yaml",
        "apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata: {name: robin}\nspec:\n  request: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIS01ISUNBUUF3RURFT01Bd0dBMVVFQXd3RmNtOWlhVzR3V1RBVEJnY3Foa2pPUFFJQkJnZ3Foa2pPUFFNQgpCd05DQUFTNWx6cWZvUmgyR3Z5MHZGYU9FckFVenM1M1FQcUxtWDY4SHlTQm9BK2JBTWFWL0tzSmNZeGt4Rm5YCmRWV0M2M1RUamFjcm0yaDRkRzVJeCtLeXE2WHNvQUF3Q2dZSUtvWkl6ajBFQXdJRFNBQXdSUUloQUtVaW90NnEKdGVQL21zSlJFL3NxR1ZRUUdGWjBQREVnM2pwUTFoUm9ZRVJHQWlBazczT0piZzdQcXp6b2RSejB6M0xKc3JOSApBdEFEYnBJZFMvM3dnWnpoYXc9PQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K\n  signerName: kubernetes.io/kube-apiserver-client\n  usages: [client auth]\n",
    ),
];

/// What the recorded cluster held beside what every server has.
const BEFORE: &[&str] = &[
    "create -f node-1.json",
    "create -f node-2.json",
    "create -f node-3.json",
    "create configmap kube-root-ca.crt --from-literal=ca.crt=x",
    "create serviceaccount default",
];

/// Hides what differs from cluster to cluster: instants, unique names, certificates' digests and revisions.
fn masked(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    let mut before = "";
    while let Some(c) = rest.chars().next() {
        let word_end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"-:.".contains(c)).unwrap_or(rest.len());
        let word = rest.get(..word_end).unwrap_or("");
        let digits = |s: &str| !s.is_empty() && s.chars().all(|c| c.is_ascii_digit());
        // Go prints a map as `name:value`.
        let named = word.split_once(':').filter(|(name, _)| !name.is_empty() && name.chars().all(char::is_alphabetic));
        let (name, value) = named.unwrap_or((before, word));
        let instant =
            value.len() >= 20 && value.ends_with('Z') && value.get(..4).is_some_and(digits) && value.contains(':');
        let uid = value.len() == 36 && value.matches('-').count() == 4;
        let digest = value.len() == 64 && value.chars().all(|c| c.is_ascii_hexdigit());
        // Where the cluster's history differs, so do its revisions.
        let revision = name == "resourceVersion" && digits(value);
        if word.contains(char::is_alphanumeric) {
            before = word;
        }
        let kinds = [(instant, "TIME"), (uid, "UID"), (digest, "DIGEST"), (revision, "REVISION")];
        if let Some((_, mask)) = kinds.into_iter().find(|(is, _)| *is) {
            out.push_str(mask);
            rest = rest.get(word_end..).unwrap_or("");
        } else if word_end > 0 {
            out.push_str(word);
            rest = rest.get(word_end..).unwrap_or("");
        } else {
            out.push(c);
            rest = rest.get(c.len_utf8()..).unwrap_or("");
        }
    }
    let mut lines: Vec<String> = Vec::new();
    for line in out.split('\n') {
        let line = match line.split_once("resourceVersion: ") {
            Some((head, _)) => format!("{head}resourceVersion: N"),
            None => line.to_string(),
        };
        // The head of a line of klog: severity and day, instant, process.
        let mut words = line.split_whitespace();
        let severity = words.next().is_some_and(|w| w.len() == 5 && w.starts_with(['I', 'W', 'E']));
        let instant = words.next().is_some_and(|w| w.len() == 15 && w.matches(':').count() == 2);
        let klog = line.split_once("] ").filter(|_| severity && instant);
        let place = klog.and_then(|(head, text)| Some(format!("{}] {text}", head.split_whitespace().nth(3)?)));
        lines.push(place.unwrap_or(line));
    }
    lines.join("\n")
}

fn expanded(text: &str) -> String {
    let mut out = text.replace("<<options>>", "");
    for c in crate::commands::all() {
        let mark = format!("<<help {}>>", c.path);
        if out.contains(&mark) {
            out = out.replace(&mark, &crate::cmd::help::help(c));
        }
    }
    out
}

#[test]
fn as_recorded() {
    let text = |s: &str| Value::parse(s).ok().and_then(|v| v.as_str().map(String::from)).unwrap_or_default();
    let nodes: Vec<(String, String)> = (1..=3)
        .map(|n| {
            let body = format!("{{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{{\"name\":\"node-{n}\"}}}}");
            (format!("node-{n}.json"), body)
        })
        .collect();
    let mut files = FILES.to_vec();
    files.extend(nodes.iter().map(|(n, b)| (n.as_str(), b.as_str())));
    let rows: Vec<Vec<&str>> = include_str!("recorded.txt").lines().map(|l| l.split('\t').collect()).collect();
    let known: Vec<&str> = include_str!("recorded-failures.txt").lines().filter_map(|l| l.split('\t').next()).collect();
    let mut commands: Vec<(String, String)> = BEFORE.iter().map(|c| (c.to_string(), String::new())).collect();
    commands.extend(rows.iter().map(|r| (r.first().copied().unwrap_or("").to_string(), String::new())));
    let answers = play(commands, &files, false);
    let (mut wrong, mut mended, mut failing) = (Vec::new(), Vec::new(), Vec::new());
    for (row, (out, err, code)) in rows.iter().zip(answers.into_iter().skip(BEFORE.len())) {
        let [line, want_code, want_out, want_err] = row.as_slice() else { panic!("{row:?}") };
        let want = (masked(&expanded(&text(want_out))), masked(&expanded(&text(want_err))), want_code.to_string());
        let shown = if want_out.contains("<<options>>") { String::new() } else { out };
        let got = (masked(&shown), masked(&err), code.to_string());
        if want != got {
            failing.push(line.to_string());
        }
        match (want == got, known.contains(line)) {
            (true, true) => mended.push(*line),
            (false, false) => wrong.push(format!("{line}\n  want {want:?}\n  got  {got:?}")),
            _ => {}
        }
    }
    let count = wrong.len();
    if let Some(path) = option_env!("RECORDED_WRONG") {
        std::fs::write(format!("{path}.names"), failing.join("\n")).unwrap_or_default();
        std::fs::write(path, wrong.join("\n")).unwrap_or_default();
    }
    assert!(wrong.is_empty(), "{count} differ:\n{}", wrong.join("\n"));
    assert!(mended.is_empty(), "these match now, strike them out of recorded-failures.txt: {mended:?}");
}
