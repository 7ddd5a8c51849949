//! How `wasi:http` sends a request here.

use std::error::Error as _;
use std::io::{self, ErrorKind};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt as _;
use wasmtime_wasi_http::p3::bindings::http::types::{ErrorCode, TlsAlertReceivedPayload};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks, default_send_request};

use super::{Http, Origin};

/// Longer than any deadline that the client can have, 49 days, and within what tokio's timers measure. Left
/// alone, the host would end a slow tool after ten minutes: but when to give up is the client's to say.
const NEVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// What comes of sending a request: the response, and what drives the connection while its body is read.
type Sent = Result<(Response<WasiBody>, Driver), Error>;
type Driver = Box<dyn Future<Output = Result<(), Error>> + Send>;

/// How requests are sent: as the host's owner allows it.
pub(in crate::host) struct Hooks(pub(in crate::host) Http);

impl WasiHttpHooks for Hooks {
    /// Sends a request once, or not at all. [`default_send_request`] makes a fresh connection for each, follows
    /// no redirect and tries nothing again; the contract's section 8 rests on that.
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _complaint: Driver,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        if !Origin::of_uri(request.uri()).is_ok_and(|origin| self.0.allows(&origin)) {
            return Box::new(async { Err(Error::HttpRequestDenied) });
        }
        if let Some(server) = &self.0.server {
            let answer = server.answer(request);
            return Box::new(async move {
                let driver: Driver = Box::new(async { Ok(()) });
                Ok((answer.await?, driver))
            });
        }
        let options = options.unwrap_or_default();
        let options = RequestOptions {
            connect_timeout: options.connect_timeout.or(Some(self.0.connecting)),
            first_byte_timeout: options.first_byte_timeout.or(Some(NEVER)),
            between_bytes_timeout: options.between_bytes_timeout.or(Some(NEVER)),
        };
        Box::new(async move {
            let (response, driver) = default_send_request(request, Some(options)).await?;
            Ok((response.map(|body| body.boxed_unsync()), Box::new(driver) as Driver))
        })
    }

    fn p3_outgoing_body_chunk_size(&mut self) -> usize {
        self.0.chunk
    }

    /// Nothing was sent yet: whatever the error, its code is one that says so.
    fn p3_error_from_connect(&mut self, error: &io::Error) -> ErrorCode {
        match error.kind() {
            ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => {
                ErrorCode::ConnectionRefused
            }
            ErrorKind::TimedOut => ErrorCode::ConnectionTimeout,
            ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => ErrorCode::DestinationIpUnroutable,
            ErrorKind::PermissionDenied => ErrorCode::DestinationIpProhibited,
            ErrorKind::QuotaExceeded | ErrorKind::ResourceBusy => ErrorCode::ConnectionLimitReached,
            _ => ErrorCode::DestinationUnavailable,
        }
    }

    fn p3_error_from_tls(&mut self, error: &io::Error) -> ErrorCode {
        let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref()) else {
            return ErrorCode::TlsProtocolError;
        };
        match error {
            rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => {
                ErrorCode::TlsCertificateError
            }
            rustls::Error::AlertReceived(alert) => ErrorCode::TlsAlertReceived(TlsAlertReceivedPayload {
                alert_id: Some(u8::from(*alert)),
                alert_message: Some(format!("{alert:?}")),
            }),
            _ => ErrorCode::TlsProtocolError,
        }
    }

    fn p3_error_from_hyper(&mut self, error: &hyper::Error) -> ErrorCode {
        if error.is_parse_too_large() {
            return ErrorCode::HttpResponseHeaderSectionSize(None);
        }
        if error.is_parse() {
            return ErrorCode::HttpProtocolError;
        }
        if error.is_timeout() {
            return ErrorCode::HttpResponseTimeout;
        }
        if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
            return ErrorCode::ConnectionTerminated;
        }
        match error.source().and_then(|source| source.downcast_ref::<io::Error>()) {
            Some(error) => on_connection(error),
            None => ErrorCode::HttpProtocolError,
        }
    }
}

/// What an input or output error on an open connection says.
fn on_connection(error: &io::Error) -> ErrorCode {
    if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) {
        return ErrorCode::TlsProtocolError;
    }
    match error.kind() {
        ErrorKind::TimedOut => ErrorCode::ConnectionReadTimeout,
        // A body that hyper cannot make out is such an error too.
        ErrorKind::InvalidData | ErrorKind::InvalidInput => ErrorCode::HttpProtocolError,
        _ => ErrorCode::ConnectionTerminated,
    }
}
