//! The connections: one request after the other, each answered by rule or by good manners.

use std::pin::pin;
use std::sync::Arc;

use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};

use super::Shared;
use super::decide::Decision;
use super::input::{Input, Short};
use super::output::{Output, Response, Stop};
use super::play::Left;
use super::reply::Reply;
use super::script::{After, End, Intake};
use super::traffic::{Request, What};

/// Takes connections, for ever.
pub(super) async fn serve(server: Arc<Shared>, listener: TcpListener) {
    let mut number = 0;
    loop {
        // One that is gone before it was taken is none.
        let Ok((stream, _)) = listener.accept().await else { continue };
        number += 1;
        server.spawn(connection(server.clone(), stream, number));
    }
}

/// What becomes of a connection after a request.
enum Next {
    Request,
    End(End),
    Gone,
}

async fn connection(server: Arc<Shared>, stream: TcpStream, number: u32) {
    server.note(number, What::Accepted);
    // Each write is to be read by itself, if it can be.
    let _ = stream.set_nodelay(true);
    let (read, write) = stream.into_split();
    let (mut input, mut output) = (Input::new(read), Output::new(write));
    let next = match server.state().ends.iter().find(|(nth, _)| *nth == number) {
        Some((_, end)) => Next::End(*end),
        None => Next::Request,
    };
    let end = match next {
        Next::End(end) => end,
        _ => loop {
            if !input.begins().await {
                server.note(number, What::Gone);
                return;
            }
            match exchange(&server, number, &mut input, &mut output).await {
                Next::Request => {}
                Next::End(end) => break end,
                Next::Gone => return,
            }
        },
    };
    server.note(number, What::Ended(end));
    finish(&server, number, end, input, output).await;
}

/// Ends a connection.
async fn finish(server: &Shared, number: u32, end: End, mut input: Input, output: Output) {
    let mut write = output.into_inner();
    match end {
        End::Close => {
            let _ = write.shutdown().await;
            // To close now would reset what was not read.
            input.drain().await;
            server.note(number, What::Gone);
        }
        End::Reset => {
            let _ = write.as_ref().set_zero_linger();
            // Without an end in order before it.
            write.forget();
            drop(input);
        }
        End::Hang => std::future::pending().await,
    }
}

/// Reads a request, and answers it.
async fn exchange(server: &Arc<Shared>, number: u32, input: &mut Input, output: &mut Output) -> Next {
    let (count, intake) = server.next_request();
    let mut request = Request { number: count, ..Request::default() };
    let read = input.read(&mut request, intake.as_ref().map(|intake| intake.most)).await;
    request.whole = read.is_ok();
    server.note(number, What::Came(request.clone()));
    let mut response = Response::new(output);
    match (read, intake) {
        (Ok(()), _) => {}
        (Err(Short::Enough), Some(Intake { then: After::Reply(reply), .. })) => {
            let _ = response.reply(&reply).await;
            server.answered(number, count, &response);
            return Next::End(End::Close);
        }
        (Err(Short::Enough), Some(Intake { then: After::End(end), .. })) => return Next::End(end),
        (Err(Short::Gone), _) => {
            server.note(number, What::Gone);
            return Next::Gone;
        }
        (Err(Short::Malformed | Short::Enough), _) => {
            let _ = response.reply(&Reply::status(400)).await;
            return Next::End(End::Close);
        }
    }
    let next = match server.decide(&request, number) {
        Decision::Reply(reply) => match response.reply(&reply).await {
            Ok(()) => Next::Request,
            Err(Stop::End(end)) => Next::End(end),
            Err(Stop::Gone) => Next::End(End::Close),
        },
        Decision::Play(mut player, steps) => {
            let stays = player.request.is_some() && !player.modern;
            let left = {
                let mut playing = pin!(player.play(&mut response, steps));
                tokio::select! {
                    biased;
                    left = &mut playing => Some(left),
                    () = input.gone() => {
                        server.note(number, What::Gone);
                        // Up to 2025-11-25, to leave is not to cancel.
                        if stays { Some(playing.await) } else { None }
                    }
                }
            };
            match left {
                Some(Left { end: Some(End::Hang), .. }) => {
                    input.gone().await;
                    if player.modern {
                        server.note(number, What::Cancelled(count));
                    }
                    server.note(number, What::Gone);
                    Next::Gone
                }
                Some(Left { end, steps }) => {
                    if !steps.is_empty() {
                        server.spawn(player.play_on(steps));
                    }
                    end.map_or(Next::Request, Next::End)
                }
                None => {
                    if player.modern && player.request.is_some() {
                        server.note(number, What::Cancelled(count));
                    }
                    Next::Gone
                }
            }
        }
    };
    server.answered(number, count, &response);
    match next {
        Next::Request if request.header("connection").is_some_and(|value| value.contains("close")) => {
            Next::End(End::Close)
        }
        next => next,
    }
}
