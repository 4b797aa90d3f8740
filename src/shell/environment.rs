//! The environment of a program.

use std::rc::Rc;

/// Variables in the order in which the program was given them, each name once. Shared until somebody changes it.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Environment(Rc<Vec<(String, String)>>);

impl Environment {
    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&String> {
        self.iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }
    /// Sets a variable, where it stands or at the end.
    pub fn insert(&mut self, name: String, value: String) {
        let all = Rc::make_mut(&mut self.0);
        match all.iter_mut().find(|(own, _)| *own == name) {
            Some((_, old)) => *old = value,
            None => all.push((name, value)),
        }
    }
    /// The variables in their order.
    pub fn iter(&self) -> std::slice::Iter<'_, (String, String)> {
        self.0.iter()
    }
}

impl Extend<(String, String)> for Environment {
    fn extend<T: IntoIterator<Item = (String, String)>>(&mut self, more: T) {
        more.into_iter().for_each(|(name, value)| self.insert(name, value));
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(all: T) -> Self {
        let mut environment = Self::default();
        environment.extend(all);
        environment
    }
}

impl<const N: usize> From<[(String, String); N]> for Environment {
    fn from(all: [(String, String); N]) -> Self {
        all.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_is_set_again_keeps_its_place() {
        let pair = |name: &str, value: &str| (name.to_string(), value.to_string());
        let mut env = Environment::from([pair("PATH", "/bin"), pair("B", "1"), pair("A", "2")]);
        let before = env.clone();
        env.extend([pair("B", "3"), pair("HOME", "/root")]);
        let texts: Vec<String> = env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(texts, ["PATH=/bin", "B=3", "A=2", "HOME=/root"]);
        assert_eq!(before.get("B").map(String::as_str), Some("1"));
    }
}
