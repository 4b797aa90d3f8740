//! Users, as authentication finds them.

use std::rc::Rc;

use api::Str;

/// `system:masters` may do anything; authorization asks nobody.
pub const MASTERS: &str = "system:masters";
/// Everybody who proved who he is.
pub const AUTHENTICATED: &str = "system:authenticated";
/// Everybody else.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of a user who showed nothing.
pub const ANONYMOUS: &str = "system:anonymous";
/// All service accounts.
pub const SERVICE_ACCOUNTS: &str = "system:serviceaccounts";

/// A user.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct User {
    /// The name: `kubernetes-admin`, `system:node:node-1`, `system:serviceaccount:default:robot`.
    pub name: Str,
    /// Unique over time where the authenticator knows one (a service account's uid).
    pub uid: Str,
    /// The groups, in the order the authenticator gave them.
    pub groups: Vec<Str>,
    /// More that the authenticator knows: key and values, sorted.
    pub extra: Vec<(Str, Vec<Str>)>,
}

impl User {
    /// Whether the user is in a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|g| &**g == group)
    }

    /// The namespace and name of a service account's user.
    pub fn service_account(&self) -> Option<(&str, &str)> {
        self.name.strip_prefix("system:serviceaccount:")?.split_once(':')
    }

    /// The node of a kubelet's user.
    pub fn node(&self) -> Option<&str> {
        if !self.is_in("system:nodes") {
            return None;
        }
        self.name.strip_prefix("system:node:")
    }

    /// The server itself, for its own writes.
    pub fn loopback() -> Rc<User> {
        Rc::new(User {
            name: "system:apiserver".into(),
            groups: vec![AUTHENTICATED.into(), MASTERS.into()],
            ..User::default()
        })
    }
}
