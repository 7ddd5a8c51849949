//! Whatever bytes come in (contract, P2, P9): any at all, what is nearly JSON, and messages with something
//! wrong in them. The same bytes are read by `serde_json`, which says what is an answer and what is not.
//!
//! `fuzz/` goes on where this ends, from the same messages.

mod harness;
mod model;

use std::fmt;

use model::{bytes, frame, seeds};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, RngSeed};

/// The same bytes each time: what is new is for the fuzzer to find.
fn config(cases: u32) -> Config {
    Config { cases, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Config::default() }
}

/// What the fuzzer begins with: messages as they stand in the specification, and as servers got them wrong.
#[test]
fn what_the_fuzzer_begins_with_is_sound() {
    let seeds = seeds("messages");
    assert!(seeds.len() > 10);
    seeds.iter().for_each(|seed| bytes::tell(seed));
}

/// Shown as text where it is text.
#[derive(Clone)]
struct Bytes(Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

/// One change to a message.
#[derive(Clone, Debug)]
enum Change {
    /// Some bytes go, and these come in their place.
    Put(Index, usize, Vec<u8>),
    /// A part stands once more, somewhere else.
    Copy(Index, usize, Index),
    Cut(Index),
}

impl Change {
    fn apply(&self, message: &mut Vec<u8>) {
        let at = |index: &Index, message: &[u8]| index.index(message.len() + 1);
        let part = |index: &Index, length: usize, message: &[u8]| {
            let start = at(index, message);
            start..message.len().min(start + length)
        };
        match self {
            Self::Put(index, length, bytes) => {
                let part = part(index, *length, message);
                message.splice(part, bytes.iter().copied());
            }
            Self::Copy(index, length, to) => {
                let part = message[part(index, *length, message)].to_vec();
                let to = at(to, message);
                message.splice(to..to, part);
            }
            Self::Cut(index) => message.truncate(at(index, message)),
        }
    }
}

/// What parsers stumble over.
fn bit() -> impl Strategy<Value = Vec<u8>> {
    let bits: &[&[u8]] = &[
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\"",
        b"\\",
        b"\\u",
        b"\\ud83d",
        b"\\ude00",
        b"\\u0000",
        b"\xef\xbb\xbf",
        b"\xff",
        b"\xc3",
        b"\x00",
        b"\n",
        b"\r\n",
        b" ",
        b"\t",
        b"\x0c",
        b"null",
        b"true",
        b"-0",
        b"1e400",
        b"18446744073709551616",
        b"2",
        b"03",
        b"3.0",
        b"\"id\":3,",
        b"\"result\":{},",
        b"\"error\":{\"code\":1}",
        b"\"jsonrpc\":\"2.0\",",
        b"\"method\":\"ping\",",
        b"[[[[[[[[",
        b"{\"a\":",
    ];
    prop_oneof![3 => select(bits).prop_map(<[u8]>::to_vec), 1 => vec(any::<u8>(), 0..4)]
}

fn changed() -> impl Strategy<Value = Bytes> {
    let change = prop_oneof![
        4 => (any::<Index>(), 0..8_usize, bit()).prop_map(|(at, length, bytes)| Change::Put(at, length, bytes)),
        2 => (any::<Index>(), 0..60_usize, any::<Index>()).prop_map(|(at, length, to)| Change::Copy(at, length, to)),
        1 => any::<Index>().prop_map(Change::Cut),
    ];
    (select(seeds("messages")), any::<u8>(), vec(change, 0..5)).prop_map(|(mut message, how, changes)| {
        message[0] ^= how & 0x3f;
        changes.iter().for_each(|change| change.apply(&mut message));
        Bytes(message)
    })
}

/// JSON, mostly: any value, written in any way.
fn json() -> impl Strategy<Value = String> {
    let space = || select(vec!["", "", "", " ", "\n", "\t \r"]);
    let string = vec(
        prop_oneof![
            4 => "[a-z]{0,3}",
            1 => select(vec!["\\n", "\\\"", "\\\\", "\\/", "\\u0041", "\\u00e9", "\\ud83d\\ude00"]).prop_map(str::to_owned),
            1 => select(vec!["\\ud800", "\\udc00", "\\ud83d\\u0041", "\u{e9}", "\u{1f600}", "\u{7f}"]).prop_map(str::to_owned),
        ],
        0..4,
    );
    let string = string.prop_map(|parts| format!("\"{}\"", parts.concat()));
    let number = select(vec![
        "0",
        "-0",
        "7",
        "1.50",
        "1e400",
        "-1E-9",
        "123456789012345678901234567890",
        "01",
        "+1",
        "1.",
    ]);
    let name = prop_oneof![
        select(vec!["\"a\"", "\"a\"", "\"id\"", "\"\\u0069d\"", "\"result\"", "\"jsonrpc\""])
            .prop_map(str::to_owned),
        string.clone(),
    ];
    let leaf = prop_oneof![
        string,
        number.prop_map(str::to_owned),
        select(vec!["null", "true", "false", "\"2.0\"", "nul", "{}", "[]", ""]).prop_map(str::to_owned),
    ];
    let spaced = move |value: BoxedStrategy<String>| {
        (space(), value, space()).prop_map(|(before, value, after)| format!("{before}{value}{after}")).boxed()
    };
    let value = leaf.prop_recursive(5, 40, 6, move |inner| {
        let (name, inner) = (spaced(name.clone().boxed()), spaced(inner.boxed()));
        let member = (name, inner.clone()).prop_map(|(name, value)| format!("{name}:{value}"));
        prop_oneof![
            vec(inner, 0..6).prop_map(|elements| format!("[{}]", elements.join(","))),
            vec(member, 0..6).prop_map(|members| format!("{{{}}}", members.join(","))),
        ]
    });
    (value, prop_oneof![9 => Just(""), 1 => select(vec![",", "]", "}", " ", "x", "\u{c}"])])
        .prop_map(|(value, end)| format!("{value}{end}"))
}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn any_bytes_are_told_apart_from_an_answer(message in vec(any::<u8>(), 0..400)) {
        bytes::tell(&message);
    }
}

proptest! {
    #![proptest_config(config(20_000))]

    #[test]
    fn a_message_with_something_wrong_in_it_is_no_more_than_it_says(message in changed()) {
        bytes::tell(&message.0);
    }

    #[test]
    fn json_is_read_as_serde_json_reads_it(text in json()) {
        frame::compare(&text);
    }
}

/// Depth and length cost no more than themselves.
#[test]
fn depth_and_number_are_no_trap() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}"), (r#"[{"a":["#, "]}]")] {
        for (before, after) in [("", ""), (r#"{"jsonrpc":"2.0","id":3,"result":"#, "}")] {
            let deep =
                |close: &str| format!("{before}{}1{}{after}", open.repeat(20_000), close.repeat(20_000));
            for text in [deep(close), deep("")] {
                frame::compare(&text);
                bytes::tell(format!("0{text}").as_bytes());
            }
        }
    }
    let many = |item: &str| format!("0[{item}{}]", format!(",{item}").repeat(300));
    for item in
        ["1", "{}", r#"{"jsonrpc":"2.0","id":"s","method":"ping"}"#, r#"{"jsonrpc":"2.0","method":"n"}"#]
    {
        bytes::tell(many(item).as_bytes());
    }
}
