//! What goes wrong: lines of the fault command at drawn moments, and the lines that end them.

use sim::{Duration, Rng};

/// Lines of the fault command with the time since the start at which each is given, in order.
pub fn schedule(seed: u64, length: Duration) -> Vec<(Duration, String)> {
    let mut rng = Rng::split(seed, "faults");
    let mut lines = Vec::new();
    let mut at = Duration::from_secs(5);
    while at < length {
        let pick = |rng: &mut Rng, list: &[&str]| list.get(rng.index(list.len())).map_or("", |name| name).to_string();
        let process = [
            "etcd",
            "kube-apiserver",
            "kube-controller-manager-1",
            "kube-controller-manager-2",
            "kube-scheduler-1",
            "kube-scheduler-2",
            "node-1/kubelet",
            "node-2/kubelet",
            "node-3/kubelet",
        ];
        let node = ["node-1", "node-2", "node-3"];
        let (begin, end, longest) = match rng.below(10) {
            0..=3 => {
                let name = pick(&mut rng, &process);
                (format!("kill {name}"), format!("start {name}"), 20)
            }
            4 => {
                let name = pick(&mut rng, &process);
                (format!("stop {name}"), format!("start {name}"), 20)
            }
            5 | 6 => {
                let name = pick(&mut rng, &node);
                (format!("kill {name}"), format!("start {name}"), 120)
            }
            7 | 8 => {
                let name = pick(&mut rng, &node);
                (format!("cut {name} kube-apiserver"), format!("heal {name} kube-apiserver"), 90)
            }
            _ => ("slow etcd disk 300ms".to_string(), "slow etcd disk 0".to_string(), 30),
        };
        let lasts = Duration::from_millis(u64::from(500 + rng.below(longest * 1000)));
        lines.push((at, begin));
        lines.push(((at + lasts).min(length), end));
        at += Duration::from_millis(u64::from(1_000 + rng.below(20_000)));
    }
    lines.sort_by_key(|(at, _)| *at);
    lines
}
