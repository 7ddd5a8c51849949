//! Requests and responses of `wasi:http`. A request is sent once, and no redirect is followed: the host's
//! `send` does neither.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use noreplay::session::verdict::Failure;

use crate::endpoint::Endpoint;
use crate::evidence::{Fault, Taken};

use super::bindings::wasi::http::client;
use super::bindings::wasi::http::types::{
    ErrorCode, Fields, Method, Request, Response as WasiResponse, Scheme,
};
use super::bindings::{wit_future, wit_stream};
use super::body::{Body, Upload};

/// Who we are.
const USER_AGENT: &str = concat!("noreplay/", env!("CARGO_PKG_VERSION"));

/// A request's headers.
pub(super) type Headers = Vec<(String, Vec<u8>)>;

/// What is sent with a request.
pub(super) struct Text {
    pub(super) bytes: Vec<u8>,
    /// Set to how much of it the host has not taken.
    pub(super) left: Rc<Cell<usize>>,
}

/// A request that brought no response.
pub(super) struct Failed {
    pub(super) fault: Fault,
    /// How much of the message's text the host had taken.
    pub(super) taken: Taken,
    pub(super) failure: Failure,
}

/// A response, whose body is still to come.
pub(super) struct Response {
    pub(super) status: u16,
    headers: Fields,
    pub(super) body: Body,
}

impl Response {
    /// The value of a header; of several, all of them, joined by commas. What is no text is left out.
    pub(super) fn header(&self, name: &str) -> Option<String> {
        let values = self.headers.get(name);
        let texts: Vec<String> =
            values.into_iter().filter_map(|value| String::from_utf8(value).ok()).collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }
}

/// Sends a request and waits for the response's head.
pub(super) async fn send(
    method: Method,
    endpoint: &Endpoint,
    mut headers: Headers,
    text: Option<Text>,
) -> Result<Response, Failed> {
    headers.push(("user-agent".to_owned(), USER_AGENT.into()));
    // Nobody here could read anything else.
    headers.push(("accept-encoding".to_owned(), b"identity".to_vec()));
    if let Some(text) = &text {
        headers.push(("content-length".to_owned(), text.bytes.len().to_string().into_bytes()));
    }
    let unsound = |what: &str| Failed {
        fault: Fault::Unsound,
        taken: Taken::Nothing,
        failure: Failure::new(Fault::Unsound.kind(), what),
    };
    let fields = Fields::from_list(&headers).map_err(|_| unsound("the host does not take the headers"))?;
    let (contents, mut upload) = match text {
        Some(Text { bytes, left }) => {
            let (writer, reader) = wit_stream::new();
            (Some(reader), Upload::new(writer, bytes, left))
        }
        None => (None, Upload::nothing()),
    };
    // Dropped, they say that there are no trailers, and that we have no complaint.
    let (_, no_trailers) = wit_future::new(|| Ok(None));
    let (request, _) = Request::new(fields, contents, no_trailers, None);
    let scheme = if endpoint.secure { Scheme::Https } else { Scheme::Http };
    let set = request
        .set_method(&method)
        .and_then(|()| request.set_scheme(Some(&scheme)))
        .and_then(|()| request.set_authority(Some(&endpoint.authority)))
        .and_then(|()| request.set_path_with_query(Some(&endpoint.path)));
    if set.is_err() {
        return Err(unsound("the host does not take the URL"));
    }

    let mut sending = pin!(client::send(request));
    let sent = poll_fn(|cx| {
        let sent = sending.as_mut().poll(cx);
        if sent.is_pending() {
            upload.poll(cx);
        }
        sent
    });
    match sent.await {
        Ok(response) => {
            let (status, headers) = (response.get_status_code(), response.get_headers());
            let (_, no_complaint) = wit_future::new(|| Ok(()));
            let (stream, end) = WasiResponse::consume_body(response, no_complaint);
            Ok(Response { status, headers, body: Body::new(stream, end, upload) })
        }
        Err(code) => {
            let (whole, left) = upload.stop().await;
            let (fault, failure) = failure(&code);
            Err(Failed { fault, taken: Taken::of(whole, left), failure })
        }
    }
}

/// The first of these two to happen: the response, or the end of patience.
pub(super) async fn within<T>(nanoseconds: u64, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut patience = pin!(super::bindings::wasi::clocks::monotonic_clock::wait_for(nanoseconds));
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => patience.as_mut().poll(cx).map(|()| None),
    })
    .await
}

/// What the host's error means, and says.
pub(super) fn failure(code: &ErrorCode) -> (Fault, Failure) {
    let (fault, words) = words(code);
    let mut detail = vec![words.to_owned()];
    match code {
        ErrorCode::InternalError(Some(text)) => detail.push(text.clone()),
        ErrorCode::DnsError(payload) => detail.extend(payload.rcode.clone()),
        ErrorCode::TlsAlertReceived(payload) => detail.extend(payload.alert_message.clone()),
        _ => {}
    }
    (fault, Failure { kind: fault.kind(), detail })
}

fn words(code: &ErrorCode) -> (Fault, &'static str) {
    match code {
        ErrorCode::DnsTimeout => (Fault::Name, "the server's name was not resolved in time"),
        ErrorCode::DnsError(_) => (Fault::Name, "the server's name does not resolve"),
        ErrorCode::DestinationNotFound => (Fault::Unreachable, "the server was not found"),
        ErrorCode::DestinationUnavailable => (Fault::Unreachable, "the server cannot be reached"),
        ErrorCode::DestinationIpProhibited => (Fault::Denied, "the host does not allow the server's address"),
        ErrorCode::DestinationIpUnroutable => (Fault::Unreachable, "there is no way to the server's address"),
        ErrorCode::ConnectionRefused => (Fault::Refused, "nobody listens at the server's address"),
        ErrorCode::ConnectionTerminated => (Fault::Ended, "the connection ended before a response came"),
        // RFC 9209, section 2.3.9: of the attempt to open a connection.
        ErrorCode::ConnectionTimeout => (Fault::NoConnection, "connecting took too long"),
        ErrorCode::ConnectionReadTimeout => (Fault::TimedOut, "nothing came for too long"),
        ErrorCode::ConnectionWriteTimeout => (Fault::TimedOut, "nothing could be sent for too long"),
        ErrorCode::ConnectionLimitReached => (Fault::Busy, "as many connections are open as may be"),
        ErrorCode::TlsProtocolError => (Fault::Tls, "TLS failed"),
        ErrorCode::TlsCertificateError => (Fault::Certificate, "the server's certificate is not trusted"),
        ErrorCode::TlsAlertReceived(_) => (Fault::Tls, "the server ended TLS"),
        ErrorCode::HttpRequestDenied => (Fault::Denied, "the host does not allow the request"),
        ErrorCode::HttpRequestLengthRequired => (Fault::Unsound, "the request lacks its length"),
        ErrorCode::HttpRequestBodySize(_) => (Fault::Unsound, "the request's length is not what was said"),
        ErrorCode::HttpRequestMethodInvalid => (Fault::Unsound, "the request's method is not allowed"),
        ErrorCode::HttpRequestUriInvalid => (Fault::Unsound, "the request's URL is not valid"),
        ErrorCode::HttpRequestUriTooLong => (Fault::Unsound, "the request's URL is too long"),
        ErrorCode::HttpRequestHeaderSectionSize(_) | ErrorCode::HttpRequestHeaderSize(_) => {
            (Fault::Unsound, "the request's headers are too large")
        }
        ErrorCode::HttpRequestTrailerSectionSize(_) | ErrorCode::HttpRequestTrailerSize(_) => {
            (Fault::Unsound, "the request's trailers are too large")
        }
        ErrorCode::HttpResponseIncomplete => (Fault::Ended, "the response is incomplete"),
        ErrorCode::HttpResponseHeaderSectionSize(_) | ErrorCode::HttpResponseHeaderSize(_) => {
            (Fault::Malformed, "the response's headers are too large")
        }
        ErrorCode::HttpResponseBodySize(_) => (Fault::Malformed, "the response is too large"),
        ErrorCode::HttpResponseTrailerSectionSize(_) | ErrorCode::HttpResponseTrailerSize(_) => {
            (Fault::Malformed, "the response's trailers are too large")
        }
        ErrorCode::HttpResponseTransferCoding(_) => {
            (Fault::Malformed, "the response's transfer coding is unknown")
        }
        ErrorCode::HttpResponseContentCoding(_) => {
            (Fault::Malformed, "the response's content coding is unknown")
        }
        ErrorCode::HttpResponseTimeout => (Fault::TimedOut, "the response took too long"),
        ErrorCode::HttpUpgradeFailed => (Fault::Malformed, "the response asks for another protocol"),
        ErrorCode::HttpProtocolError => (Fault::Malformed, "the response is not HTTP, or broke off"),
        ErrorCode::LoopDetected => (Fault::Other, "the request goes round in circles"),
        ErrorCode::ConfigurationError => (Fault::Other, "the host is not configured for the request"),
        ErrorCode::InternalError(_) => (Fault::Other, "the host failed"),
    }
}
