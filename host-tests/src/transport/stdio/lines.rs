//! Bytes, cut into lines.
//!
//! A line ends with LF; one CR before it belongs to the end. Blank lines are skipped. A line that is
//! too long is skipped up to its end without being kept, and reported once: at its end, where its last
//! bytes are known, or when it is twice too long, as it may never end.

use memchr::memchr;

use crate::transport::{HEAD, TAIL};

/// How much is read at a time, in bytes.
const CHUNK: usize = 64 << 10;

/// A line, or what is known of one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line, without its end.
    Whole(Vec<u8>),
    /// What is known of a line that is too long.
    TooLong(TooLong),
}

/// What is known of a line that is too long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TooLong {
    /// Its first bytes.
    pub(super) head: Vec<u8>,
    /// Its last bytes; none if it has not ended.
    pub(super) tail: Vec<u8>,
    /// Its size in bytes, without its end; none if it has not ended.
    pub(super) size: Option<u64>,
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
    /// The line that `start` is in, if it is too long.
    skipped: Option<Skipped>,
}

impl Lines {
    pub(super) fn new(longest: u64) -> Lines {
        Lines {
            longest: usize::try_from(longest).unwrap_or(usize::MAX),
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            skipped: None,
        }
    }

    /// Where to append what is read.
    pub(super) fn room(&mut self) -> &mut Vec<u8> {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.buffer.reserve(CHUNK);
        &mut self.buffer
    }

    /// The next line of what was read, if it is whole or too long.
    pub(super) fn next(&mut self) -> Option<Line> {
        loop {
            let Some(found) = memchr(b'\n', &self.buffer[self.searched..]) else {
                self.searched = self.buffer.len();
                return self.unfinished();
            };
            let end = self.searched + found;
            if let Some(line) = self.line(end, end + 1) {
                return Some(line);
            }
        }
    }

    /// The last line, which nothing ends, once nothing more comes.
    pub(super) fn last(&mut self) -> Option<Line> {
        let end = self.buffer.len();
        self.line(end, end)
    }

    /// The line up to `end`; the next one starts at `next`. None if it is blank or was reported.
    fn line(&mut self, end: usize, next: usize) -> Option<Line> {
        let line = &self.buffer[self.start..end];
        if self.skipped.is_none() {
            let line = without_cr(line);
            if line.trim_ascii().is_empty() {
                self.pass(next);
                return None;
            }
            if line.len() <= self.longest {
                let end = self.start + line.len();
                return Some(Line::Whole(self.take(end, next)));
            }
        }
        let mut skipped = self.skipped.take().unwrap_or_default();
        skipped.add(line);
        self.pass(next);
        skipped.end().map(Line::TooLong)
    }

    /// Keeps no more than is needed of an unfinished line that is too long, and reports it once it is
    /// far too long.
    fn unfinished(&mut self) -> Option<Line> {
        let line = &self.buffer[self.start..];
        // A last CR may belong to the line's end.
        if self.skipped.is_none() && without_cr(line).len() <= self.longest {
            return None;
        }
        let skipped = self.skipped.get_or_insert_default();
        skipped.add(line);
        self.buffer = Vec::new();
        (self.start, self.searched) = (0, 0);
        let enough = (self.longest as u64).saturating_mul(2);
        (skipped.size > enough).then(|| skipped.report()).flatten().map(Line::TooLong)
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
}

/// A line that is skipped.
#[derive(Debug, Default)]
struct Skipped {
    head: Vec<u8>,
    tail: Vec<u8>,
    size: u64,
    reported: bool,
}

impl Skipped {
    fn add(&mut self, bytes: &[u8]) {
        let room = HEAD - self.head.len();
        self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.size += bytes.len() as u64;
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL + 1)..]);
        // One more is kept for a CR, which may belong to the line's end.
        let excess = self.tail.len().saturating_sub(TAIL + 1);
        self.tail.drain(..excess);
    }

    /// Its report, unless it was reported.
    fn report(&mut self) -> Option<TooLong> {
        (!std::mem::replace(&mut self.reported, true))
            .then(|| TooLong { head: self.head.clone(), ..TooLong::default() })
    }

    /// Its report now that it has ended, unless it was reported.
    fn end(mut self) -> Option<TooLong> {
        let mut report = self.report()?;
        let tail = without_cr(&self.tail);
        let size = self.size - (self.tail.len() - tail.len()) as u64;
        report.size = Some(size);
        report.head.truncate(usize::try_from(size).unwrap_or(usize::MAX));
        report.tail = tail[tail.len().saturating_sub(TAIL)..].to_vec();
        Some(report)
    }
}

/// `line` without a CR at its end.
fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
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
        let expected =
            [whole("one"), whole("two"), whole("th\rree"), Line::Whole(vec![0xff, 0xfe]), whole("last")];
        for piece in 1..=input.len() {
            assert_eq!(cut(input, piece, 100), expected, "pieces of {piece}");
        }
    }

    #[test]
    fn the_longest_line_is_whole_with_either_end_and_one_byte_more_is_not() {
        let input = b"12345\n12345\r\n123456\r\nnext\n123456";
        let too_long =
            || Line::TooLong(TooLong { head: b"123456".into(), tail: b"123456".into(), size: Some(6) });
        for piece in 1..=input.len() {
            let found = cut(input, piece, 5);
            let expected = [whole("12345"), whole("12345"), too_long(), whole("next"), too_long()];
            assert_eq!(found, expected, "pieces of {piece}");
        }
    }

    #[test]
    fn the_ends_of_a_line_that_is_too_long_are_kept() {
        let mut line = vec![b'x'; 9_000];
        line.splice(..2, *b"ab");
        line.splice(8_998.., *b"yz");
        let expected =
            TooLong { head: line[..HEAD].to_vec(), tail: line[9_000 - TAIL..].to_vec(), size: Some(9_000) };
        line.extend(b"\nnext\n");
        for piece in [1, 7, 255, 256, 257, 4_096, 8_999, 9_000, 9_001, 10_000] {
            let expected = [Line::TooLong(expected.clone()), whole("next")];
            assert_eq!(cut(&line, piece, 5_000), expected, "pieces of {piece}");
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
        let unfinished = TooLong { head: vec![b'x'; HEAD], ..TooLong::default() };
        assert_eq!(found, [Line::TooLong(unfinished)]);
        lines.room().extend_from_slice(b"x\nnext\n");
        assert_eq!(lines.next(), Some(whole("next")));
    }
}
