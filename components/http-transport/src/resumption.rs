//! When a broken event stream is resumed, and when no more.
//!
//! Resuming is a GET: nothing of the request whose stream it was is sent again.

use std::time::Duration;

/// The pause before a stream is resumed, where the server names none.
const PAUSE: Duration = Duration::from_secs(1);

/// The longest pause that a server can ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How often in a row a stream is resumed that brings nothing new.
const FRUITLESS: u32 = 5;

/// How often one stream is resumed in all: a server must not keep this up for ever.
const MOST: u32 = 1_000;

/// Where a stream was when it broke.
#[derive(Clone, Debug, Default)]
pub struct Resumption {
    last_event_id: Option<String>,
    pause: Option<Duration>,
    fruitless: u32,
    resumed: u32,
    progress: bool,
}

impl Resumption {
    /// The server gave the id that `Last-Event-ID` must bear; none takes it back.
    pub fn event_id(&mut self, id: Option<&str>) {
        if self.last_event_id.as_deref() != id {
            self.progress = true;
            self.last_event_id = id.map(str::to_owned);
        }
    }

    /// A message came.
    pub fn message(&mut self) {
        self.progress = true;
    }

    /// The server asks for a pause before the stream is resumed.
    pub fn retry(&mut self, pause: Duration) {
        self.pause = Some(pause.min(LONGEST_PAUSE));
    }

    /// The stream broke: after which pause, and from which event, it is to be resumed. None: it is not.
    pub fn resume(&mut self) -> Option<(Duration, String)> {
        let id = self.last_event_id.clone()?;
        self.again().map(|pause| (pause, id))
    }

    /// The same for a stream that can be opened anew without an event's id.
    pub fn reopen(&mut self) -> Option<(Duration, Option<String>)> {
        self.again().map(|pause| (pause, self.last_event_id.clone()))
    }

    fn again(&mut self) -> Option<Duration> {
        self.fruitless = if std::mem::take(&mut self.progress) { 0 } else { self.fruitless + 1 };
        self.resumed += 1;
        (self.fruitless <= FRUITLESS && self.resumed <= MOST).then(|| self.pause.unwrap_or(PAUSE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_event_id_there_is_nothing_to_resume() {
        let mut resumption = Resumption::default();
        resumption.message();
        assert_eq!(resumption.resume(), None);
        resumption.event_id(Some("e1"));
        assert_eq!(resumption.resume(), Some((PAUSE, "e1".to_owned())));
        resumption.event_id(None);
        assert_eq!(resumption.resume(), None);
    }

    #[test]
    fn a_pause_is_the_servers_within_bounds() {
        let mut resumption = Resumption::default();
        resumption.event_id(Some("e1"));
        resumption.retry(Duration::from_millis(500));
        assert_eq!(resumption.resume().unwrap().0, Duration::from_millis(500));
        resumption.retry(Duration::MAX);
        assert_eq!(resumption.resume().unwrap().0, LONGEST_PAUSE);
    }

    #[test]
    fn what_brings_nothing_new_is_given_up() {
        let mut resumption = Resumption::default();
        resumption.event_id(Some("e1"));
        let mut times = 0;
        while resumption.resume().is_some() {
            // B048: the same empty event each time.
            resumption.event_id(Some("e1"));
            times += 1;
            assert!(times <= FRUITLESS + 1);
        }
        assert_eq!(times, FRUITLESS + 1);
    }

    #[test]
    fn what_brings_something_new_is_resumed_but_not_for_ever() {
        let mut resumption = Resumption::default();
        let mut times = 0;
        loop {
            resumption.event_id(Some(&times.to_string()));
            if resumption.resume().is_none() {
                break;
            }
            times += 1;
        }
        assert_eq!(times, MOST);
    }

    #[test]
    fn a_stream_of_the_servers_own_is_opened_anew_without_an_id_too() {
        let mut resumption = Resumption::default();
        assert_eq!(resumption.reopen(), Some((PAUSE, None)));
        resumption.event_id(Some("e1"));
        assert_eq!(resumption.reopen(), Some((PAUSE, Some("e1".to_owned()))));
        for _ in 0..FRUITLESS {
            assert!(resumption.reopen().is_some());
        }
        assert_eq!(resumption.reopen(), None);
    }
}
