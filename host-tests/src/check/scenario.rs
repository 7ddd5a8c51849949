//! What a caller does, in small: the scenarios into which every fault is placed.

use super::fault::{AnswerFault, ConnectFault, Fault, Noise};
use super::schedule::{Act, Call};
use crate::FailureKind;

/// A scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// What is done.
    pub acts: Vec<Act>,
    /// The same, with tools that the server gives no hints about, and without a key: what becomes of it must
    /// be the same.
    pub(super) unhinted: Option<Vec<Act>>,
    /// Whether the whole table of refusals is placed into it.
    pub(super) table: bool,
    /// Whether pairs of faults are placed into it.
    pub(super) pairs: bool,
    /// Whether a flood is placed into it.
    pub(super) flood: bool,
    /// Whether it is about servers that a client finds out about, and no others.
    pub(super) found_out: bool,
}

fn call(number: u32) -> Act {
    Act::Call(Call::new(number))
}

/// A call that takes a third of a second, so that things can happen meanwhile.
fn slow(number: u32) -> Act {
    Act::Call(Call::new(number).taking(300))
}

/// A call that becomes a task, of which the server says so often that it goes on.
fn task(number: u32, working: u32) -> Act {
    Act::Call(Call { task: working, ..Call::new(number) })
}

const MOMENT: Act = Act::Sleep(100);

fn scenario(name: &'static str, acts: impl Into<Vec<Act>>) -> Scenario {
    Scenario {
        name,
        acts: acts.into(),
        unhinted: None,
        table: false,
        pairs: false,
        flood: false,
        found_out: false,
    }
}

fn hinted(tool: &'static str, keyed: bool) -> Vec<Act> {
    let call = Act::Call(Call { tool, keyed, ..Call::new(1) });
    vec![Act::List, Act::AwaitAll, call, Act::AwaitAll]
}

/// All of them.
pub fn scenarios() -> Vec<Scenario> {
    let terminated = Act::Break(Fault::Answer(AnswerFault::SessionTerminated));
    let slow_connect = Act::Break(Fault::Connect(ConnectFault::Slow));
    let lose = Act::Lose(FailureKind::ConnectionReset);
    let lost = lose.clone();
    vec![
        Scenario { table: true, pairs: true, flood: true, ..scenario("one call", [call(1), Act::AwaitAll]) },
        Scenario {
            unhinted: Some(hinted("pay-later", false)),
            ..scenario("hinted tool", hinted("hinted", true))
        },
        Scenario {
            table: true,
            pairs: true,
            ..scenario("two overlapping calls", [slow(1), MOMENT, slow(2), Act::AwaitAll])
        },
        Scenario {
            pairs: true,
            ..scenario(
                "call, reconnect, call",
                [call(1), Act::AwaitAll, Act::Reconnect, Act::AwaitAll, call(2), Act::AwaitAll],
            )
        },
        scenario(
            "reconnect with a call in flight",
            [slow(1), MOMENT, Act::Reconnect, slow(2), Act::AwaitAll],
        ),
        scenario(
            "call with progress",
            [Act::Call(Call { progress: true, ..Call::new(1).taking(300) }), Act::AwaitAll],
        ),
        scenario(
            "progress without end",
            [Act::Call(Call { progress: true, ..Call::new(1).taking(60_000).within(25_000) }), Act::AwaitAll],
        ),
        scenario("paginated list, then call", [Act::List, Act::AwaitAll, call(1), Act::AwaitAll]),
        scenario("list beside a call", [slow(1), MOMENT, Act::List, Act::AwaitAll]),
        scenario(
            "call cancelled",
            [
                slow(1),
                MOMENT,
                Act::Cancel(1),
                Act::AwaitAll,
                Act::Reconcile(1, 1_000),
                call(2),
                Act::AwaitAll,
            ],
        ),
        scenario(
            "call cancelled before it is sent",
            [slow_connect, call(1), MOMENT, Act::Cancel(1), Act::AwaitAll, call(2), Act::AwaitAll],
        ),
        scenario(
            "short deadline, late answer",
            [
                Act::Call(Call::new(1).taking(900).within(300)),
                Act::AwaitAll,
                Act::Reconcile(1, 2_000),
                call(2),
                Act::AwaitAll,
            ],
        ),
        scenario(
            "close with a call in flight",
            [slow(1), MOMENT, Act::Close, Act::AwaitAll, call(2), Act::AwaitAll],
        ),
        scenario("call, and close at once", [call(1), Act::AwaitAll, call(2), Act::Close, Act::AwaitAll]),
        scenario(
            "call, and reconnect at once",
            [call(1), Act::AwaitAll, call(2), Act::Reconnect, Act::AwaitAll],
        ),
        scenario(
            "session terminated",
            [call(1), Act::AwaitAll, terminated, call(2), Act::AwaitAll, call(3), Act::AwaitAll],
        ),
        scenario(
            "connection lost under a call",
            [
                slow(1),
                MOMENT,
                lose.clone(),
                call(2),
                Act::AwaitAll,
                Act::Reconnect,
                Act::AwaitAll,
                call(3),
                Act::AwaitAll,
            ],
        ),
        scenario(
            "connection ended while idle",
            [call(1), Act::AwaitAll, Act::End, MOMENT, call(2), Act::AwaitAll],
        ),
        scenario(
            "a crowd finds it lost",
            [call(1), Act::AwaitAll, lose, call(2), call(3), call(4), Act::AwaitAll],
        ),
        Scenario {
            found_out: true,
            ..scenario(
                "call that the server suspends",
                [
                    Act::Call(Call { suspended: 2, ..Call::new(1).taking(90) }),
                    Act::AwaitAll,
                    call(2),
                    Act::AwaitAll,
                ],
            )
        },
        Scenario {
            found_out: true,
            ..scenario(
                "call suspended without end",
                [Act::Call(Call { suspended: 99, ..Call::new(1).within(2_000) }), Act::AwaitAll],
            )
        },
        Scenario {
            found_out: true,
            ..scenario(
                "suspended call cancelled",
                [
                    Act::Call(Call { suspended: 9, ..Call::new(1).taking(150) }),
                    Act::Sleep(240),
                    Act::Cancel(1),
                    Act::AwaitAll,
                    call(2),
                    Act::AwaitAll,
                ],
            )
        },
        Scenario {
            found_out: true,
            ..scenario(
                "call that becomes a task",
                [task(1, 2), Act::AwaitAll, call(2), Act::AwaitAll, Act::Reconcile(1, 1_000)],
            )
        },
        Scenario {
            found_out: true,
            ..scenario(
                "task whose connection is lost",
                [
                    task(1, 5),
                    Act::Sleep(500),
                    lost,
                    Act::AwaitAll,
                    Act::Reconcile(1, 6_000),
                    call(2),
                    Act::AwaitAll,
                ],
            )
        },
        Scenario {
            found_out: true,
            ..scenario(
                "task that outlives its call",
                [
                    Act::Call(Call { task: 6, ..Call::new(1).within(500) }),
                    Act::AwaitAll,
                    Act::Reconcile(1, 6_000),
                    call(2),
                    Act::AwaitAll,
                ],
            )
        },
        Scenario {
            found_out: true,
            ..scenario(
                "task cancelled",
                [task(1, 9), Act::Sleep(500), Act::Cancel(1), Act::AwaitAll, call(2), Act::AwaitAll],
            )
        },
        scenario(
            "two reconnects at once",
            [slow(1), MOMENT, Act::Reconnect, Act::Reconnect, call(2), Act::AwaitAll, Act::Say(Noise::Text)],
        ),
    ]
}
