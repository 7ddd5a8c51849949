//! What is measured: calls with a payload of some size, so many of them in flight at a time.

use std::time::{Duration, Instant};

use futures::stream::{FuturesUnordered, StreamExt as _};

/// One measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) name: &'static str,
    /// The size of the text that goes there and comes back, in bytes of JSON.
    pub(crate) payload: usize,
    pub(crate) in_flight: usize,
    /// How many calls are timed. A quarter of so many go before, untimed.
    pub(crate) calls: u32,
}

/// All that every variant does within one process.
pub(crate) const CELLS: [Cell; 6] = [
    Cell { name: "200B", payload: 200, in_flight: 1, calls: 20_000 },
    Cell { name: "200B, 64 in flight", payload: 200, in_flight: 64, calls: 20_000 },
    Cell { name: "200B, 1000 in flight", payload: 200, in_flight: 1_000, calls: 20_000 },
    Cell { name: "64KB", payload: 64 << 10, in_flight: 1, calls: 2_000 },
    Cell { name: "1MB", payload: 1 << 20, in_flight: 1, calls: 100 },
    Cell { name: "10MB", payload: 10 << 20, in_flight: 1, calls: 12 },
];

impl Cell {
    /// The text of so many bytes, as it stands in a JSON string: lines of words, with an escape now and then.
    pub(crate) fn text(self) -> String {
        const LINE: &str =
            r#"The quick brown fox jumps over the \"lazy\" dog, and the dog does not mind it.\n"#;
        let mut text = LINE.repeat(self.payload / LINE.len());
        text.extend(std::iter::repeat_n('x', self.payload - text.len()));
        text
    }

    /// The mean time of a call.
    pub(crate) async fn time<F: Future<Output = ()>>(self, mut call: impl FnMut() -> F) -> Duration {
        self.run(self.calls / 4 + 1, &mut call).await;
        let begin = Instant::now();
        self.run(self.calls, &mut call).await;
        begin.elapsed() / self.calls
    }

    async fn run<F: Future<Output = ()>>(self, calls: u32, call: &mut impl FnMut() -> F) {
        let mut under_way = FuturesUnordered::new();
        for _ in 0..calls {
            if under_way.len() >= self.in_flight {
                under_way.next().await;
            }
            under_way.push(call());
        }
        while under_way.next().await.is_some() {}
    }
}
