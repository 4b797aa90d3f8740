//! Unified diffs with the hunks that Python's difflib finds, as Kubernetes prints them where a pod may not change.

use crate::SortSmall;
use std::collections::BTreeMap;

/// Lines around a change.
const CONTEXT: usize = 3;
/// From this many lines on, lines that are more than one in a hundred are no anchors of a match.
const POPULAR_FROM: usize = 200;

/// A run of lines that is the same in both.
#[derive(Clone, Copy)]
struct Match {
    a: usize,
    b: usize,
    size: usize,
}

/// The lines of `a[a1..a2]` became `b[b1..b2]`.
#[derive(Clone, Copy)]
struct Step {
    equal: bool,
    a: (usize, usize),
    b: (usize, usize),
}

/// The difference of two texts, each line with its end.
pub(super) fn diff(a: &str, b: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.split('\n').collect(), b.split('\n').collect());
    let mut out = String::new();
    for hunk in hunks(steps(&matches(&a, &b), a.len(), b.len())) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { continue };
        out += &format!("@@ -{} +{} @@\n", range(first.a.0, last.a.1), range(first.b.0, last.b.1));
        for step in &hunk {
            let mut lines = |sign: char, of: &[&str], (from, to): (usize, usize)| {
                for line in of.get(from..to).unwrap_or_default() {
                    out.push(sign);
                    out += line;
                    out.push('\n');
                }
            };
            if step.equal {
                lines(' ', &a, step.a);
            } else {
                lines('-', &a, step.a);
                lines('+', &b, step.b);
            }
        }
    }
    out
}

fn range(from: usize, to: usize) -> String {
    match to.saturating_sub(from) {
        1 => (from + 1).to_string(),
        0 => format!("{from},0"),
        length => format!("{},{length}", from + 1),
    }
}

/// The longest matches, found recursively, in order.
fn matches(a: &[&str], b: &[&str]) -> Vec<Match> {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, line) in b.iter().enumerate() {
        places.entry(line).or_default().push(i);
    }
    if b.len() >= POPULAR_FROM {
        let most = b.len() / 100 + 1;
        places.retain(|_, at| at.len() <= most);
    }
    let mut found = Vec::new();
    // What is left to look at, the next part last.
    let mut left = vec![(0, a.len(), 0, b.len())];
    while let Some((a1, a2, b1, b2)) = left.pop() {
        let best = longest(a, b, &places, (a1, a2), (b1, b2));
        if best.size == 0 {
            continue;
        }
        found.push(best);
        let (a_end, b_end) = (best.a + best.size, best.b + best.size);
        if a_end < a2 && b_end < b2 {
            left.push((a_end, a2, b_end, b2));
        }
        if a1 < best.a && b1 < best.b {
            left.push((a1, best.a, b1, best.b));
        }
    }
    found.sort_small_by_key(|m| (m.a, m.b));
    found
}

fn longest(
    a: &[&str],
    b: &[&str],
    places: &BTreeMap<&str, Vec<usize>>,
    (a1, a2): (usize, usize),
    (b1, b2): (usize, usize),
) -> Match {
    let mut best = Match { a: a1, b: b1, size: 0 };
    // Lengths of the matches that end at the line before, by their place in b.
    let mut lengths: BTreeMap<usize, usize> = BTreeMap::new();
    for i in a1..a2 {
        let mut next = BTreeMap::new();
        let at = a.get(i).and_then(|line| places.get(line)).map(Vec::as_slice).unwrap_or_default();
        for &j in at.iter().skip_while(|j| **j < b1).take_while(|j| **j < b2) {
            let size = j.checked_sub(1).and_then(|j| lengths.get(&j)).copied().unwrap_or(0) + 1;
            next.insert(j, size);
            if size > best.size {
                best = Match { a: i + 1 - size, b: j + 1 - size, size };
            }
        }
        lengths = next;
    }
    // Lines that are no anchors lengthen a match.
    while best.a > a1 && best.b > b1 && a.get(best.a - 1) == b.get(best.b - 1) {
        best = Match { a: best.a - 1, b: best.b - 1, size: best.size + 1 };
    }
    while best.a + best.size < a2 && best.b + best.size < b2 && a.get(best.a + best.size) == b.get(best.b + best.size) {
        best.size += 1;
    }
    best
}

fn steps(matches: &[Match], a_len: usize, b_len: usize) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let (mut i, mut j) = (0, 0);
    for m in matches.iter().chain([&Match { a: a_len, b: b_len, size: 0 }]) {
        if i < m.a || j < m.b {
            steps.push(Step { equal: false, a: (i, m.a), b: (j, m.b) });
        }
        (i, j) = (m.a + m.size, m.b + m.size);
        if m.size == 0 {
            continue;
        }
        match steps.last_mut() {
            // Matches side by side are one.
            Some(last) if last.equal => (last.a.1, last.b.1) = (i, j),
            _ => steps.push(Step { equal: true, a: (m.a, i), b: (m.b, j) }),
        }
    }
    steps
}

fn hunks(mut steps: Vec<Step>) -> Vec<Vec<Step>> {
    if let Some(first) = steps.first_mut().filter(|s| s.equal) {
        first.a.0 = first.a.0.max(first.a.1.saturating_sub(CONTEXT));
        first.b.0 = first.b.0.max(first.b.1.saturating_sub(CONTEXT));
    }
    if let Some(last) = steps.last_mut().filter(|s| s.equal) {
        last.a.1 = last.a.1.min(last.a.0 + CONTEXT);
        last.b.1 = last.b.1.min(last.b.0 + CONTEXT);
    }
    let mut hunks = Vec::new();
    let mut hunk: Vec<Step> = Vec::new();
    for mut step in steps {
        if step.equal && step.a.1 - step.a.0 > 2 * CONTEXT {
            let end = Step {
                equal: true,
                a: (step.a.0, step.a.1.min(step.a.0 + CONTEXT)),
                b: (step.b.0, step.b.1.min(step.b.0 + CONTEXT)),
            };
            hunk.push(end);
            hunks.push(std::mem::take(&mut hunk));
            step.a.0 = step.a.0.max(step.a.1.saturating_sub(CONTEXT));
            step.b.0 = step.b.0.max(step.b.1.saturating_sub(CONTEXT));
        }
        hunk.push(step);
    }
    if hunk.len() > 1 || hunk.first().is_some_and(|s| !s.equal) {
        hunks.push(hunk);
    }
    hunks
}

#[cfg(test)]
mod tests {
    use super::diff;

    #[test]
    fn hunk() {
        let a = "1\n2\n3\n4\n5\n6\n7\n8\n9";
        assert_eq!(diff(a, "1\n2\n3\n4\nfive\n6\n7\n8\n9"), "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
        assert_eq!(diff(a, a), "");
        assert_eq!(diff("a", "a\nb"), "@@ -1 +1,2 @@\n a\n+b\n");
    }
}
