//! Server-sent events, as the HTML standard has them: any chunking, lines that end with LF, CR or both.
//!
//! Written here since the libraries for it bound nothing: an event of any size must cost little memory, and
//! leave what follows it intact.

use std::time::Duration;

use crate::header::is_sound_value;

/// How many bytes are kept of an event that is too large.
pub const HEAD: usize = 4096;

/// The longest event id that is remembered.
const LONGEST_ID: usize = 1024;

/// What a line may hold beside data.
const FIELD: usize = 64 + LONGEST_ID;

/// Something that a stream says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// An event with data.
    Event {
        /// Its type; empty for the usual one.
        name: String,
        /// Its data.
        data: Vec<u8>,
    },
    /// An event whose data is larger than allowed.
    TooLarge {
        /// Its first bytes.
        head: Vec<u8>,
        /// Its size in bytes.
        size: u64,
    },
    /// The stream can be resumed after this id; none: it cannot.
    Id(Option<String>),
    /// How long to wait before it is opened again.
    Retry(Duration),
}

/// Reads a stream as its bytes come.
#[derive(Debug)]
pub struct Reader {
    /// The largest data of an event, in bytes.
    most: usize,
    /// The line that has not ended: its first bytes, and its size.
    line: Vec<u8>,
    line_size: usize,
    /// Whether a line feed at the start belongs to the line before.
    after_cr: bool,
    in_first_line: bool,
    data: Option<Data>,
    name: String,
    /// The id that the event sets, if it does.
    id: Option<Option<String>>,
}

/// The data of the event that has not ended.
#[derive(Debug, Default)]
struct Data {
    bytes: Vec<u8>,
    size: usize,
}

impl Reader {
    /// A reader that keeps data of up to so many bytes.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            line: Vec::new(),
            line_size: 0,
            after_cr: false,
            in_first_line: true,
            data: None,
            name: String::new(),
            id: None,
        }
    }

    /// Reads on.
    pub fn read(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(Item)) {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = memchr::memchr2(b'\r', b'\n', bytes) else {
                return self.go_on(bytes);
            };
            self.go_on(&bytes[..end]);
            self.end_line(each);
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
        }
    }

    /// The data of an event that the stream ended in. The standard drops it: it may be cut off.
    pub fn rest(mut self) -> Option<Vec<u8>> {
        if self.line_size > 0 {
            self.end_line(&mut |_| {});
        }
        self.data.filter(|data| data.size == data.bytes.len()).map(|data| data.bytes)
    }

    /// A part of a line. Of a line that is too long the first bytes are kept.
    fn go_on(&mut self, part: &[u8]) {
        self.line_size = self.line_size.saturating_add(part.len());
        let room = self.most.saturating_add(FIELD).saturating_sub(self.line.len());
        self.line.extend_from_slice(&part[..part.len().min(room)]);
    }

    fn end_line(&mut self, each: &mut dyn FnMut(Item)) {
        let (mut line, size) = (std::mem::take(&mut self.line), std::mem::take(&mut self.line_size));
        let lost = size.saturating_sub(line.len());
        if std::mem::take(&mut self.in_first_line) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            return self.end_event(each);
        }
        let colon = memchr::memchr(b':', &line[..line.len().min(FIELD)]);
        let value = match colon {
            Some(colon) if line.get(colon + 1) == Some(&b' ') => colon + 2,
            Some(colon) => colon + 1,
            None => line.len(),
        };
        match &line[..colon.unwrap_or(line.len())] {
            b"data" => {
                line.drain(..value);
                self.add(line, lost);
            }
            b"event" => self.name = String::from_utf8_lossy(&line[value..]).into_owned(),
            b"id" if !line.contains(&0) => self.id = Some(sound_id(&line[value..])),
            b"retry" => {
                let digits = str::from_utf8(&line[value..]).ok();
                let digits = digits.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
                if let Some(pause) = digits.filter(|text| !text.is_empty()) {
                    // What does not fit is long enough.
                    each(Item::Retry(Duration::from_millis(pause.parse().unwrap_or(u64::MAX))));
                }
            }
            _ => {}
        }
    }

    /// A line of data, of which so many bytes were not kept.
    fn add(&mut self, line: Vec<u8>, lost: usize) {
        let size = line.len().saturating_add(lost);
        match &mut self.data {
            None => self.data = Some(Data { bytes: line, size }),
            Some(data) => {
                data.size = data.size.saturating_add(1).saturating_add(size);
                if data.size <= self.most {
                    data.bytes.push(b'\n');
                    data.bytes.extend_from_slice(&line);
                }
            }
        }
        if let Some(data) = self.data.as_mut().filter(|data| data.size > self.most) {
            // Less than its size from now on, whatever follows.
            data.bytes.truncate(HEAD.min(self.most));
            data.bytes.shrink_to_fit();
        }
    }

    fn end_event(&mut self, each: &mut dyn FnMut(Item)) {
        if let Some(id) = self.id.take() {
            each(Item::Id(id));
        }
        let name = std::mem::take(&mut self.name);
        match self.data.take() {
            Some(Data { bytes: head, size }) if size > self.most => {
                each(Item::TooLarge { head, size: u64::try_from(size).unwrap_or(u64::MAX) });
            }
            // An event without data tells its id, and nothing else.
            Some(Data { bytes: data, .. }) if !data.is_empty() => each(Item::Event { name, data }),
            _ => {}
        }
    }
}

/// An event's id that a header can bear. An empty one takes the last one back.
fn sound_id(id: &[u8]) -> Option<String> {
    let sound = !id.is_empty() && id.len() <= LONGEST_ID && is_sound_value(id);
    let text = sound.then(|| str::from_utf8(id).ok())?;
    text.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_in(chunks: &[&[u8]], most: usize) -> Vec<Item> {
        let mut reader = Reader::new(most);
        let mut items = Vec::new();
        for chunk in chunks {
            reader.read(chunk, &mut |item| items.push(item));
        }
        items
    }

    fn read(text: &str) -> Vec<Item> {
        read_in(&[text.as_bytes()], 1000)
    }

    fn event(data: &str) -> Item {
        Item::Event { name: String::new(), data: data.into() }
    }

    fn id(id: &str) -> Item {
        Item::Id(Some(id.to_owned()))
    }

    /// Everything that a stream may hold, with each kind of line end.
    fn whole(end: &str) -> String {
        [
            "\u{feff}: a comment",
            "retry: 500",
            "id: e1",
            "data:",
            "",
            "event: message",
            "id: e2",
            r#"data: {"a":"#,
            "data:1}",
            "",
            ":",
            "",
            "data: zwölf",
            "nonsense",
            "id",
            "",
            "data: last",
            "",
        ]
        .map(|line| format!("{line}{end}"))
        .concat()
    }

    fn items() -> Vec<Item> {
        vec![
            Item::Retry(Duration::from_millis(500)),
            id("e1"),
            id("e2"),
            Item::Event { name: "message".to_owned(), data: b"{\"a\":\n1}".to_vec() },
            Item::Id(None),
            event("zwölf"),
            event("last"),
        ]
    }

    #[test]
    fn lines_end_with_lf_cr_or_both() {
        for end in ["\n", "\r", "\r\n"] {
            assert_eq!(read(&whole(end)), items(), "{end:?}");
        }
    }

    #[test]
    fn a_cut_anywhere_changes_nothing() {
        for end in ["\n", "\r", "\r\n"] {
            let bytes = whole(end).into_bytes();
            for first in 0..=bytes.len() {
                let (head, tail) = bytes.split_at(first);
                assert_eq!(read_in(&[head, tail], 1000), items(), "{end:?} at {first}");
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(read_in(&single, 1000), items(), "{end:?} byte by byte");
        }
    }

    #[test]
    fn an_event_without_data_tells_its_id_only() {
        assert_eq!(read("id: e1\n\n"), [id("e1")]);
        assert_eq!(read("id: e1\ndata\n\n"), [id("e1")]);
        assert_eq!(read("data:\ndata:\n\n"), [event("\n")]);
        assert_eq!(read("\n\n\n"), []);
    }

    #[test]
    fn an_id_that_no_header_can_bear_is_none() {
        assert_eq!(read("id: a\0b\n\n"), []);
        assert_eq!(read("id: a\u{1}b\n\n"), [Item::Id(None)]);
        assert_eq!(read(&format!("id: {}\n\n", "x".repeat(1025))), [Item::Id(None)]);
    }

    #[test]
    fn a_pause_is_digits() {
        assert_eq!(read("retry: 10\n"), [Item::Retry(Duration::from_millis(10))]);
        assert_eq!(
            read(&format!("retry: {}\n", "9".repeat(30))),
            [Item::Retry(Duration::from_millis(u64::MAX))]
        );
        for text in ["retry: \n", "retry: -1\n", "retry: 1.5\n", "retry: 1s\n"] {
            assert_eq!(read(text), [], "{text}");
        }
    }

    #[test]
    fn one_space_belongs_to_the_colon() {
        assert_eq!(read("data:  a\n\n"), [event(" a")]);
        assert_eq!(read("data:a:b\n\n"), [event("a:b")]);
    }

    #[test]
    fn what_is_too_large_costs_little_and_leaves_the_rest_intact() {
        let small = "data: after\n\n";
        let long = format!("data: {}\n\n{small}", "x".repeat(20_000));
        let lines = format!("{}\n{small}", "data: x\n".repeat(10_000));
        for (text, size) in [(long, 20_000), (lines, 19_999)] {
            let items = read_in(&[text.as_bytes()], 10_000);
            let [Item::TooLarge { head, size: told }, after] = &items[..] else { panic!("{items:?}") };
            assert_eq!((head.len(), *told), (HEAD, size));
            assert_eq!(*after, event("after"));
        }
        // As much as allowed is not too much.
        assert_eq!(read_in(&[b"data: 12345\n\n"], 5), [event("12345")]);
        assert!(matches!(read_in(&[b"data: 123456\n\n"], 5)[..], [Item::TooLarge { size: 6, .. }]));
        assert!(matches!(read_in(&[b"data: 123\ndata: 45\n\n"], 5)[..], [Item::TooLarge { size: 6, .. }]));
    }

    #[test]
    fn a_line_without_an_end_is_bounded() {
        let mut reader = Reader::new(1000);
        for _ in 0..1000 {
            reader.read(&[b'x'; 1000], &mut |_| {});
        }
        assert!(reader.line.capacity() < 10_000);
        reader.read(b"\n\ndata: a\n\n", &mut |item| assert_eq!(item, event("a")));
    }

    #[test]
    fn the_rest_is_what_had_not_ended() {
        let rest = |text: &str| {
            let mut reader = Reader::new(10);
            reader.read(text.as_bytes(), &mut |_| {});
            reader.rest()
        };
        assert_eq!(rest("data: a\n"), Some(b"a".to_vec()));
        assert_eq!(rest("data: a"), Some(b"a".to_vec()));
        assert_eq!(rest("data: a\n\n"), None);
        assert_eq!(rest("id: 1"), None);
        assert_eq!(rest("data: 12345678901"), None);
    }

    proptest::proptest! {
        #[test]
        fn bytes_at_random_in_any_chunks_say_the_same(
            bytes in "(data|id|retry|event|:| |[a-z0-9]{0,3}|\r|\n|\r\n|\n\n|\u{feff}|\0){0,60}",
            cuts in proptest::collection::vec(0_usize..200, 0..6),
        ) {
            let bytes = bytes.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts {
                chunks.push(&bytes[from..cut]);
                from = cut;
            }
            chunks.push(&bytes[from..]);
            proptest::prop_assert_eq!(read_in(&chunks, 8), read_in(&[bytes], 8));
        }
    }
}
