//! Bytes, cut into lines.
//!
//! A line ends with LF; one CR before it belongs to the end. Blank lines are skipped. A line that is
//! too long is reported once, as soon as it is, and skipped up to its end without being kept.

use memchr::memchr;

use crate::transport::HEAD;

/// How much is read at a time, in bytes.
const CHUNK: usize = 64 << 10;

/// A line, or what is known of one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line, without its end.
    Whole(Vec<u8>),
    /// The first bytes of a line that is too long.
    TooLong(Vec<u8>),
}

/// Cuts what is read into lines.
#[derive(Debug)]
pub(super) struct Lines {
    /// The longest line, in bytes, without its end.
    longest: usize,
    /// What was read: `[..start]` is done with, `[..searched]` holds no line end after `start`.
    buffer: Vec<u8>,
    start: usize,
    searched: usize,
    /// Whether the line that `start` is in was reported as too long.
    skipping: bool,
}

impl Lines {
    pub(super) fn new(longest: u64) -> Lines {
        Lines {
            longest: usize::try_from(longest).unwrap_or(usize::MAX),
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            skipping: false,
        }
    }

    /// Where to append what is read.
    pub(super) fn room(&mut self) -> &mut Vec<u8> {
        self.discard(self.start);
        self.buffer.reserve(CHUNK);
        &mut self.buffer
    }

    /// The next line of what was read, if it is whole or too long.
    pub(super) fn next(&mut self) -> Option<Line> {
        loop {
            let Some(found) = memchr(b'\n', &self.buffer[self.searched..]) else {
                self.searched = self.buffer.len();
                return self.overlong();
            };
            let end = self.searched + found;
            let line = self.start..without_cr(&self.buffer[self.start..end]) + self.start;
            if std::mem::take(&mut self.skipping) || is_blank(&self.buffer[line.clone()]) {
                self.pass(end + 1);
            } else if line.len() > self.longest {
                let head = self.head();
                self.pass(end + 1);
                return Some(Line::TooLong(head));
            } else {
                return Some(Line::Whole(self.take(line.end, end + 1)));
            }
        }
    }

    /// The last line, which nothing ends, once nothing more comes.
    pub(super) fn last(&mut self) -> Option<Line> {
        let line = without_cr(&self.buffer[self.start..]) + self.start;
        let end = self.buffer.len();
        if std::mem::take(&mut self.skipping) || is_blank(&self.buffer[self.start..line]) {
            self.pass(end);
            return None;
        }
        Some(Line::Whole(self.take(line, end)))
    }

    /// Reports the unfinished line if it is too long already, and keeps no more than is needed of it.
    fn overlong(&mut self) -> Option<Line> {
        let unfinished = &self.buffer[self.start..];
        if self.skipping {
            self.pass(self.buffer.len());
            return None;
        }
        // A last CR may belong to the line's end.
        if without_cr(unfinished) <= self.longest {
            return None;
        }
        let head = self.head();
        self.pass(self.buffer.len());
        self.buffer = Vec::new();
        self.start = 0;
        self.searched = 0;
        self.skipping = true;
        Some(Line::TooLong(head))
    }

    fn head(&self) -> Vec<u8> {
        let line = &self.buffer[self.start..];
        line[..line.len().min(HEAD)].to_vec()
    }

    /// Takes the line up to `end` out; the next one starts at `next`.
    fn take(&mut self, end: usize, next: usize) -> Vec<u8> {
        let rest = self.buffer.len() - next;
        if self.start == 0 && rest < end {
            // Most of the buffer is the line: give it away rather than copy it.
            let rest = self.buffer.split_off(next);
            let mut line = std::mem::replace(&mut self.buffer, rest);
            line.truncate(end);
            self.searched = 0;
            return line;
        }
        let line = self.buffer[self.start..end].to_vec();
        self.pass(next);
        line
    }

    fn pass(&mut self, next: usize) {
        self.start = next;
        self.searched = next;
    }

    fn discard(&mut self, bytes: usize) {
        self.buffer.drain(..bytes);
        self.start -= bytes;
        self.searched -= bytes;
    }
}

/// The length of `line` without a CR at its end.
fn without_cr(line: &[u8]) -> usize {
    line.len() - usize::from(line.last() == Some(&b'\r'))
}

fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All lines of `input`, read in pieces of `piece` bytes.
    fn cut(input: &[u8], piece: usize, longest: u64) -> Vec<Line> {
        let mut lines = Lines::new(longest);
        let mut found = Vec::new();
        for piece in input.chunks(piece) {
            lines.room().extend_from_slice(piece);
            found.extend(std::iter::from_fn(|| lines.next()));
        }
        found.extend(lines.last());
        found
    }

    fn whole(line: &str) -> Line {
        Line::Whole(line.into())
    }

    #[test]
    fn every_cut_gives_the_same_lines() {
        let input = b"one\ntwo\r\n\n  \r\nth\rree\n\xff\xfe\nlast";
        let expected = [
            whole("one"),
            whole("two"),
            whole("th\rree"),
            Line::Whole(vec![0xff, 0xfe]),
            whole("last"),
        ];
        for piece in 1..=input.len() {
            assert_eq!(cut(input, piece, 100), expected, "pieces of {piece}");
        }
    }

    #[test]
    fn the_longest_line_is_whole_with_either_end_and_one_byte_more_is_not() {
        for piece in 1..20 {
            assert_eq!(
                cut(b"12345\n12345\r\n123456\nnext\n", piece, 5)
                    .into_iter()
                    .map(|line| matches!(line, Line::Whole(_)))
                    .collect::<Vec<_>>(),
                [true, true, false, true],
                "pieces of {piece}"
            );
        }
    }

    #[test]
    fn a_line_that_never_ends_is_reported_once_and_not_kept() {
        let mut lines = Lines::new(10_000);
        let mut found = Vec::new();
        for _ in 0..1_000 {
            lines.room().extend_from_slice(&[b'x'; 1_000]);
            found.extend(std::iter::from_fn(|| lines.next()));
            assert!(lines.buffer.capacity() < 10_000 + 4 * CHUNK);
        }
        assert_eq!(found, [Line::TooLong(vec![b'x'; HEAD])]);
        lines.room().extend_from_slice(b"x\nnext\n");
        assert_eq!(lines.next(), Some(whole("next")));
    }

    #[test]
    fn a_skipped_line_at_the_end_brings_nothing_more() {
        assert_eq!(cut(b"123456789", 3, 5), [Line::TooLong(b"123456".into())]);
    }
}
