//! The crate against the recorded answers of Kubernetes' own Go code (tools/judge.py record).
mod answers;

fn check(mode: &str) {
    let path = format!("{}/testdata/{mode}.tsv", env!("CARGO_MANIFEST_DIR"));
    let data = std::fs::read_to_string(&path).expect("recorded answers");
    let mut wrong = Vec::new();
    for line in data.lines() {
        let (theirs, case) = line.split_once('\t').expect("answer and case");
        let ours = answers::answer(mode, case);
        let same = match theirs {
            "=" => ours.strip_prefix("OK ") == case.split_once('\t').map(|c| c.1),
            t => t == ours,
        };
        if !same {
            wrong.push(format!("case {case}\n  Go   {theirs}\n  ours {ours}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

macro_rules! modes {
    ($($mode:ident)*) => { $(#[test] fn $mode() { check(stringify!($mode)) })* };
}
modes! { codec quantity yaml print strategic threeway json apply }
