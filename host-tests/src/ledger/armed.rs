//! Rules that count what they fit.

/// A rule, and how often it fitted so far.
pub(crate) struct Armed<W, T> {
    when: W,
    /// Of what it fits, the nth only, from 1; none: all.
    nth: Option<u32>,
    what: T,
    met: u32,
}

impl<W, T> Armed<W, T> {
    pub(crate) fn new(when: W, nth: Option<u32>, what: T) -> Armed<W, T> {
        Armed { when, nth, what, met: 0 }
    }
}

/// What the first rule says that fits and whose turn it is. Counts in all rules that fit.
pub(crate) fn choose<W, T: Clone>(rules: &mut [Armed<W, T>], fits: impl Fn(&W) -> bool) -> Option<T> {
    let mut chosen = None;
    for Armed { when, nth, what, met } in rules {
        if fits(when) {
            *met += 1;
            if chosen.is_none() && nth.is_none_or(|nth| nth == *met) {
                chosen = Some(what.clone());
            }
        }
    }
    chosen
}
