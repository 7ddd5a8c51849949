//! Where a server is, as far as permission is concerned: its scheme, host and port.

use std::fmt;

use http::Uri;
use http::uri::{InvalidUri, Scheme};

/// A scheme, a host and a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    secure: bool,
    host: String,
    port: u16,
}

/// What is no URL of a server.
#[derive(Debug, thiserror::Error)]
pub enum UrlError {
    /// It cannot be read.
    #[error("it is no URL")]
    Unreadable(#[from] InvalidUri),
    /// It has no scheme, or another one.
    #[error("it does not begin with http:// or https://")]
    Scheme,
    /// Its port is no number of a port.
    #[error("its port is no number up to 65535")]
    Port,
    /// It holds a user's name or a password, which would show wherever the URL does.
    #[error("it holds credentials: give them as a header")]
    Credentials,
}

impl Origin {
    /// The origin of `url`, whatever its path.
    ///
    /// # Errors
    ///
    /// It is no `http` or `https` URL.
    pub fn of(url: &str) -> Result<Origin, UrlError> {
        Origin::of_uri(&url.parse()?)
    }

    /// The origin of a request's target.
    pub(super) fn of_uri(uri: &Uri) -> Result<Origin, UrlError> {
        let secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(UrlError::Scheme),
        };
        let authority = uri.authority().ok_or(UrlError::Scheme)?;
        if authority.as_str().contains('@') {
            return Err(UrlError::Credentials);
        }
        let host = authority.host();
        let port = match (authority.as_str().strip_prefix(host), authority.port_u16()) {
            (Some(""), _) if secure => 443,
            (Some(""), _) => 80,
            (_, Some(port)) => port,
            (_, None) => return Err(UrlError::Port),
        };
        Ok(Origin { secure, host: host.to_ascii_lowercase(), port })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> String {
        Origin::of(url).map_or_else(|error| error.to_string(), |origin| origin.to_string())
    }

    #[test]
    fn an_origin_is_a_scheme_a_host_and_a_port() {
        assert_eq!(of("http://Example.org/mcp?a=1"), "http://example.org:80");
        assert_eq!(of("https://example.org"), "https://example.org:443");
        assert_eq!(of("HTTP://[::1]:8080/"), "http://[::1]:8080");
        assert_eq!(Origin::of("http://h/").unwrap(), Origin::of("http://h:80/other").unwrap());
        assert_ne!(Origin::of("http://h:443/").unwrap(), Origin::of("https://h/").unwrap());
    }

    #[test]
    fn what_is_no_url_of_a_server_is_told() {
        for (url, words) in [
            ("", "no URL"),
            ("http://a b/", "no URL"),
            ("localhost:8080", "http://"),
            ("localhost", "http://"),
            ("/mcp", "http://"),
            ("ftp://h/", "http://"),
            ("http://h:99999/", "port"),
            ("http://h:/", "port"),
            ("http://me:secret@h/", "credentials"),
        ] {
            assert!(of(url).contains(words), "{url:?}: {}", of(url));
        }
    }
}
