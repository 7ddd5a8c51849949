//! The bytes of requests and responses.

use std::cell::Cell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Context;

use futures::channel::oneshot;
use futures::future::{Either, poll_fn, select};
use wit_bindgen::{FutureReader, StreamReader, StreamResult, StreamWriter};

use super::bindings::wasi::http::types::{ErrorCode, Trailers};

/// How much of a body is read at a time, in bytes.
const CHUNK: usize = 64 * 1024;

/// A message's text on its way to the host.
pub(super) struct Upload {
    whole: usize,
    /// How much the host has not taken, as far as is known.
    left: Rc<Cell<usize>>,
    writing: Option<Pin<Box<dyn Future<Output = ()>>>>,
    stop: Option<oneshot::Sender<()>>,
}

impl Upload {
    /// Nothing to write.
    pub(super) fn nothing() -> Self {
        Self { whole: 0, left: Rc::default(), writing: None, stop: None }
    }

    /// Writes `text`; `left` tells how much is left.
    pub(super) fn new(writer: StreamWriter<u8>, text: Vec<u8>, left: Rc<Cell<usize>>) -> Self {
        let (stop, stopped) = oneshot::channel();
        let whole = text.len();
        left.set(whole);
        let writing = write(writer, text, Rc::clone(&left), stopped);
        Self { whole, left, writing: Some(Box::pin(writing)), stop: Some(stop) }
    }

    /// Goes on writing.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) {
        if let Some(writing) = &mut self.writing
            && writing.as_mut().poll(cx).is_ready()
        {
            self.writing = None;
        }
    }

    /// Writes no more. Returns how many bytes there were, and how many the host has certainly not taken.
    pub(super) async fn stop(mut self) -> (usize, usize) {
        drop(self.stop.take());
        if let Some(writing) = self.writing.take() {
            writing.await;
        }
        (self.whole, self.left.get())
    }
}

async fn write(
    mut writer: StreamWriter<u8>,
    text: Vec<u8>,
    left: Rc<Cell<usize>>,
    mut stopped: oneshot::Receiver<()>,
) {
    let mut op = Box::pin(writer.write(text));
    loop {
        let (result, rest) = match select(op.as_mut(), &mut stopped).await {
            Either::Left((written, _)) => written,
            Either::Right(_) => {
                let (_, rest) = op.as_mut().cancel();
                left.set(rest.remaining());
                return;
            }
        };
        left.set(rest.remaining());
        if rest.remaining() == 0 || matches!(result, StreamResult::Dropped) {
            return;
        }
        drop(op);
        op = Box::pin(writer.write_buf(rest));
    }
}

/// The bytes of a response.
pub(super) struct Body {
    stream: StreamReader<u8>,
    end: Option<FutureReader<Result<Option<Trailers>, ErrorCode>>>,
    /// The request's own text may still be on its way.
    upload: Upload,
}

impl Body {
    pub(super) fn new(
        stream: StreamReader<u8>,
        end: FutureReader<Result<Option<Trailers>, ErrorCode>>,
        upload: Upload,
    ) -> Self {
        Self { stream, end: Some(end), upload }
    }

    /// The next bytes; none at the end.
    ///
    /// # Errors
    ///
    /// The body broke off.
    pub(super) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, ErrorCode> {
        let Self { stream, end, upload } = self;
        let mut reading = pin!(async {
            loop {
                if end.is_none() {
                    return Ok(None);
                }
                let (result, bytes) = stream.read(Vec::with_capacity(CHUNK)).await;
                if !bytes.is_empty() {
                    return Ok(Some(bytes));
                }
                if matches!(result, StreamResult::Dropped)
                    && let Some(end) = end.take()
                {
                    return end.await.map(|_| None);
                }
            }
        });
        poll_fn(|cx| {
            upload.poll(cx);
            reading.as_mut().poll(cx)
        })
        .await
    }
}
