//! How names are found in a pod: its `/etc/resolv.conf` (pkg/kubelet/network/dns) and its `/etc/hosts`
//! (pkg/kubelet/kubelet_pods.go).

use super::kubelet::Kubelet;
use super::sync::hostname;
use api::core_v1::Pod;
use api::{Rev, Str};
use std::fmt::Write;

/// The address at which a cluster's names would be answered.
const CLUSTER_DNS: &str = "10.96.0.10";
/// The domain of the cluster's names.
const DOMAIN: &str = "cluster.local";
/// Who answers the node's own questions.
const NODE_DNS: &str = "172.18.0.1";
/// Servers that a resolver asks at most.
const SERVERS: usize = 3;
/// Domains that it tries at most, and how long the line of them may be.
const SEARCHES: usize = 32;
const SEARCH_LINE: usize = 2048;

/// Domains to try, servers to ask, options.
#[derive(Default)]
struct Resolver {
    searches: Vec<String>,
    servers: Vec<String>,
    options: Vec<(String, String)>,
}

fn without_duplicates(list: &mut Vec<String>, more: &[Str]) {
    for one in more {
        if !list.iter().any(|known| **known == **one) {
            list.push(one.to_string());
        }
    }
}

impl Resolver {
    /// What the pod's policy and its own configuration make of it (`GetPodDNS`).
    fn of(pod: &Pod) -> Self {
        let of_cluster = match &*pod.spec.dns_policy {
            "ClusterFirstWithHostNet" => true,
            "Default" | "None" => false,
            _ => !pod.spec.host_network,
        };
        let mut resolver = Self::default();
        if of_cluster {
            let services = format!("svc.{DOMAIN}");
            resolver.searches = vec![format!("{}.{services}", pod.metadata.namespace), services, DOMAIN.to_string()];
            resolver.servers = vec![CLUSTER_DNS.to_string()];
            resolver.options = vec![("ndots".to_string(), "5".to_string())];
        } else if pod.spec.dns_policy != "None" {
            resolver.servers = vec![NODE_DNS.to_string()];
        }
        if let Some(own) = pod.spec.dns_config.get() {
            without_duplicates(&mut resolver.servers, &own.nameservers);
            without_duplicates(&mut resolver.searches, &own.searches);
            for option in own.options.iter() {
                let value = option.value.get().unwrap_or_default().to_string();
                match resolver.options.iter_mut().find(|(name, _)| **name == *option.name) {
                    Some((_, known)) => *known = value,
                    None => resolver.options.push((option.name.to_string(), value)),
                }
            }
        }
        resolver
    }

    /// Leaves out what resolvers would not read; what is said of that (`formDNSConfigFitsLimits`).
    fn cut(&mut self) -> Vec<String> {
        let mut said = Vec::new();
        if self.servers.len() > SERVERS {
            self.servers.truncate(SERVERS);
            said.push(format!(
                "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: {}",
                self.servers.join(" ")
            ));
        }
        let all = self.searches.len();
        self.searches.truncate(SEARCHES);
        while self.searches.join(" ").len() > SEARCH_LINE {
            self.searches.pop();
        }
        if self.searches.len() < all {
            said.push(format!(
                "Search Line limits were exceeded, some search paths have been omitted, the applied search line is: {}",
                self.searches.join(" ")
            ));
        }
        said
    }

    /// The file, as the runtime writes it.
    fn file(&self) -> String {
        let mut text = String::new();
        if !self.searches.is_empty() {
            let _ = writeln!(text, "search {}", self.searches.join(" "));
        }
        for server in &self.servers {
            let _ = writeln!(text, "nameserver {server}");
        }
        if !self.options.is_empty() {
            let option = |(name, value): &(String, String)| match value.is_empty() {
                true => name.clone(),
                false => format!("{name}:{value}"),
            };
            let _ = writeln!(text, "options {}", self.options.iter().map(option).collect::<Vec<_>>().join(" "));
        }
        text
    }
}

/// The content of `/etc/resolv.conf`; tells of what is left out.
pub fn resolv_conf(kubelet: &Kubelet, pod: &Rev<Pod>) -> String {
    let mut resolver = Resolver::of(pod);
    for text in resolver.cut() {
        kubelet.event(pod, None, "Warning", "DNSConfigForming", &text);
    }
    resolver.file()
}

/// The content of `/etc/hosts`: the pod's own, or its node's, with what the pod adds.
pub fn hosts(pod: &Pod, node: &Str, node_ip: &str, ip: &str) -> String {
    let mut text;
    if pod.spec.host_network {
        text = format!("# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n{node_ip} {node}\n");
    } else {
        text = "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n\
                fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n"
            .to_string();
        let name = hostname(pod, node);
        let whole = match &*pod.spec.subdomain {
            domain if domain.is_empty() || pod.spec.hostname_override.is_some() => String::new(),
            domain => format!("{name}.{domain}.{}.svc.{DOMAIN}\t", pod.metadata.namespace),
        };
        let _ = writeln!(text, "{ip}\t{whole}{name}");
    }
    if !pod.spec.host_aliases.is_empty() {
        text.push_str("\n# Entries added by HostAliases.\n");
        for alias in pod.spec.host_aliases.iter() {
            let names: Vec<&str> = alias.hostnames.iter().map(|n| &**n).collect();
            let _ = writeln!(text, "{}\t{}", alias.ip, names.join("\t"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::core_v1::{HostAlias, PodDNSConfigOption};
    use api::{List, OStr};

    fn pod(policy: &str, host_network: bool) -> Pod {
        let mut pod = Pod::default();
        (pod.metadata.name, pod.metadata.namespace) = ("p".into(), "sn".into());
        let spec = pod.spec.make();
        (spec.dns_policy, spec.host_network) = (policy.into(), host_network);
        pod
    }

    fn configured(mut pod: Pod, servers: &[&str], searches: &[&str]) -> Pod {
        let strings = |list: &[&str]| list.iter().map(|s| Str::from(*s)).collect::<List<Str>>();
        let config = pod.spec.make().dns_config.make();
        (config.nameservers, config.searches) = (strings(servers), strings(searches));
        let option = |name: &str, value: OStr| PodDNSConfigOption { name: name.into(), value };
        config.options = [option("ndots", OStr::some("2")), option("edns0", OStr::none())].into();
        pod
    }

    /// As pods of a real cluster read it.
    #[test]
    fn every_policy() {
        let file = |pod: &Pod| Resolver::of(pod).file();
        let cluster = "search sn.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\n\
                       options ndots:5\n";
        assert_eq!(file(&pod("ClusterFirst", false)), cluster);
        assert_eq!(file(&pod("ClusterFirstWithHostNet", true)), cluster);
        assert_eq!(file(&pod("ClusterFirst", true)), "nameserver 172.18.0.1\n");
        assert_eq!(file(&pod("Default", false)), "nameserver 172.18.0.1\n");
        let own = configured(pod("None", false), &["1.2.3.4", "1.2.3.5"], &["my.example"]);
        let text = "search my.example\nnameserver 1.2.3.4\nnameserver 1.2.3.5\noptions ndots:2 edns0\n";
        assert_eq!(file(&own), text);
        let both = configured(pod("ClusterFirst", false), &["1.2.3.4", "10.96.0.10"], &["my.example", "cluster.local"]);
        let text = "search sn.svc.cluster.local svc.cluster.local cluster.local my.example\nnameserver 10.96.0.10\n\
                    nameserver 1.2.3.4\noptions ndots:2 edns0\n";
        assert_eq!(file(&both), text);
    }

    #[test]
    fn no_more_than_resolvers_read() {
        let many = configured(pod("ClusterFirst", false), &["1.1.1.1", "1.1.1.2", "1.1.1.3"], &[]);
        let mut resolver = Resolver::of(&many);
        let text = "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line \
                    is: 10.96.0.10 1.1.1.1 1.1.1.2";
        assert_eq!(resolver.cut(), [text]);
        let domains: Vec<String> = (0..32).map(|i| format!("d{i}.example")).collect();
        let many = configured(pod("None", false), &[], &domains.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(Resolver::of(&many).cut().is_empty());
        let many = configured(pod("ClusterFirst", false), &[], &domains.iter().map(String::as_str).collect::<Vec<_>>());
        let mut resolver = Resolver::of(&many);
        assert_eq!((resolver.cut().len(), resolver.searches.len()), (1, 32));
    }

    #[test]
    fn hosts_of_pods_and_of_nodes() {
        let of = |pod: &Pod| hosts(pod, &"node-1".into(), "172.18.0.11", "10.244.0.5");
        let text = "# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n172.18.0.11 node-1\n";
        assert_eq!(of(&pod("", true)), text);
        assert!(of(&pod("", false)).ends_with("\tip6-allrouters\n10.244.0.5\tp\n"));
        let mut known = pod("", false);
        let spec = known.spec.make();
        (spec.hostname, spec.subdomain) = ("db-0".into(), "db".into());
        spec.host_aliases = [HostAlias { ip: "1.2.3.4".into(), hostnames: ["a".into(), "b".into()].into() }].into();
        let text =
            "\n10.244.0.5\tdb-0.db.sn.svc.cluster.local\tdb-0\n\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n";
        assert!(of(&known).ends_with(text), "{}", of(&known));
    }
}
