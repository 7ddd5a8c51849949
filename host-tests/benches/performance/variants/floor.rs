//! The least that a native client can do: write the request, read the answer, find its id and its result.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::oneshot;

use super::{arguments, server};
use crate::cell::Cell;
use crate::echo::BUFFER;

#[derive(Deserialize)]
struct Answer<'a> {
    id: u64,
    #[serde(borrow)]
    result: &'a RawValue,
}

type Waiting = Arc<Mutex<HashMap<u64, oneshot::Sender<String>>>>;

pub(super) async fn measure(cells: &[Cell]) -> wasmtime::Result<Vec<Duration>> {
    let (read, write) = tokio::io::split(server());
    let write = tokio::sync::Mutex::new(write);
    let waiting = Waiting::default();
    let answers = waiting.clone();
    tokio::spawn(async move {
        let mut read = BufReader::with_capacity(BUFFER, read);
        let mut line = Vec::new();
        while read.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
            let answer: Answer<'_> = serde_json::from_slice(&line).expect("the server is sound");
            let waiting = answers.lock().expect("nobody panics with it").remove(&answer.id);
            let _ = waiting.expect("somebody waits").send(answer.result.get().to_owned());
            line.clear();
        }
    });
    let (mut times, mut id) = (Vec::new(), 0_u64);
    for cell in cells.iter().copied() {
        let (arguments, write, waiting) = (arguments(cell), &write, &waiting);
        let time = cell.time(|| {
            id += 1;
            let (answer, answered) = oneshot::channel();
            waiting.lock().expect("nobody panics with it").insert(id, answer);
            let request = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{arguments}}}}}{}"#,
                "\n"
            );
            async move {
                write.lock().await.write_all(request.as_bytes()).await.expect("the server is there");
                assert!(answered.await.expect("it answers").len() > cell.payload);
            }
        });
        times.push(time.await);
    }
    Ok(times)
}
