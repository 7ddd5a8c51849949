//! What exists only where there is a host that answers what servers ask.
//!
//! The plain component imports none. There a [`Hosted`] value cannot be made, and takes no room, so that the
//! compiler leaves out whatever would handle one.

use core::ops::{Deref, DerefMut};

#[cfg(not(any(feature = "interactive", not(target_family = "wasm"))))]
use nowhere::Content;
#[cfg(any(feature = "interactive", not(target_family = "wasm")))]
use there::Content;

/// A value that only exists where there is a host to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hosted<T>(Content<T>);

impl<T> Hosted<T> {
    /// The value, if there is a host.
    pub(crate) fn new(value: impl FnOnce() -> T) -> Option<Self> {
        Content::new(value).map(Self)
    }

    pub(crate) fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T> Deref for Hosted<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.get()
    }
}

impl<T> DerefMut for Hosted<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

#[cfg(any(feature = "interactive", not(target_family = "wasm")))]
mod there {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct Content<T>(T);

    impl<T> Content<T> {
        pub(super) fn new(value: impl FnOnce() -> T) -> Option<Self> {
            Some(Self(value()))
        }

        pub(super) fn get(&self) -> &T {
            &self.0
        }

        pub(super) fn get_mut(&mut self) -> &mut T {
            &mut self.0
        }

        pub(super) fn into_inner(self) -> T {
            self.0
        }
    }
}

#[cfg(not(any(feature = "interactive", not(target_family = "wasm"))))]
mod nowhere {
    use core::convert::Infallible;
    use core::marker::PhantomData;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct Content<T>(Infallible, PhantomData<T>);

    impl<T> Content<T> {
        pub(super) fn new(_: impl FnOnce() -> T) -> Option<Self> {
            None
        }

        pub(super) fn get(&self) -> &T {
            match self.0 {}
        }

        pub(super) fn get_mut(&mut self) -> &mut T {
            match self.0 {}
        }

        pub(super) fn into_inner(self) -> T {
            match self.0 {}
        }
    }
}
