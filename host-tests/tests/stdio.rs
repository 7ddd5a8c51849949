//! A child process as a server: that its lines arrive whole and all of them, that its end is noticed
//! at once and told with its status, that a message's delivery is reported by what really left, and
//! that nothing of its process group outlives the connection.

use std::sync::Arc;
use std::time::{Duration, Instant};

use host_tests::transport::stdio::Stdio;
use host_tests::transport::{Connection, Delivery, Incoming, Outgoing, SendError, Transport};
use host_tests::{Failure, FailureKind};
use tokio::time::timeout;

const MAX_MESSAGE: u64 = 1 << 20;

/// Far more than anything here takes.
const LONG: Duration = Duration::from_secs(20);

async fn connect(command: &[&str]) -> Result<Arc<dyn Connection>, Failure> {
    Stdio::new(command).connect("", MAX_MESSAGE).await
}

/// A connection to a shell that runs `script`.
async fn shell(script: &str) -> Arc<dyn Connection> {
    connect(&["sh", "-c", script]).await.expect("sh starts")
}

async fn receive(connection: &Arc<dyn Connection>) -> Result<Incoming, Failure> {
    timeout(LONG, connection.receive()).await.expect("it comes")
}

async fn message(connection: &Arc<dyn Connection>) -> String {
    match receive(connection).await {
        Ok(Incoming::Message(arrival)) => String::from_utf8(arrival.message).expect("UTF-8"),
        other => panic!("no message: {other:?}"),
    }
}

async fn lost(connection: &Arc<dyn Connection>) -> Failure {
    receive(connection).await.expect_err("the connection is lost")
}

fn outgoing(message: impl Into<Vec<u8>>) -> Outgoing {
    Outgoing {
        message: message.into(),
        method: "test".into(),
        request: Some(1),
        protocol_version: None,
        headers: Vec::new(),
    }
}

/// More than a pipe holds, so that a server that does not read leaves it half-written.
fn more_than_a_pipe() -> Outgoing {
    outgoing(vec![b'x'; 4 << 20])
}

/// Whether the process lives. A zombie does not.
fn lives(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// Whether nothing at all is left of the process, not even a zombie.
fn is_reaped(process: &str) -> bool {
    !std::fs::exists(format!("/proc/{process}")).expect("/proc is readable")
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LONG, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn lines_go_both_ways() {
    let server = shell("while read -r line; do echo \"got $line\"; done").await;
    for text in ["one", "two"] {
        let sent = server.send(outgoing(text)).await;
        assert_eq!(sent, Ok(Delivery::HandedOver));
        assert_eq!(message(&server).await, format!("got {text}"));
    }
}

#[tokio::test]
async fn messages_leave_in_the_order_of_the_calls_whatever_is_awaited_first() {
    let server = shell("cat").await;
    let first = server.send(outgoing("first"));
    let second = server.send(outgoing("second"));
    assert_eq!(second.await, Ok(Delivery::HandedOver));
    assert_eq!(first.await, Ok(Delivery::HandedOver));
    assert_eq!(message(&server).await, "first");
    assert_eq!(message(&server).await, "second");
}

#[tokio::test]
async fn all_that_was_written_before_the_end_arrives_an_unterminated_last_line_included() {
    let server = shell("printf 'one\\n\\r\\ntwo\\r\\nthree'").await;
    for text in ["one", "two", "three"] {
        assert_eq!(message(&server).await, text);
    }
    assert_eq!(receive(&server).await, Ok(Incoming::End));
    assert_eq!(receive(&server).await, Ok(Incoming::End), "the end stays");
}

#[tokio::test]
async fn more_than_a_pipe_holds_arrives_although_the_process_is_gone() {
    let server = shell("seq 1 50000").await;
    for number in 1..=50_000 {
        assert_eq!(message(&server).await, number.to_string());
    }
    assert_eq!(receive(&server).await, Ok(Incoming::End));
}

#[tokio::test]
async fn a_bad_exit_is_told_with_its_status() {
    let server = shell("echo last; exit 3").await;
    assert_eq!(message(&server).await, "last");
    let failure = lost(&server).await;
    assert_eq!(failure.kind, FailureKind::Closed);
    assert!(failure.detail.concat().contains("exit status: 3"), "{failure:?}");
    assert_eq!(lost(&server).await, failure, "the failure stays");

    let server = shell("kill -KILL $$").await;
    let failure = lost(&server).await;
    assert_eq!(failure.kind, FailureKind::Closed);
    assert!(failure.detail.concat().contains("SIGKILL"), "{failure:?}");
}

#[tokio::test]
async fn an_exit_is_noticed_though_a_grandchild_keeps_the_output_open() {
    // The grandchild leaves the process group, so that nothing but the exit tells.
    let server = shell("setsid sleep 30 & echo last; exit 7").await;
    let start = Instant::now();
    assert_eq!(message(&server).await, "last");
    let failure = lost(&server).await;
    assert!(failure.detail.concat().contains("exit status: 7"), "{failure:?}");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[tokio::test]
async fn what_was_written_before_the_exit_arrives_though_the_output_stays_open() {
    let server = shell("setsid sleep 30 & seq 1 9000; printf unterminated; exit 7").await;
    for number in 1..=9_000 {
        assert_eq!(message(&server).await, number.to_string());
    }
    assert_eq!(message(&server).await, "unterminated");
    assert_eq!(lost(&server).await.kind, FailureKind::Closed);
}

#[tokio::test]
async fn a_line_that_is_too_long_is_skipped_and_the_next_one_is_intact() {
    let connecting = Stdio::new(["sh", "-c", "printf '{\"id\":7,%5000s}\\nnext\\n' x"]);
    let server = connecting.connect("", 4_096).await.expect("sh starts");
    match receive(&server).await {
        Ok(Incoming::TooLarge(oversized)) => {
            assert_eq!(oversized.size, Some(5_009));
            assert_eq!(oversized.head.len(), 4_096);
            assert!(oversized.head.starts_with(b"{\"id\":7,"));
            assert!(oversized.tail.ends_with(b"x}"));
        }
        other => panic!("not too large: {other:?}"),
    }
    assert_eq!(message(&server).await, "next");
}

#[tokio::test]
async fn a_dropped_receive_loses_nothing() {
    let server = shell("printf fir; sleep 0.2; echo st; echo second; cat").await;
    for _ in 0..20 {
        let wait = timeout(Duration::from_millis(5), server.receive()).await;
        if let Ok(came) = wait {
            assert!(matches!(came, Ok(Incoming::Message(arrival)) if arrival.message == b"first"));
            assert_eq!(message(&server).await, "second");
            return;
        }
    }
    assert_eq!(message(&server).await, "first");
    assert_eq!(message(&server).await, "second");
}

#[tokio::test]
async fn a_program_that_is_missing_or_forbidden_is_told_with_the_reason() {
    let missing = connect(&["/nowhere/no-such-program"]).await;
    let failure = missing.err().expect("it cannot start");
    assert_eq!(failure.kind, FailureKind::SpawnFailed);
    assert!(failure.detail[0].contains("/nowhere/no-such-program"), "{failure:?}");
    assert!(failure.detail[1].contains("No such file"), "{failure:?}");

    let forbidden = connect(&["/"]).await.err().expect("it cannot start");
    assert_eq!(forbidden.kind, FailureKind::AccessDenied);

    let nothing = connect(&[]).await.err().expect("it cannot start");
    assert_eq!(nothing.kind, FailureKind::SpawnFailed);
}

#[tokio::test]
async fn a_message_to_a_server_that_is_gone_was_not_sent() {
    let server = shell("exit 0").await;
    assert_eq!(receive(&server).await, Ok(Incoming::End));
    match server.send(outgoing("late")).await {
        Err(SendError::NotSent(failure)) => assert_eq!(failure.kind, FailureKind::Closed),
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn a_message_to_a_server_that_closed_its_input_was_not_sent() {
    let server = shell("exec <&-; echo closed; exec sleep 30").await;
    assert_eq!(message(&server).await, "closed");
    match server.send(outgoing("late")).await {
        Err(SendError::NotSent(failure)) => {
            assert_eq!(failure.kind, FailureKind::Closed);
            assert!(failure.detail.concat().contains("Broken pipe"), "{failure:?}");
        }
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn a_message_of_which_a_part_left_is_truncated_and_the_next_was_not_sent() {
    let server = shell("head -c 100000 >/dev/null; exit 1").await;
    let half = server.send(more_than_a_pipe());
    let behind = server.send(outgoing("behind"));
    let (half, behind) = tokio::join!(half, behind);
    assert!(matches!(half, Err(SendError::Truncated(_))), "{half:?}");
    assert!(matches!(behind, Err(SendError::NotSent(_))), "{behind:?}");
}

#[tokio::test]
async fn a_message_whose_send_was_given_up_before_it_was_begun_is_not_written() {
    let server = shell("read -r go; cat").await;
    // The pipe is full of a line that is being read later.
    let first = server.send(outgoing("go"));
    let big = server.send(outgoing(vec![b'x'; 900_000]));
    drop(server.send(outgoing("given up")));
    let last = server.send(outgoing("last"));
    let receiving = async {
        let big = message(&server).await;
        assert_eq!(big.len(), 900_000);
        message(&server).await
    };
    let (first, big, last, received) = tokio::join!(first, big, last, receiving);
    for sent in [first, big, last] {
        assert_eq!(sent, Ok(Delivery::HandedOver));
    }
    assert_eq!(received, "last");
}

#[tokio::test]
async fn a_message_whose_send_was_given_up_half_way_is_written_whole() {
    let server = shell("sleep 0.3; cat").await;
    let big = server.send(outgoing(vec![b'x'; 900_000]));
    timeout(Duration::from_millis(100), big).await.expect_err("nobody reads yet");
    let last = server.send(outgoing("last"));
    let receiving = async { (message(&server).await, message(&server).await) };
    let (last, (big, end)) = tokio::join!(last, receiving);
    assert_eq!(last, Ok(Delivery::HandedOver));
    assert_eq!(big.len(), 900_000, "the line is not torn");
    assert_eq!(end, "last");
}

#[tokio::test]
async fn a_line_break_in_a_message_is_refused() {
    let server = shell("cat").await;
    let sent = server.send(outgoing("one\ntwo")).await;
    assert!(matches!(sent, Err(SendError::NotSent(_))), "{sent:?}");
}

#[tokio::test]
async fn close_lets_the_server_finish() {
    let directory = tempfile::tempdir().expect("a directory");
    let trace = directory.path().join("trace");
    let script = format!("echo $$; cat >/dev/null; echo finished >{}", trace.display());
    let server = shell(&script).await;
    let process = message(&server).await;
    timeout(LONG, server.close()).await.expect("it closes");
    assert_eq!(std::fs::read_to_string(trace).expect("it finished"), "finished\n");
    assert!(is_reaped(&process));
    assert_eq!(receive(&server).await, Ok(Incoming::End));
    let sent = server.send(outgoing("late")).await;
    assert!(matches!(sent, Err(SendError::NotSent(_))), "{sent:?}");
}

#[tokio::test]
async fn close_ends_a_server_that_does_not_listen_and_its_children() {
    let script = "trap '' TERM; sleep 30 & echo $$ $!; while :; do sleep 1; done";
    let server = shell(script).await;
    let line = message(&server).await;
    let (process, child) = line.split_once(' ').expect("two numbers");
    assert!(lives(process) && lives(child));
    timeout(LONG, server.close()).await.expect("it closes");
    assert!(is_reaped(process));
    until("the child is killed", || !lives(child)).await;
}

#[tokio::test]
async fn close_goes_on_when_nobody_waits_for_it() {
    let server = shell("trap 'exit 0' TERM; echo $$; while :; do sleep 0.05; done").await;
    let process = message(&server).await;
    drop(server.close());
    drop(server);
    until("the server ends", || is_reaped(&process)).await;
}

#[tokio::test]
async fn dropping_the_connection_kills_the_group_at_once() {
    let script = "trap '' TERM; sleep 30 & echo $$ $!; while :; do sleep 1; done";
    let server = shell(script).await;
    let line = message(&server).await;
    let (process, child) = line.split_once(' ').expect("two numbers");
    let start = Instant::now();
    drop(server);
    until("the process is reaped", || is_reaped(process)).await;
    until("the child is killed", || !lives(child)).await;
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

#[tokio::test]
async fn dropping_the_connection_resolves_what_is_under_way() {
    let server = shell("exec sleep 30").await;
    let half = server.send(more_than_a_pipe());
    let waiting = server.send(outgoing("waiting"));
    let half = tokio::spawn(half);
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop(server);
    let half = timeout(LONG, half).await.expect("it ends").expect("no panic");
    assert!(matches!(half, Err(SendError::Truncated(_))), "{half:?}");
    let waiting = timeout(LONG, waiting).await.expect("it ends");
    assert!(matches!(waiting, Err(SendError::NotSent(_))), "{waiting:?}");
}

#[tokio::test]
async fn a_server_that_exited_leaves_no_zombie_while_the_connection_lives() {
    let server = shell("echo $$; exit 0").await;
    let process = message(&server).await;
    assert_eq!(receive(&server).await, Ok(Incoming::End));
    until("it is reaped", || is_reaped(&process)).await;
}
