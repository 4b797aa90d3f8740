//! Channels and signals between the tasks of one process.

pub use futures_channel::{mpsc, oneshot};

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

#[derive(Default)]
struct Inner {
    generation: Cell<u64>,
    wakers: RefCell<Vec<Waker>>,
}

/// A signal that wakes all who wait. A waiter sees every [`Notify::notify`] made after its [`Notify::notified`] call.
#[derive(Clone, Default)]
pub struct Notify(Rc<Inner>);

impl Notify {
    /// A signal nobody waits for yet.
    pub fn new() -> Self {
        Self::default()
    }
    /// Wakes all waiters.
    pub fn notify(&self) {
        self.0.generation.set(self.0.generation.get() + 1);
        for waker in self.0.wakers.take() {
            waker.wake();
        }
    }
    /// Completes at the next [`Notify::notify`].
    pub fn notified(&self) -> Notified {
        Notified { inner: self.0.clone(), seen: self.0.generation.get() }
    }
}

/// The future of [`Notify::notified`].
pub struct Notified {
    inner: Rc<Inner>,
    seen: u64,
}

impl Future for Notified {
    type Output = ();
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.inner.generation.get() != self.seen {
            return Poll::Ready(());
        }
        let mut wakers = self.inner.wakers.borrow_mut();
        if !wakers.iter().any(|w| w.will_wake(cx.waker())) {
            wakers.push(cx.waker().clone());
        }
        Poll::Pending
    }
}
