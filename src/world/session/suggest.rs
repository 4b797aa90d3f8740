//! "Did you mean": the field's name that an unknown one probably should be.

use api::object::TypeDesc;

/// What the unknown field at the end of `path` (`spec.template.spec.containers[0].imgae`) probably should be: the one
/// name of the type at that place that is close enough.
pub fn field(desc: &'static TypeDesc, path: &str) -> Option<&'static str> {
    let mut segments: Vec<&str> = path.split(['.', '[']).map(|s| s.trim_end_matches(']')).collect();
    let unknown = segments.pop()?;
    let mut here = desc;
    for segment in segments {
        // An index belongs to the list that was just gone through.
        if segment.parse::<usize>().is_ok() {
            continue;
        }
        here = here.field(segment)?.ty.element_desc()?;
    }
    closest(unknown, here.fields.iter().map(|f| f.name))
}

/// The one name closest to `word`, if that is close: a third of its letters may differ.
fn closest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (word, most) = (word.to_lowercase(), (word.chars().count() / 3).clamp(1, 4));
    let mut best: Option<(usize, &str)> = None;
    let mut shared = false;
    for name in names {
        let distance = distance(&word, &name.to_lowercase());
        if distance > most {
            continue;
        }
        match best {
            Some((least, _)) if distance > least => {}
            Some((least, _)) if distance == least => shared = true,
            _ => (best, shared) = (Some((distance, name)), false),
        }
    }
    best.filter(|_| !shared).map(|(_, name)| name)
}

/// Letters to add, drop, change, or swap with their neighbour (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut rows: [Vec<usize>; 3] = [Vec::new(), Vec::new(), (0..=b.len()).collect()];
    for (i, x) in a.iter().enumerate() {
        rows.rotate_left(1);
        let [before, last, now] = &mut rows;
        now.clear();
        now.push(i + 1);
        for (j, y) in b.iter().enumerate() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX - 1);
            let mut least = (at(last, j + 1) + 1).min(at(now, j) + 1).min(at(last, j) + usize::from(x != y));
            if let (Some(up), Some(left)) = (i.checked_sub(1), j.checked_sub(1))
                && a.get(up) == Some(y)
                && b.get(left) == Some(x)
            {
                least = least.min(at(before, left) + 1);
            }
            now.push(least);
        }
    }
    rows[2].last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters() {
        for (a, b, n) in
            [("", "", 0), ("", "ab", 2), ("replica", "replicas", 1), ("imgae", "image", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!((distance(a, b), distance(b, a)), (n, n), "{a} {b}");
        }
    }

    #[test]
    fn fields_are_suggested_where_one_is_close() {
        let desc = api::scheme::by_api_version("apps/v1", "Deployment").unwrap().desc;
        for (path, name) in [
            ("spec.replica", Some("replicas")),
            ("spec.template.spec.containers[0].imgae", Some("image")),
            ("spec.template.spec.containers[0].Ports", Some("ports")),
            ("spec.template.spec.containers[0].ports[1].containerport", Some("containerPort")),
            ("metdata", Some("metadata")),
            ("spec.frobnicate", None),
            ("spec.nonsense.replica", None),
            ("spec.replicas.x", None),
            ("", None),
        ] {
            assert_eq!(field(desc, path), name, "{path}");
        }
    }
}
