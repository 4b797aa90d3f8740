//! What a machine does with connections that leave it or reach it: its packet filter.

use crate::{Addr, Ctx, Ip};
use std::rc::Rc;

/// What becomes of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It goes on as it is.
    Pass,
    /// It goes to another address.
    To(Addr),
    /// It is refused at once.
    Refuse,
    /// Its packets vanish.
    Drop,
}

/// Decides for a connection's source and target. It is asked once for each connection on the machine that it leaves,
/// and once on the one that it reaches.
pub type Filter = Rc<dyn Fn(Ip, Addr) -> Verdict>;

impl Ctx {
    /// Sets this machine's packet filter, which outlives the process; power-off takes it away.
    pub fn set_filter(&self, filter: Filter) {
        let host = self.inner.host_of(self.process);
        let old = self.inner.network.borrow_mut().filters.insert(host, filter);
        drop(old);
    }
}
