//! How a component proves itself to a server that asks: the interface `noreplay:http/credentials`.

use http::header::InvalidHeaderName;
use http::{HeaderName, HeaderValue};
use wasmtime::component::Accessor;

use super::Origin;
use crate::bindings::http::noreplay::http::credentials as wit;
pub use crate::bindings::http::noreplay::http::credentials::Challenge;
use crate::host::{Host, Imports};
use crate::transport::BoxFuture;

/// Who knows how to prove oneself to a server. A list of headers is one: it has nothing better to offer to a
/// server that refuses them.
pub trait Credentials: Send + Sync + 'static {
    /// The headers for requests to `endpoint`; they replace the earlier ones. None: the earlier ones stay.
    ///
    /// Asked once when a connection opens, without a challenge, and again before the next request after a
    /// refusal for want of credentials. For a new connection to a server that is known already the earlier
    /// ones are those of the connection before.
    fn authorize(
        &self,
        endpoint: &str,
        challenge: Option<Challenge>,
    ) -> BoxFuture<'static, Option<Vec<Header>>>;
}

/// A header, whose value `Debug` does not show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    name: HeaderName,
    value: HeaderValue,
}

/// What is no header. The value is not told.
#[derive(Debug, thiserror::Error)]
pub enum HeaderError {
    /// The name is none.
    #[error("it has no name of a header")]
    Name(#[from] InvalidHeaderName),
    /// The value holds what no header may.
    #[error("its value holds more than visible ASCII, spaces and tabs")]
    Value,
}

impl Header {
    /// A header. What the transport writes itself, such as `content-type`, it refuses when it connects.
    ///
    /// # Errors
    ///
    /// The name is no name of a header, or the value holds more than visible ASCII, spaces and tabs.
    pub fn new(name: &str, value: &str) -> Result<Header, HeaderError> {
        let name = HeaderName::try_from(name)?;
        let ascii = value.is_ascii().then(|| HeaderValue::from_str(value).ok());
        let mut value = ascii.flatten().ok_or(HeaderError::Value)?;
        value.set_sensitive(true);
        Ok(Header { name, value })
    }
}

impl Credentials for Vec<Header> {
    fn authorize(
        &self,
        _endpoint: &str,
        challenge: Option<Challenge>,
    ) -> BoxFuture<'static, Option<Vec<Header>>> {
        let headers = challenge.is_none().then(|| self.clone());
        Box::pin(async { headers })
    }
}

impl From<Header> for wit::Header {
    fn from(header: Header) -> wit::Header {
        // It was made of a text.
        let value = String::from_utf8_lossy(header.value.as_bytes()).into_owned();
        wit::Header { name: header.name.as_str().to_owned(), value }
    }
}

impl wit::Host for Host {}

impl<T: 'static> wit::HostWithStore<T> for Imports {
    async fn authorize(
        accessor: &Accessor<T, Self>,
        endpoint: String,
        challenge: Option<Challenge>,
    ) -> wasmtime::Result<Option<Vec<wit::Header>>> {
        let answer = accessor.with(|mut store| {
            let http = &store.get().http.0;
            // Whoever cannot be reached is told nothing either.
            let allowed = Origin::of(&endpoint).is_ok_and(|origin| http.allows(&origin));
            allowed.then(|| http.credentials.authorize(&endpoint, challenge))
        });
        let Some(answer) = answer else { return Ok(None) };
        let headers = answer.await;
        Ok(headers.map(|headers| headers.into_iter().map(wit::Header::from).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_shows_nowhere() {
        let header = Header::new("x-api-key", "hush").unwrap();
        assert!(!format!("{header:?}").contains("hush"));
        let error = Header::new("x-api-key", "hush\r\nx: y").unwrap_err();
        assert!(!format!("{error:?} {error}").contains("hush"));
    }

    #[test]
    fn a_header_is_one_line_of_ascii() {
        for (name, value) in [("", "a"), ("a b", "a"), ("a:", "a"), ("a", "b\n"), ("a", "\0"), ("a", "é")] {
            assert!(Header::new(name, value).is_err(), "{name:?} {value:?}");
        }
        assert_eq!(Header::new("X-Key", "a").unwrap(), Header::new("x-key", "a").unwrap());
    }
}
