//! Time as the session sees it: marks that its caller passes in. It has no clock of its own.

use core::ops::{Add, Sub};
use core::time::Duration;

/// A mark on a monotonic clock, in nanoseconds since some start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(u64);

impl Instant {
    /// The mark so many nanoseconds after the clock's start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the clock's start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// The end of time is as far as it goes.
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub for Instant {
    type Output = Duration;

    /// Zero if the other mark is later.
    fn sub(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_its_nanoseconds() {
        let mark = Instant::from_nanos(5) + Duration::from_nanos(7);
        assert_eq!(mark.as_nanos(), 12);
        assert_eq!(mark - Instant::from_nanos(5), Duration::from_nanos(7));
        assert_eq!((mark + Duration::MAX).as_nanos(), u64::MAX);
        assert_eq!(Instant::default() - mark, Duration::ZERO);
    }
}
