//! Where everything on the map stands, computed from the map's own size. Pure geometry, in CSS pixels.

use view::Place;

/// A rectangle.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rect {
    /// Left.
    pub x: f64,
    /// Top.
    pub y: f64,
    /// Width.
    pub w: f64,
    /// Height.
    pub h: f64,
}

impl Rect {
    /// Right edge.
    pub fn right(&self) -> f64 {
        self.x + self.w
    }
    /// Bottom edge.
    pub fn bottom(&self) -> f64 {
        self.y + self.h
    }
    /// Middle, across.
    pub fn middle(&self) -> f64 {
        (self.x + self.w / 2.0).round()
    }
    /// As an inline style.
    pub fn style(&self) -> String {
        format!("left:{}px;top:{}px;width:{}px;height:{}px", n(self.x), n(self.y), n(self.w), n(self.h))
    }
}

/// How much fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Room {
    /// An iframe or a narrow window.
    Compact,
    /// Beside a wide terminal or the inspector.
    Medium,
    /// The whole.
    Wide,
}

/// What the layout depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    /// etcd members.
    pub members: usize,
    /// API servers.
    pub doors: usize,
    /// Columns below: node names, or zones when the map is dense; in order.
    pub columns: usize,
    /// The columns are zones.
    pub dense: bool,
    /// The cloud controller manager's strip is there.
    pub cloud: bool,
    /// Height that the tallest column's content wants.
    pub column_height: f64,
}

/// A line between two things.
#[derive(Debug, Clone, PartialEq)]
pub struct Wire {
    /// Its ends, in the direction from the API server outward.
    pub ends: WireEnds,
    /// Corners of the orthogonal way.
    pub points: Vec<(f64, f64)>,
    /// A double trunk rather than a line.
    pub trunk: bool,
    /// Little squares at its ends.
    pub ports: bool,
}

/// What a line joins. The other end is an API server (its number).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WireEnds {
    /// etcd.
    Trunk(usize),
    /// The reader's kubectl.
    Kubectl,
    /// The controller manager.
    Manager,
    /// The scheduler.
    Scheduler,
    /// The cloud controller manager.
    Cloud,
    /// A column: a node, or a zone.
    Column(usize),
    /// Between the API servers, before the load balancer.
    Bus,
}

/// The whole map.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// How much fits.
    pub room: Room,
    /// Its size; it scrolls when that is more than the container's.
    pub width: f64,
    /// Its height.
    pub height: f64,
    /// The store.
    pub etcd: Rect,
    /// The API servers.
    pub doors: Vec<Rect>,
    /// The wall's top.
    pub wall: f64,
    /// kubectl's line.
    pub kubectl_y: f64,
    /// The controller manager.
    pub managers: Rect,
    /// The scheduler.
    pub scheduler: Rect,
    /// The cloud controller manager.
    pub cloud: Option<Rect>,
    /// Where lines to the columns turn.
    pub bend: f64,
    /// Nodes or zones.
    pub columns: Vec<Rect>,
    /// All lines.
    pub wires: Vec<Wire>,
}

/// Radius of a line's corners.
const RADIUS: f64 = 9.0;
/// Distance of lines in the channel.
const LANE: f64 = 14.0;

/// What the map's tools take beside the store in the narrowest maps.
const TOOLS: f64 = 36.0;

/// Lays the map out in a container of this size.
pub fn plan(width: f64, height: f64, counts: &Counts) -> Plan {
    let room = if width < 620.0 {
        Room::Compact
    } else if width < 900.0 {
        Room::Medium
    } else {
        Room::Wide
    };
    let width = width.max(320.0);
    let compact = room == Room::Compact;
    let (margin, gap) = if compact { (12.0, 8.0) } else { (24.0, 16.0) };
    let middle = (width / 2.0).round();

    // The store.
    let member = if compact { 17.0 } else { 20.0 };
    let etcd_h = if compact { 37.0 } else { 42.0 } + member * counts.members.max(1) as f64;
    let etcd_w = match room {
        // The map's tools stand beside it: on both sides alike, or, where that is dear, on theirs only.
        Room::Compact => width - 2.0 * margin - if width < 420.0 { TOOLS } else { 100.0 },
        Room::Medium => (width - 304.0).clamp(320.0, 480.0),
        Room::Wide => (width * 0.53).clamp(480.0, 640.0),
    };
    let narrow = compact && width < 420.0;
    let etcd_x = if narrow { margin } else { middle - (etcd_w / 2.0).round() };
    let etcd = Rect { x: etcd_x, y: 16.0, w: etcd_w.round(), h: etcd_h };

    // The doors.
    let door_gap: f64 = if compact { 12.0 } else { 26.0 };
    let door_h = if compact { 52.0 } else { 62.0 };
    let door_y = etcd.bottom() + if counts.doors > 1 { door_gap.max(22.0) } else { door_gap };
    let count = counts.doors.max(1);
    let doors: Vec<Rect> = if count == 1 {
        let w = match (narrow, compact) {
            (true, _) => width - 2.0 * margin,
            (false, true) => etcd.w,
            (false, false) => (etcd.w - 32.0).max(380.0),
        };
        vec![Rect { x: middle - (w / 2.0).round(), y: door_y, w, h: door_h }]
    } else {
        let between = if compact { 6.0 } else { 36.0 };
        let side = if compact { margin } else { margin + 48.0 * f64::from(u8::from(room == Room::Wide)) };
        let w = ((width - 2.0 * side - between * (count - 1) as f64) / count as f64).floor();
        (0..count).map(|i| Rect { x: side + i as f64 * (w + between), y: door_y, w, h: door_h }).collect()
    };
    let door_bottom = door_y + door_h;
    let wall = door_y + if compact { 20.0 } else { 25.0 };
    let bus = door_bottom + if compact { 8.0 } else { 14.0 };
    let kubectl_y = if count == 1 { door_y + if compact { 44.0 } else { 50.0 } } else { bus };

    // Controllers and scheduler with the channel between them.
    let lanes = columns_per_row(width, margin, gap, counts).max(1);
    let channel = match room {
        Room::Compact => 52.0,
        _ => 96.0f64.max((lanes as f64 + 1.0) * LANE).min(width * 0.16),
    };
    let card_y = door_bottom + if compact { 22.0 } else { 36.0 } + if count > 1 && !compact { 2.0 } else { 0.0 };
    let card_h = if compact { 68.0 } else { 140.0 };
    let card_w = ((width - 2.0 * margin - channel) / 2.0).floor();
    let cloud_h = if compact { 26.0 } else { 30.0 };
    let managers = Rect { x: margin, y: card_y, w: card_w, h: card_h };
    let scheduler_h = if counts.cloud { card_h - cloud_h - 8.0 } else { card_h };
    let scheduler = Rect { x: width - margin - card_w, y: card_y, w: card_w, h: scheduler_h.max(60.0) };
    let cloud = counts.cloud.then(|| Rect { x: scheduler.x, y: scheduler.bottom() + 8.0, w: card_w, h: cloud_h });
    let cards_bottom = cloud.map_or(managers.bottom(), |c| c.bottom().max(managers.bottom()));

    // Columns.
    let bend = cards_bottom + if compact { 12.0 } else { 16.0 };
    let top = bend + if compact { 16.0 } else { 22.0 };
    let per_row = columns_per_row(width, margin, gap, counts);
    let rows = counts.columns.div_ceil(per_row.max(1)).max(1);
    let row_gap = gap + if rows > 1 { 8.0 } else { 0.0 };
    let foot = if compact { 12.0 } else { 16.0 };
    let free = (height - top - foot - row_gap * (rows - 1) as f64) / rows as f64;
    let least = counts.column_height.max(if compact { 120.0 } else { 132.0 });
    let column_h = free.max(least).floor();
    let columns: Vec<Rect> = (0..counts.columns)
        .map(|i| {
            let (row, col) = (i / per_row.max(1), i % per_row.max(1));
            let in_row = if rows == 1 { counts.columns } else { per_row } as f64;
            let w = ((width - 2.0 * margin - gap * (in_row - 1.0)) / in_row).floor();
            Rect { x: margin + col as f64 * (w + gap), y: top + row as f64 * (column_h + row_gap), w, h: column_h }
        })
        .collect();
    let bottom = columns.iter().map(Rect::bottom).fold(top, f64::max) + foot;

    // Lines.
    let mut wires = Vec::new();
    for (i, door) in doors.iter().enumerate() {
        let x = door.middle();
        let inside = x.clamp(etcd.x + 24.0, etcd.right() - 24.0);
        let points = if inside == x {
            vec![(x, door.y), (x, etcd.bottom())]
        } else {
            let turn = (door.y + etcd.bottom()) / 2.0;
            vec![(x, door.y), (x, turn), (inside, turn), (inside, etcd.bottom())]
        };
        wires.push(Wire { ends: WireEnds::Trunk(i), points, trunk: true, ports: false });
    }
    let first = doors.first().copied().unwrap_or_default();
    let last = doors.last().copied().unwrap_or_default();
    let source = if count == 1 { door_bottom } else { bus };
    if count > 1 {
        let points = vec![
            (first.middle(), door_bottom),
            (first.middle(), bus),
            (last.middle(), bus),
            (last.middle(), door_bottom),
        ];
        wires.push(Wire { ends: WireEnds::Bus, points, trunk: false, ports: true });
        wires.push(Wire {
            ends: WireEnds::Kubectl,
            points: vec![(first.middle() + RADIUS, bus), (-2000.0, bus)],
            trunk: false,
            ports: false,
        });
    } else {
        wires.push(Wire {
            ends: WireEnds::Kubectl,
            points: vec![(first.x, kubectl_y), (-2000.0, kubectl_y)],
            trunk: false,
            ports: true,
        });
    }
    let under_door = |x: f64| x.clamp(first.x + 20.0, last.right() - 20.0);
    for (ends, card) in [(WireEnds::Manager, managers), (WireEnds::Scheduler, scheduler)] {
        let x = under_door(card.middle());
        let x = x.clamp(card.x + 16.0, card.right() - 16.0);
        wires.push(Wire { ends, points: vec![(x, source), (x, card.y)], trunk: false, ports: true });
    }
    if let Some(cloud) = cloud {
        let x = cloud.x - 12.0;
        let y = (cloud.y + cloud.h / 2.0).round();
        wires.push(Wire {
            ends: WireEnds::Cloud,
            points: vec![(x, source), (x, y), (cloud.x, y)],
            trunk: false,
            ports: true,
        });
    }
    let in_row = per_row.min(counts.columns).max(1);
    let spread = if in_row > 1 { LANE.min((channel - 16.0) / (in_row - 1) as f64) } else { LANE };
    for (i, column) in columns.iter().enumerate() {
        let (row, col) = (i / per_row.max(1), i % per_row.max(1));
        let x = (middle + (col as f64 - (in_row as f64 - 1.0) / 2.0) * spread).round();
        let target = column.middle();
        // Lines turn at heights of their own when there are many, so that none runs over another.
        let mut points = vec![(x, source)];
        if row == 0 {
            if (x - target).abs() > 1.0 {
                points.extend([(x, bend), (target, bend)]);
            }
            let x = if (x - target).abs() > 1.0 { target } else { x };
            points.push((x, column.y));
        } else {
            let alley = if col + 1 < in_row { column.right() + gap / 2.0 } else { column.x - gap / 2.0 };
            let turn = column.y - row_gap / 2.0;
            points.extend([(x, bend), (alley, bend), (alley, turn), (target, turn), (target, column.y)]);
        }
        wires.push(Wire { ends: WireEnds::Column(i), points, trunk: false, ports: true });
    }

    Plan {
        room,
        width,
        height: bottom.max(height),
        etcd,
        doors,
        wall,
        kubectl_y,
        managers,
        scheduler,
        cloud,
        bend,
        columns,
        wires,
    }
}

fn columns_per_row(width: f64, margin: f64, gap: f64, counts: &Counts) -> usize {
    let least = if counts.dense {
        150.0
    } else if width < 620.0 {
        140.0
    } else {
        186.0
    };
    let fit = ((width - 2.0 * margin + gap) / (least + gap)).floor().max(1.0) as usize;
    if counts.columns <= fit {
        return counts.columns.max(1);
    }
    // Even rows look calmer than one full and one nearly empty.
    let rows = counts.columns.div_ceil(fit);
    counts.columns.div_ceil(rows)
}

impl Plan {
    /// The way of a message from one place to another, or `None` where no line is drawn. `column` says in which column
    /// a node stands.
    pub fn way(&self, from: Place, to: Place, column: impl Fn(u32) -> Option<usize>) -> Option<Vec<(f64, f64)>> {
        let ends = |place: Place| match place {
            Place::ApiServer(_) => None,
            Place::Kubectl => Some(WireEnds::Kubectl),
            Place::ControllerManager(_) => Some(WireEnds::Manager),
            Place::Scheduler(_) => Some(WireEnds::Scheduler),
            Place::CloudControllerManager(_) => Some(WireEnds::Cloud),
            Place::Node(id) => column(id).map(WireEnds::Column),
            Place::Etcd(_) => None,
        };
        let (door, other, outward) = match (from, to) {
            (Place::ApiServer(i), other) => (usize::from(i), other, true),
            (other, Place::ApiServer(i)) => (usize::from(i), other, false),
            _ => return None,
        };
        let wire = match other {
            Place::Etcd(_) => WireEnds::Trunk(door),
            other => ends(other)?,
        };
        let mut points = self.wires.iter().find(|w| w.ends == wire)?.points.clone();
        // kubectl's line comes from far outside; a light starts at the map's edge.
        if wire == WireEnds::Kubectl
            && let Some(end) = points.last_mut()
        {
            end.0 = end.0.max(-24.0);
        }
        // With several API servers the line begins at the bus: lead it to the door.
        if self.doors.len() > 1
            && !matches!(wire, WireEnds::Trunk(_))
            && let (Some(rect), Some(&(x, y))) = (self.doors.get(door), points.first())
        {
            let mut led = vec![(rect.middle(), rect.bottom()), (rect.middle(), y)];
            led.push((x, y));
            led.extend(points.into_iter().skip(1));
            points = led;
        }
        if !outward {
            points.reverse();
        }
        Some(points)
    }

    /// The line that a message between two places uses.
    pub fn wire_of(&self, from: Place, to: Place, column: impl Fn(u32) -> Option<usize>) -> Option<WireEnds> {
        let (door, other) = match (from, to) {
            (Place::ApiServer(i), other) | (other, Place::ApiServer(i)) => (usize::from(i), other),
            _ => return None,
        };
        Some(match other {
            Place::Etcd(_) => WireEnds::Trunk(door),
            Place::Kubectl => WireEnds::Kubectl,
            Place::ControllerManager(_) => WireEnds::Manager,
            Place::Scheduler(_) => WireEnds::Scheduler,
            Place::CloudControllerManager(_) => WireEnds::Cloud,
            Place::Node(id) => WireEnds::Column(column(id)?),
            Place::ApiServer(_) => return None,
        })
    }
}

/// An SVG path through orthogonal corners, rounded.
pub fn path(points: &[(f64, f64)]) -> String {
    let mut out = String::new();
    let Some(&(x, y)) = points.first() else { return out };
    out.push_str(&format!("M{} {}", n(x), n(y)));
    for window in points.windows(3) {
        let &[(ax, ay), (bx, by), (cx, cy)] = window else { continue };
        let (before, after) = ((bx - ax).hypot(by - ay), (cx - bx).hypot(cy - by));
        let r = RADIUS.min(before / 2.0).min(after / 2.0);
        if r < 0.5 {
            out.push_str(&format!("L{} {}", n(bx), n(by)));
            continue;
        }
        let (ux, uy) = ((bx - ax) / before, (by - ay) / before);
        let (vx, vy) = ((cx - bx) / after, (cy - by) / after);
        out.push_str(&format!(
            "L{} {}Q{} {} {} {}",
            n(bx - ux * r),
            n(by - uy * r),
            n(bx),
            n(by),
            n(bx + vx * r),
            n(by + vy * r)
        ));
    }
    if let Some(&(x, y)) = points.get(points.len().max(2) - 1) {
        out.push_str(&format!("L{} {}", n(x), n(y)));
    }
    out
}

/// One side of a double line: shifted by `d` to the right of its direction.
pub fn beside(points: &[(f64, f64)], d: f64) -> Vec<(f64, f64)> {
    // Each stretch is level or upright: an upright one moves across, a level one up or down; a corner does both.
    let shift = |a: (f64, f64), b: (f64, f64)| {
        let (dx, dy) = ((b.0 - a.0).signum(), (b.1 - a.1).signum());
        if (a.0 - b.0).abs() < 0.5 { (-dy * d, 0.0) } else { (0.0, dx * d) }
    };
    points
        .iter()
        .enumerate()
        .map(|(i, &(x, y))| {
            let before = i.checked_sub(1).and_then(|j| points.get(j)).map(|&p| shift(p, (x, y)));
            let after = points.get(i + 1).map(|&p| shift((x, y), p));
            let ((ax, ay), (bx, by)) = (before.or(after).unwrap_or_default(), after.or(before).unwrap_or_default());
            let pick = |a: f64, b: f64| if a == 0.0 { b } else { a };
            (x + pick(ax, bx), y + pick(ay, by))
        })
        .collect()
}

/// The middle of the longest level stretch: where a line's label stands.
pub fn label_place(points: &[(f64, f64)]) -> (f64, f64) {
    let mut best = points.first().copied().unwrap_or_default();
    let mut longest = -1.0;
    for pair in points.windows(2) {
        let &[(ax, ay), (bx, by)] = pair else { continue };
        let level = (ay - by).abs() < 0.5;
        let length = (ax - bx).abs() + (ay - by).abs() + if level { 1000.0 } else { 0.0 };
        if length > longest {
            longest = length;
            best = (((ax + bx) / 2.0).round(), ((ay + by) / 2.0).round());
        }
    }
    best
}

/// A number without needless digits.
pub fn n(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    if rounded.fract() == 0.0 { format!("{}", rounded as i64) } else { format!("{rounded}") }
}

/// How the pods of a node's card are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodSize {
    /// A chip a line.
    Chips,
    /// Small chips, several a line.
    Minis,
    /// Dots.
    Dots,
}

/// What fits in a card of this size under its `head` (title and bars), with `own` pods and `household` ones.
pub fn pod_size(w: f64, h: f64, head: f64, own: usize, household: usize) -> PodSize {
    let per_line = ((w - 20.0) / 118.0).floor().max(1.0);
    let small = if household == 0 { 0.0 } else { 20.0 + 24.0 * (household as f64 / per_line).ceil() };
    let free = h - head - 10.0 - small;
    if own as f64 * 28.0 <= free {
        PodSize::Chips
    } else if (own as f64 / ((w - 20.0) / 84.0).floor().max(1.0)).ceil() * 24.0 <= free {
        PodSize::Minis
    } else {
        PodSize::Dots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(members: usize, doors: usize, columns: usize) -> Counts {
        Counts { members, doors, columns, dense: false, cloud: false, column_height: 0.0 }
    }

    #[test]
    fn the_main_map_stands_as_drawn() {
        let plan = plan(1056.0, 604.0, &counts(3, 1, 3));
        assert_eq!(plan.room, Room::Wide);
        assert_eq!(plan.etcd.h, 102.0);
        assert_eq!((plan.doors[0].y, plan.wall, plan.kubectl_y), (144.0, 169.0, 194.0));
        assert_eq!((plan.managers, plan.scheduler.x), (Rect { x: 24.0, y: 242.0, w: 456.0, h: 140.0 }, 576.0));
        assert_eq!((plan.bend, plan.columns[0].y, plan.columns[0].w), (398.0, 420.0, 325.0));
        assert_eq!(plan.height, 604.0);
    }

    #[test]
    fn the_embedded_map_stands_as_drawn() {
        let plan = plan(496.0, 486.0, &counts(3, 1, 3));
        assert_eq!(plan.room, Room::Compact);
        assert_eq!(plan.etcd, Rect { x: 62.0, y: 16.0, w: 372.0, h: 88.0 });
        assert_eq!((plan.doors[0].y, plan.wall), (116.0, 136.0));
        assert_eq!(plan.managers, Rect { x: 12.0, y: 190.0, w: 210.0, h: 68.0 });
        assert_eq!((plan.bend, plan.columns[0].y, plan.columns[0].w), (270.0, 286.0, 152.0));
    }

    #[test]
    fn nothing_overlaps_or_leaves_the_map() {
        for width in [320.0, 360.0, 496.0, 640.0, 736.0, 904.0, 1056.0, 1392.0, 2500.0] {
            for (members, doors, columns) in [(1, 1, 1), (1, 1, 3), (3, 3, 3), (5, 5, 12), (1, 1, 12), (3, 3, 7)] {
                for dense in [false, true] {
                    let counts = Counts { dense, cloud: doors > 1, ..counts(members, doors, columns) };
                    let plan = plan(width, 500.0, &counts);
                    let mut all = vec![plan.etcd, plan.managers, plan.scheduler];
                    all.extend(plan.doors.iter().chain(&plan.columns).chain(&plan.cloud));
                    for (i, a) in all.iter().enumerate() {
                        assert!(
                            a.x >= 0.0 && a.right() <= plan.width + 0.5 && a.bottom() <= plan.height,
                            "{width} {a:?}"
                        );
                        assert!(a.w > 40.0, "{width} {counts:?} {a:?}");
                        for b in &all[i + 1..] {
                            let apart = a.right() <= b.x || b.right() <= a.x || a.bottom() <= b.y || b.bottom() <= a.y;
                            assert!(apart, "{width} {counts:?}: {a:?} over {b:?}");
                        }
                    }
                    for wire in &plan.wires {
                        for pair in wire.points.windows(2) {
                            assert!(pair[0].0 == pair[1].0 || pair[0].1 == pair[1].1, "{wire:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn messages_find_their_way_in_both_directions() {
        let plan = plan(1056.0, 604.0, &counts(3, 3, 3));
        let column = |id: u32| (id < 3).then_some(id as usize);
        let out = plan.way(Place::ApiServer(2), Place::Node(0), column).unwrap();
        let mut back = plan.way(Place::Node(0), Place::ApiServer(2), column).unwrap();
        back.reverse();
        assert_eq!(out, back);
        assert_eq!(out.first().unwrap().0, plan.doors[2].middle());
        assert_eq!(out.last().unwrap().1, plan.columns[0].y);
        assert!(plan.way(Place::ApiServer(0), Place::Etcd(1), column).is_some());
        assert!(plan.way(Place::Etcd(0), Place::Etcd(1), column).is_none());
        assert!(plan.way(Place::Node(9), Place::ApiServer(0), column).is_none());
        assert!(plan.way(Place::Node(0), Place::ApiServer(7), column).is_some());
    }

    #[test]
    fn paths_are_rounded() {
        assert_eq!(
            path(&[(514.0, 206.0), (514.0, 386.0), (186.0, 386.0), (186.0, 408.0)]),
            "M514 206L514 377Q514 386 505 386L195 386Q186 386 186 395L186 408"
        );
        assert_eq!(path(&[(1.0, 2.0), (1.0, 9.0)]), "M1 2L1 9");
        assert_eq!(path(&[]), "");
        assert_eq!(label_place(&[(514.0, 206.0), (514.0, 386.0), (186.0, 386.0), (186.0, 408.0)]), (350.0, 386.0));
    }

    #[test]
    fn double_lines_stay_apart_around_corners() {
        let bent = [(100.0, 50.0), (100.0, 40.0), (200.0, 40.0), (200.0, 10.0)];
        assert_eq!(beside(&bent, 5.0), [(105.0, 50.0), (105.0, 45.0), (205.0, 45.0), (205.0, 10.0)]);
        assert_eq!(beside(&[(1.0, 9.0), (1.0, 2.0)], -5.0), [(-4.0, 9.0), (-4.0, 2.0)]);
    }

    #[test]
    fn pods_shrink_as_they_grow_in_number() {
        assert_eq!(pod_size(325.0, 180.0, 64.0, 1, 2), PodSize::Chips);
        assert_eq!(pod_size(325.0, 180.0, 64.0, 5, 2), PodSize::Minis);
        assert_eq!(pod_size(325.0, 180.0, 64.0, 60, 2), PodSize::Dots);
    }
}
