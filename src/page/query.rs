//! The page's options: the query of its address.

use crate::lang::Lang;

/// What the address asks for. Every value is within its bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The form for an iframe.
    pub embed: bool,
    /// The language, if one was asked for.
    pub lang: Option<Lang>,
    /// Light or dark, or what the system says.
    pub theme: Theme,
    /// The panels to show; empty for all.
    pub panels: Vec<Panel>,
    /// Worker nodes.
    pub nodes: u16,
    /// Zones.
    pub zones: u8,
    /// Members of the control plane.
    pub control_planes: u8,
    /// Of all randomness.
    pub seed: u64,
    /// Thousandths.
    pub speed_milli: u32,
    /// Stand still once booted.
    pub paused: bool,
    /// Nothing can be changed: no Apply, no terminal, no faults.
    pub readonly: bool,
    /// When the world is loaded.
    pub loading: Loading,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            embed: false,
            lang: None,
            theme: Theme::Auto,
            panels: Vec::new(),
            nodes: 3,
            zones: 3,
            control_planes: 1,
            seed: 1,
            speed_milli: 1000,
            paused: false,
            readonly: false,
            loading: Loading::Eager,
        }
    }
}

impl Options {
    /// Whether a panel is shown.
    pub fn shows(&self, panel: Panel) -> bool {
        self.panels.is_empty() || self.panels.contains(&panel)
    }
}

/// The theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// As the system.
    #[default]
    Auto,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

/// When the world is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Loading {
    /// At once.
    #[default]
    Eager,
    /// When the page is first seen.
    Lazy,
    /// When the reader presses Start.
    Click,
}

/// Panels that an address may choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Panel {
    /// The editor.
    Manifest,
    /// The terminal.
    Terminal,
    /// The map.
    Cluster,
    /// Controller logs.
    Logs,
    /// Events.
    Events,
    /// Requests.
    Requests,
    /// The timeline.
    Timeline,
}

const PANELS: &[(&str, Panel)] = &[
    ("manifest", Panel::Manifest),
    ("terminal", Panel::Terminal),
    ("cluster", Panel::Cluster),
    ("logs", Panel::Logs),
    ("events", Panel::Events),
    ("requests", Panel::Requests),
    ("timeline", Panel::Timeline),
];

/// Something in the address that can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Complaint {
    /// No option has this name.
    Unknown {
        /// The name.
        name: String,
    },
    /// The option can't have this value; the default is used.
    Broken {
        /// The option.
        name: String,
        /// What was written.
        value: String,
        /// What it may be, in a form for both languages: `1, 3, 5` or `1..1000`.
        allowed: String,
    },
}

/// Reads the query (with or without its `?`). Whatever can't be used is complained about and left at its default.
pub fn parse(query: &str) -> (Options, Vec<Complaint>) {
    let mut options = Options::default();
    let mut complaints = Vec::new();
    let mut zones_given = false;
    for pair in query.trim_start_matches('?').split('&').filter(|p| !p.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decode(name), decode(value));
        let allowed = match name.as_str() {
            "embed" => flag(&value, &mut options.embed),
            "paused" => flag(&value, &mut options.paused),
            "readonly" => flag(&value, &mut options.readonly),
            "lang" => one_of(&value, &[("ko", Some(Lang::Ko)), ("en", Some(Lang::En))], &mut options.lang),
            "theme" => one_of(
                &value,
                &[("auto", Theme::Auto), ("light", Theme::Light), ("dark", Theme::Dark)],
                &mut options.theme,
            ),
            "loading" => one_of(
                &value,
                &[("eager", Loading::Eager), ("lazy", Loading::Lazy), ("click", Loading::Click)],
                &mut options.loading,
            ),
            "panels" => panels(&value, &mut options.panels),
            "nodes" => number(&value, 1, 1000, &mut options.nodes),
            "zones" => {
                zones_given = true;
                number(&value, 1, 26, &mut options.zones)
            }
            "control-planes" => one_of(&value, &[("1", 1), ("3", 3), ("5", 5)], &mut options.control_planes),
            "seed" => number(&value, 0, u64::MAX, &mut options.seed),
            "speed" => speed(&value, &mut options.speed_milli),
            _ => {
                complaints.push(Complaint::Unknown { name });
                continue;
            }
        };
        if let Err(allowed) = allowed {
            complaints.push(Complaint::Broken { name, value, allowed });
        }
    }
    if !zones_given {
        options.zones = options.zones.min(u8::try_from(options.nodes).unwrap_or(u8::MAX));
    }
    (options, complaints)
}

/// What an address's hash (with or without its `#`) asks for: nothing of it is an option, so whatever is named there is
/// complained about. An anchor's name (`#top`) asks for nothing.
pub fn hash(hash: &str) -> Vec<Complaint> {
    let parts = hash.trim_start_matches('#').split('&').filter_map(|part| part.split_once('='));
    parts.map(|(name, _)| Complaint::Unknown { name: format!("#{}", short(&decode(name))) }).collect()
}

/// The first 40 characters.
fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

fn flag(value: &str, into: &mut bool) -> Result<(), String> {
    one_of(value, &[("1", true), ("0", false), ("", true), ("true", true), ("false", false)], into)
        .map_err(|_| "0, 1".to_string())
}

fn one_of<T: Clone>(value: &str, table: &[(&str, T)], into: &mut T) -> Result<(), String> {
    match table.iter().find(|(word, _)| *word == value) {
        Some((_, found)) => {
            *into = found.clone();
            Ok(())
        }
        None => Err(table.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ")),
    }
}

fn number<T: std::str::FromStr + PartialOrd + std::fmt::Display + Copy>(
    value: &str,
    least: T,
    most: T,
    into: &mut T,
) -> Result<(), String> {
    match value.parse::<T>() {
        Ok(n) if n >= least && n <= most && value.bytes().all(|b| b.is_ascii_digit()) => {
            *into = n;
            Ok(())
        }
        _ => Err(format!("{least}..{most}")),
    }
}

fn speed(value: &str, into: &mut u32) -> Result<(), String> {
    let number = value.trim_start_matches('x').parse::<f64>().ok();
    match number.filter(|n| (0.01..=1000.0).contains(n)) {
        Some(n) => {
            *into = (n * 1000.0).round() as u32;
            Ok(())
        }
        None => Err("0.01..1000".to_string()),
    }
}

fn panels(value: &str, into: &mut Vec<Panel>) -> Result<(), String> {
    let mut chosen = Vec::new();
    for word in value.split(',').filter(|w| !w.is_empty()) {
        let mut panel = Panel::Cluster;
        one_of(word.trim(), PANELS, &mut panel)?;
        if !chosen.contains(&panel) {
            chosen.push(panel);
        }
    }
    *into = chosen;
    Ok(())
}

/// Percent-decoding of a query's part; what is no escape stays as it is.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while let Some(&b) = bytes.get(i) {
        let escaped = (b == b'%')
            .then(|| bytes.get(i + 1..i + 3))
            .flatten()
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (b, escaped) {
            (_, Some(byte)) => {
                out.push(byte);
                i += 3;
            }
            (b'+', None) => {
                out.push(b' ');
                i += 1;
            }
            (b, None) => {
                out.push(b);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_options_are_read() {
        let (o, complaints) = parse(
            "?embed=1&lang=ko&theme=dark&panels=manifest,cluster&nodes=100&zones=2&control-planes=3&seed=7&speed=0.01&paused=1&readonly=1&loading=click",
        );
        assert_eq!(complaints, vec![]);
        assert!(o.embed && o.paused && o.readonly);
        assert_eq!(o.lang, Some(Lang::Ko));
        assert_eq!((o.theme, o.loading), (Theme::Dark, Loading::Click));
        assert_eq!(o.panels, vec![Panel::Manifest, Panel::Cluster]);
        assert_eq!((o.nodes, o.zones, o.control_planes, o.seed, o.speed_milli), (100, 2, 3, 7, 10));
        assert!(o.shows(Panel::Cluster) && !o.shows(Panel::Terminal));
    }

    #[test]
    fn what_cannot_be_used_is_said_and_left_at_its_default() {
        let (o, complaints) = parse("nodes=9999&control-planes=2&colour=red&speed=fast&panels=map&seed=-1&nodes=%2B3");
        assert_eq!(o, Options::default());
        assert_eq!(complaints.len(), 7);
        assert!(complaints.contains(&Complaint::Unknown { name: "colour".into() }));
        assert!(complaints.contains(&Complaint::Broken {
            name: "control-planes".into(),
            value: "2".into(),
            allowed: "1, 3, 5".into()
        }));
    }

    #[test]
    fn zones_never_outnumber_the_nodes_unless_asked() {
        assert_eq!(parse("nodes=2").0.zones, 2);
        assert_eq!(parse("nodes=2&zones=3").0.zones, 3);
        assert_eq!(parse("").0, Options::default());
    }

    #[test]
    fn what_a_hash_asks_for_is_complained_about() {
        let unknown = |name: &str| Complaint::Unknown { name: name.into() };
        assert_eq!(hash("#manifest=eNq%&run=x"), [unknown("#manifest"), unknown("#run")]);
        assert_eq!(hash("#%ED%95%9C=1"), [unknown("#한")]);
        assert_eq!([hash(""), hash("#"), hash("#top")], [vec![], vec![], vec![]]);
    }

    #[test]
    fn broken_escapes_stay() {
        assert_eq!(decode("a%2"), "a%2");
        assert_eq!(decode("a%zz+b"), "a%zz b");
        assert_eq!(decode("%ED%95%9C"), "한");
    }
}
