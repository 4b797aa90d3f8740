//! `pod-template-hash` (`ComputeHash`): fnv-1a over a dump of the template as Go's spew prints it, in letters that spell
//! nothing. The dump has every field of every Go struct, so the hash is that of one release.

use std::fmt::Write;

use api::core_v1::PodTemplateSpec;
use api::object::{Object, Ref};

use super::go_types::STRUCTS;

/// The hash of a template; `collision_count` gives another when a name is taken.
pub fn compute_hash(template: &PodTemplateSpec, collision_count: Option<i32>) -> String {
    let mut hash = Fnv32(0x811c_9dc5);
    hash.write(dump(template).as_bytes());
    if let Some(count) = collision_count {
        hash.write(&count.to_le_bytes());
        hash.write(&[0; 4]);
    }
    api::names::safe_encode(&hash.0.to_string())
}

/// 32-bit FNV-1a.
struct Fnv32(u32);

impl Fnv32 {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        }
    }
}

/// What `dump.ForHash` prints.
fn dump(template: &PodTemplateSpec) -> String {
    let mut out = String::with_capacity(4096);
    out.push_str("(v1.PodTemplateSpec)");
    fields(&mut out, "v1.PodTemplateSpec", template);
    out
}

/// A struct's fields in braces; inlined structs read theirs from the same object.
fn fields(out: &mut String, go: &str, object: &dyn Object) {
    let found = STRUCTS.binary_search_by(|(name, _)| (*name).cmp(go)).ok().and_then(|i| STRUCTS.get(i));
    out.push('{');
    for (i, (name, json, type_)) in found.iter().flat_map(|(_, rows)| rows.iter()).enumerate() {
        if i > 0 {
            out.push(' ');
        }
        let _ = write!(out, "{name}:({type_})");
        if json.is_empty() {
            fields(out, type_, object);
        } else {
            value(out, type_, object.field(json).unwrap_or(Ref::Nil));
        }
    }
    out.push('}');
}

/// A value without its type.
fn value(out: &mut String, type_: &str, r: Ref<'_>) {
    if let Some(pointed) = type_.strip_prefix('*') {
        return pointer(out, pointed, r);
    }
    if let Some(element) = type_.strip_prefix("[]") {
        return match r {
            Ref::List(list) if !list.is_empty() => {
                out.push('[');
                for i in 0..list.len() {
                    if i > 0 {
                        out.push(' ');
                    }
                    value(out, element, list.item(i));
                }
                out.push(']');
            }
            _ => out.push_str("<nil>"),
        };
    }
    let element =
        if type_ == "v1.ResourceList" { Some("resource.Quantity") } else { type_.strip_prefix("map[string]") };
    if let Some(element) = element {
        return match r {
            Ref::Map(map) if !map.is_empty() => {
                out.push_str("map[");
                for (key, item) in (0..map.len()).filter_map(|i| map.entry(i)) {
                    if !out.ends_with('[') {
                        out.push(' ');
                    }
                    out.push_str(key);
                    out.push(':');
                    value(out, element, item);
                }
                out.push(']');
            }
            _ => out.push_str("<nil>"),
        };
    }
    let _ = match r {
        Ref::Struct(object) => return fields(out, type_, object),
        Ref::Str(s) => write!(out, "{s}"),
        Ref::Bool(b) => write!(out, "{b}"),
        Ref::I32(n) => write!(out, "{n}"),
        Ref::I64(n) => write!(out, "{n}"),
        // A template's own times are never set.
        Ref::Time(_) => write!(out, "{{Time:(time.Time){{wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}}}"),
        Ref::Quantity(q) => return quantity(out, &q.to_string()),
        Ref::IntOrString(api::IntOrString::Int(n)) => {
            write!(out, "{{Type:(intstr.Type)0 IntVal:(int32){n} StrVal:(string)}}")
        }
        Ref::IntOrString(api::IntOrString::Str(s)) => {
            write!(out, "{{Type:(intstr.Type)1 IntVal:(int32)0 StrVal:(string){s}}}")
        }
        // Fields that this object model keeps as Go pointers though Go has values, and the reverse, do not occur.
        _ => Ok(()),
    };
}

fn pointer(out: &mut String, type_: &str, r: Ref<'_>) {
    let text = match r {
        Ref::Ptr(p) => match p.get() {
            Some(object) => return fields(out, type_, object),
            None => None,
        },
        Ref::Struct(object) => return fields(out, type_, object),
        Ref::OStr(s) => s.get().map(str::to_string),
        Ref::OBool(b) => b.map(|b| b.to_string()),
        Ref::OI32(n) => n.map(|n| n.to_string()),
        Ref::OI64(n) => n.map(|n| n.to_string()),
        Ref::OQuantity(Some(q)) => return quantity(out, &q.to_string()),
        Ref::OIntOrString(Some(v)) => return value(out, type_, Ref::IntOrString(v)),
        _ => None,
    };
    out.push_str(text.as_deref().unwrap_or("<nil>"));
}

/// A quantity as Go holds it after reading its canonical form (`resource.ParseQuantity`).
fn quantity(out: &mut String, text: &str) {
    let (mut value, mut scale, mut kept, mut format) = (0i64, 0i32, true, "DecimalSI");
    if text != "0" {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let shifted = format!("{whole}{fraction}");
        let digits: i64 = shifted.parse().unwrap_or(0);
        let binary = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].iter().position(|s| *s == suffix);
        let decimal = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"].iter().position(|s| *s == suffix);
        if let Some(power) = binary {
            format = "BinarySI";
            value = digits.saturating_mul(1i64.checked_shl(10 * (power as u32 + 1)).unwrap_or(i64::MAX));
            kept = digits & 7 != 0;
        } else {
            let exponent = match decimal {
                Some(step) => 3 * (step as i32) - 9,
                None => {
                    format = "DecimalExponent";
                    suffix.get(1..).and_then(|e| e.parse().ok()).unwrap_or(0)
                }
            };
            value = digits;
            scale = exponent - fraction.len() as i32;
            kept = scale % 3 == 0 && !shifted.ends_with("000") && !shifted.starts_with('0');
        }
        if negative {
            value = -value;
        }
    }
    let _ = write!(
        out,
        "{{i:(resource.int64Amount){{value:(int64){value} scale:(resource.Scale){scale}}} \
         d:(resource.infDecAmount){{Dec:(*inf.Dec)<nil>}} s:(string){} Format:(resource.Format){format}}}",
        if kept { text } else { "" }
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(json: &str) -> String {
        let mut template = PodTemplateSpec::default();
        assert!(api::json::decode(json.as_bytes(), &mut template, true).is_ok());
        compute_hash(&template, None)
    }

    /// Hashes that Go's own code computes.
    #[test]
    fn hashes_are_those_of_a_real_cluster() {
        let web = r#"{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"image":"nginx:1.27","imagePullPolicy":"IfNotPresent","name":"nginx","ports":[{"containerPort":80,"protocol":"TCP"}],"resources":{"limits":{"memory":"128Mi"},"requests":{"cpu":"100m","memory":"64Mi"}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}}"#;
        assert_eq!(hash(web), "5487f79886");
        let bare = r#"{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"image":"nginx:1.27","imagePullPolicy":"IfNotPresent","name":"nginx","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}}"#;
        assert_eq!(hash(bare), "69c6f74b8b");
        let full = r#"{"metadata":{"labels":{"app":"x","tier":"b"},"annotations":{"a":"1"}},"spec":{"containers":[{"image":"busybox","name":"c","command":["sh","-c","echo a b"],"env":[{"name":"A","value":"1"},{"name":"B","valueFrom":{"configMapKeyRef":{"name":"cm","key":"k"}}}],"livenessProbe":{"httpGet":{"path":"/","port":80,"scheme":"HTTP"},"periodSeconds":10,"timeoutSeconds":1},"readinessProbe":{"tcpSocket":{"port":"http"}},"resources":{"limits":{"cpu":"1500m","memory":"1Gi"},"requests":{"cpu":"1","memory":"100Mi","ephemeral-storage":"1M"}},"volumeMounts":[{"name":"v","mountPath":"/v","readOnly":true}],"securityContext":{"runAsUser":1000,"capabilities":{"add":["NET_ADMIN"]}}}],"volumes":[{"name":"v","emptyDir":{"sizeLimit":"1Gi"}},{"name":"w","configMap":{"name":"cm","defaultMode":420,"items":[{"key":"k","path":"p"}]}}],"tolerations":[{"key":"k","operator":"Exists","tolerationSeconds":30}],"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":{"labelSelector":{"matchLabels":{"app":"x"}},"topologyKey":"kubernetes.io/hostname"}}]}},"nodeSelector":{"disk":"ssd"},"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchExpressions":[{"key":"app","operator":"In","values":["x","y"]}]}}],"restartPolicy":"Always","securityContext":{"supplementalGroups":[1,2]}}}"#;
        assert_eq!(hash(full), "6554947957");
    }

    #[test]
    fn a_collision_gives_another() {
        let template = PodTemplateSpec::default();
        assert_ne!(compute_hash(&template, None), compute_hash(&template, Some(1)));
    }
}
