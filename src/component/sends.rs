//! The messages that are with the transport. One that is woken is polled, and no other: where a thousand are
//! under way, whatever else happens does not cost a thousand polls.

use alloc::sync::Arc;
use alloc::task::Wake;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use core::task::{Context, Poll, Waker};

use crate::prelude::*;
use crate::session::evidence::SendError;
use crate::session::{Delivery, Receipt};

use super::sending::Sending;

/// All of them, in the order in which the transport got them.
#[derive(Default)]
pub(super) struct Sends {
    under_way: Vec<(Sending, Arc<Bell>)>,
    /// How many bells have rung, or more.
    rung: Arc<AtomicUsize>,
    /// How many were left when those of no use were given up last.
    kept: usize,
}

/// Tells that one message may be done.
struct Bell {
    rung: AtomicBool,
    all: Arc<AtomicUsize>,
    driver: Waker,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
        self.driver.wake_by_ref();
    }
}

impl Bell {
    fn ring(&self) {
        if !self.rung.swap(true, Relaxed) {
            self.all.fetch_add(1, Relaxed);
        }
    }
}

impl Sends {
    pub(super) fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Takes one on, which nobody has polled with a waker.
    pub(super) fn push(&mut self, cx: &Context<'_>, sending: Sending) {
        let bell = Bell { rung: AtomicBool::new(false), all: self.rung.clone(), driver: cx.waker().clone() };
        bell.ring();
        self.under_way.push((sending, Arc::new(bell)));
    }

    /// The next for which the transport has answered. The task that polls is always the same, the driver's.
    pub(super) fn poll(&mut self) -> Option<(Receipt, Result<Delivery, SendError>)> {
        let mut place = 0;
        while self.rung.load(Relaxed) > 0 {
            let Some((sending, bell)) = self.under_way.get_mut(place) else {
                // What rang is gone.
                self.rung.store(0, Relaxed);
                break;
            };
            if bell.rung.swap(false, Relaxed) {
                self.rung.fetch_sub(1, Relaxed);
                let waker = Waker::from(bell.clone());
                if let Poll::Ready(result) = sending.poll(&mut Context::from_waker(&waker)) {
                    return Some((self.under_way.remove(place).0.receipt, result));
                }
            }
            place += 1;
        }
        None
    }

    /// Gives up those that are of no use to anyone.
    pub(super) fn retain(&mut self, is_of_use: impl Fn(Receipt) -> bool) {
        self.under_way.retain(|(sending, _)| is_of_use(sending.receipt));
        self.kept = self.under_way.len();
    }

    /// Whether many have come since those of no use were given up last.
    pub(super) fn are_many(&self) -> bool {
        self.under_way.len() > 2 * self.kept + 32
    }
}
