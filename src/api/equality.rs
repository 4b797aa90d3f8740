//! Equality of objects.
use crate::object::{Object, Ref};

/// Semantic equality, as apimachinery's `equality.Semantic.DeepEqual`: nil lists and maps equal empty ones, quantities
/// are compared by amount. Shared parts are equal without a look.
pub fn semantic(a: &dyn Object, b: &dyn Object) -> bool {
    if std::ptr::addr_eq(a, b) {
        return true;
    }
    a.desc() == b.desc() && (0..a.desc().fields.len()).all(|i| values(a.get(i), b.get(i)))
}

/// Semantic equality of two values of one type.
pub fn values(a: Ref<'_>, b: Ref<'_>) -> bool {
    match (a, b) {
        (Ref::Str(a), Ref::Str(b)) => a == b,
        (Ref::OStr(a), Ref::OStr(b)) => a == b,
        (Ref::Bool(a), Ref::Bool(b)) => a == b,
        (Ref::OBool(a), Ref::OBool(b)) => a == b,
        (Ref::I32(a), Ref::I32(b)) => a == b,
        (Ref::OI32(a), Ref::OI32(b)) => a == b,
        (Ref::I64(a), Ref::I64(b)) => a == b,
        (Ref::OI64(a), Ref::OI64(b)) => a == b,
        (Ref::OF64(a), Ref::OF64(b)) => a == b,
        (Ref::Time(a), Ref::Time(b)) => a == b,
        (Ref::MicroTime(a), Ref::MicroTime(b)) => a == b,
        (Ref::Quantity(a), Ref::Quantity(b)) => a == b,
        (Ref::OQuantity(a), Ref::OQuantity(b)) => a == b,
        (Ref::IntOrString(a), Ref::IntOrString(b)) => a == b,
        (Ref::OIntOrString(a), Ref::OIntOrString(b)) => a == b,
        (Ref::Bytes(a), Ref::Bytes(b)) => a == b,
        (Ref::Raw(a), Ref::Raw(b)) => a == b,
        (Ref::Struct(a), Ref::Struct(b)) => semantic(a, b),
        (Ref::Ptr(a), Ref::Ptr(b)) => match (a.get(), b.get()) {
            (Some(x), Some(y)) => a.address() == b.address() || semantic(x, y),
            (None, None) => true,
            _ => false,
        },
        (Ref::List(a), Ref::List(b)) => {
            a.len() == b.len()
                && (a.is_empty() || a.address() == b.address() || (0..a.len()).all(|i| values(a.item(i), b.item(i))))
        }
        (Ref::Map(a), Ref::Map(b)) => {
            a.len() == b.len()
                && (a.is_empty()
                    || a.address() == b.address()
                    || (0..a.len()).all(|i| match (a.entry(i), b.entry(i)) {
                        (Some((k, v)), Some((l, w))) => k == l && values(v, w),
                        _ => false,
                    }))
        }
        (a, b) => a.is_empty() && b.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use crate::core_v1::Pod;
    use crate::value::{List, Map, Quantity};

    #[test]
    fn semantic_equality() {
        let mut a = Pod::default();
        let mut b = a.clone();
        a.metadata.labels = Map::empty();
        a.spec.make().containers = List::from([Default::default()]);
        b.spec.make().containers = List::from([Default::default()]);
        let quantity = |q: &str| Map::from([("cpu", Quantity::parse(q).unwrap_or_default())]);
        a.spec.make().containers.make()[0].resources.requests = quantity("1");
        b.spec.make().containers.make()[0].resources.requests = quantity("1000m");
        assert_eq!(a, b);
        b.spec.make().containers.make()[0].resources.requests = quantity("2");
        assert_ne!(a, b);
    }
}
