//! The dense map: a box a zone, a cell a node, a dot a pod, stacked from the floor so that height is fullness.

use crate::layout::{Rect, n};
use view::PodState;

/// How big cells and dots are in a box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cells {
    /// Cells in a row.
    pub per_row: usize,
    /// A cell's size.
    pub cell: (f64, f64),
    /// From one cell to the next.
    pub pitch: (f64, f64),
    /// From one dot to the next.
    pub dot: f64,
    /// Height that all rows take.
    pub height: f64,
}

/// Dots side by side in a cell.
const DOTS: usize = 4;

/// Chooses the biggest cells with which `nodes` cells fit into a box of this inner size. With very many nodes the
/// smallest cells are taken and the box has to grow to [`Cells::height`].
pub fn cells(w: f64, h: f64, nodes: usize) -> Cells {
    let mut chosen = None;
    for dot in [7.0, 6.0, 5.0, 4.0, 3.0] {
        let cell_w = DOTS as f64 * dot + 3.0;
        let gap = if dot >= 6.0 { 4.0 } else { 2.0 };
        let per_row = ((w + gap) / (cell_w + gap)).floor().max(1.0) as usize;
        let rows = nodes.div_ceil(per_row).max(1);
        let least = dot * 3.0 + 3.0;
        let cell_h = (((h + gap + 1.0) / rows as f64) - gap - 1.0).min(dot * 8.0 + 3.0).max(least).floor();
        let pitch = (cell_w + gap, cell_h + gap + 1.0);
        let cells = Cells { per_row, cell: (cell_w, cell_h), pitch, dot, height: rows as f64 * pitch.1 };
        chosen = Some(cells);
        if cells.height <= h + gap + 1.0 {
            break;
        }
    }
    chosen.unwrap_or(Cells { per_row: 1, cell: (15.0, 12.0), pitch: (17.0, 15.0), dot: 3.0, height: 15.0 })
}

impl Cells {
    /// Where a cell stands.
    pub fn rect(&self, index: usize) -> Rect {
        let (row, col) = (index / self.per_row.max(1), index % self.per_row.max(1));
        Rect { x: col as f64 * self.pitch.0, y: row as f64 * self.pitch.1, w: self.cell.0, h: self.cell.1 }
    }

    /// The cell at a point.
    pub fn at(&self, x: f64, y: f64) -> Option<usize> {
        if x < 0.0 || y < 0.0 {
            return None;
        }
        let (col, row) = ((x / self.pitch.0) as usize, (y / self.pitch.1) as usize);
        (col < self.per_row).then_some(row * self.per_row + col)
    }

    /// Dots that fit into a cell.
    pub fn capacity(&self) -> usize {
        DOTS * ((self.cell.1 - 3.0) / self.dot).floor().max(1.0) as usize
    }
}

/// One SVG path a state, for all pods of a cell: a pod that changes draws its own cell again and no other.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dots {
    /// Filled squares.
    pub ready: String,
    /// Hollow squares.
    pub creating: String,
    /// Half-filled squares.
    pub running: String,
    /// Triangles.
    pub crashloop: String,
    /// Crosses.
    pub failed: String,
    /// Dashes.
    pub terminating: String,
    /// Small squares.
    pub succeeded: String,
    /// Diamonds.
    pub unknown: String,
    /// Rings of small dashes: assumed, not bound.
    pub pending: String,
}

impl Dots {
    /// A cell's pods, as far as they fit.
    pub fn of(cells: &Cells, index: usize, pods: &[PodState]) -> Dots {
        let mut dots = Dots::default();
        let rect = cells.rect(index);
        let size = cells.dot - if cells.dot >= 5.0 { 2.0 } else { 1.0 };
        for (i, state) in pods.iter().take(cells.capacity()).enumerate() {
            let x = rect.x + 3.0 + (i % DOTS) as f64 * cells.dot;
            let y = rect.bottom() - cells.dot - (i / DOTS) as f64 * cells.dot;
            dots.dot(*state, x, y, size);
        }
        dots
    }

    fn dot(&mut self, state: PodState, x: f64, y: f64, s: f64) {
        let (half, third) = (s / 2.0, s / 3.0);
        let p = |v: f64| n(v);
        let (into, d) = match state {
            PodState::Ready => (&mut self.ready, format!("M{} {}h{s}v{s}h-{s}z", p(x), p(y))),
            PodState::Creating => {
                let t = s - 1.0;
                (&mut self.creating, format!("M{} {}h{t}v{t}h-{t}z", p(x + 0.5), p(y + 0.5)))
            }
            PodState::Running => (&mut self.running, format!("M{} {}v{s}h{s}z", p(x), p(y))),
            PodState::CrashLoop => {
                (&mut self.crashloop, format!("M{} {}L{} {}h-{s}z", p(x + half), p(y), p(x + s), p(y + s)))
            }
            PodState::Failed => (&mut self.failed, format!("M{} {}l{s} {s}m0-{s}l-{s} {s}", p(x), p(y))),
            PodState::Terminating => (&mut self.terminating, format!("M{} {}h{s}", p(x), p(y + half))),
            PodState::Succeeded => (
                &mut self.succeeded,
                format!("M{} {}h{t}v{t}h-{t}z", p(x + third), p(y + third), t = p(third.max(1.0))),
            ),
            PodState::Unknown => {
                (&mut self.unknown, format!("M{} {}l{h} {h}l-{h} {h}l-{h}-{h}z", p(x + half), p(y), h = p(half)))
            }
            PodState::Pending => {
                let t = s - 1.0;
                (&mut self.pending, format!("M{} {}h{t}v{t}h-{t}z", p(x + 0.5), p(y + 0.5)))
            }
        };
        into.push_str(&d);
    }

    /// The paths with their classes, those that are empty left out.
    pub fn paths(&self) -> Vec<(&'static str, &str)> {
        [
            ("dr", &self.ready),
            ("dc", &self.creating),
            ("dn", &self.running),
            ("dk", &self.crashloop),
            ("df", &self.failed),
            ("dt", &self.terminating),
            ("ds", &self.succeeded),
            ("du", &self.unknown),
            ("dp", &self.pending),
        ]
        .into_iter()
        .filter(|(_, d)| !d.is_empty())
        .map(|(class, d)| (class, d.as_str()))
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_fit_their_box() {
        let c = cells(419.0, 210.0, 34);
        assert_eq!((c.per_row, c.cell.0, c.dot), (12, 31.0, 7.0));
        assert!(c.height <= 215.0);
        let c = cells(419.0, 210.0, 334);
        assert!(c.dot < 7.0);
        assert!(cells(150.0, 100.0, 1000).height > 100.0);
        assert!(cells(0.0, 0.0, 0).per_row >= 1);
    }

    #[test]
    fn a_point_finds_its_cell() {
        let c = cells(419.0, 210.0, 34);
        let r = c.rect(17);
        assert_eq!(c.at(r.x + 1.0, r.y + 1.0), Some(17));
        assert_eq!(c.at(-1.0, 3.0), None);
    }

    #[test]
    fn a_cells_pods_are_a_path_a_state() {
        let c = cells(419.0, 210.0, 34);
        let mut states = vec![PodState::Ready; 5];
        states.push(PodState::Failed);
        let dots = Dots::of(&c, 0, &states);
        assert_eq!(dots.paths().iter().map(|(class, _)| *class).collect::<Vec<_>>(), ["dr", "df"]);
        assert!(dots.ready.starts_with("M3 "));
        assert_eq!(dots.ready.matches('M').count(), 5);
        let full = Dots::of(&c, 0, &vec![PodState::Ready; 1000]);
        assert_eq!(full.ready.matches('M').count(), c.capacity());
    }
}
