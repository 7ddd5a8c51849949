//! Where a server is.

use http::Uri;
use http::uri::{InvalidUri, PathAndQuery, Scheme};
use thiserror::Error;

/// A server's URL, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Whether TLS is spoken.
    pub secure: bool,
    /// Its host, and port if it names one.
    pub authority: String,
    /// Its path and query, `/` at least.
    pub path: String,
}

/// What is no server's URL.
#[derive(Debug, Error)]
pub enum EndpointError {
    /// It cannot be read.
    #[error("it is no URL")]
    Unreadable(#[from] InvalidUri),
    /// It lacks a scheme or a host, or its scheme is another.
    #[error("it is no http or https URL")]
    NotHttp,
    /// It holds a user's name or password: credentials come from the host.
    #[error("it holds credentials")]
    Credentials,
    /// It leads to another origin than the URL that it belongs to.
    #[error("it leads to another origin")]
    OtherOrigin,
}

impl Endpoint {
    /// Takes a URL apart.
    ///
    /// # Errors
    ///
    /// [`EndpointError`] if it is no `http` or `https` URL, or holds credentials.
    pub fn parse(url: &str) -> Result<Self, EndpointError> {
        let uri: Uri = url.parse()?;
        let secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(EndpointError::NotHttp),
        };
        let authority = uri.authority().ok_or(EndpointError::NotHttp)?;
        if authority.as_str().contains('@') {
            return Err(EndpointError::Credentials);
        }
        if authority.host().is_empty() {
            return Err(EndpointError::NotHttp);
        }
        let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
        Ok(Self { secure, authority: authority.as_str().to_ascii_lowercase(), path: path.to_owned() })
    }

    /// What `reference` names, as a page at this URL would have it: a URL of the same origin, or a path.
    ///
    /// # Errors
    ///
    /// [`EndpointError`] if it cannot be read, or leads to another origin.
    pub fn join(&self, reference: &str) -> Result<Self, EndpointError> {
        let scheme = if self.secure { "https" } else { "http" };
        let (base, _) = self.path.split_once('?').unwrap_or((&self.path, ""));
        let url = if reference.contains("://") && !reference.starts_with(['/', '?', '.']) {
            reference.to_owned()
        } else if let Some(rest) = reference.strip_prefix("//") {
            format!("{scheme}://{rest}")
        } else if reference.starts_with('/') {
            format!("{scheme}://{}{reference}", self.authority)
        } else if reference.starts_with('?') {
            format!("{scheme}://{}{base}{reference}", self.authority)
        } else {
            let directory = &base[..=base.rfind('/').unwrap_or(0)];
            let reference = reference.strip_prefix("./").unwrap_or(reference);
            format!("{scheme}://{}{directory}{reference}", self.authority)
        };
        let joined = Self::parse(&url)?;
        if joined.origin() != self.origin() {
            return Err(EndpointError::OtherOrigin);
        }
        Ok(joined)
    }

    /// Scheme, host and port. A port that the scheme implies need not be written.
    fn origin(&self) -> (bool, &str) {
        let implied = if self.secure { ":443" } else { ":80" };
        (self.secure, self.authority.strip_suffix(implied).unwrap_or(&self.authority))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(url: &str) -> Endpoint {
        Endpoint::parse(url).unwrap()
    }

    #[test]
    fn a_url_is_taken_apart() {
        let endpoint = at("https://Example.org:8443/mcp?a=1#part");
        assert!(endpoint.secure);
        assert_eq!((endpoint.authority.as_str(), endpoint.path.as_str()), ("example.org:8443", "/mcp?a=1"));
        assert_eq!(at("http://[::1]").path, "/");
    }

    #[test]
    fn what_is_no_url_of_a_server_is_refused() {
        for url in
            ["", "x", "/mcp", "ftp://h/", "http://", "http:///p", "http://a b/", "http://h/\r\nx: y", "h:80"]
        {
            assert!(Endpoint::parse(url).is_err(), "{url:?}");
        }
        assert!(matches!(Endpoint::parse("http://me:secret@h/"), Err(EndpointError::Credentials)));
    }

    #[test]
    fn a_reference_stays_in_its_origin() {
        let base = at("http://h:8080/dir/sse?x=1");
        for (reference, path) in [
            ("/messages?session=1", "/messages?session=1"),
            ("messages", "/dir/messages"),
            ("./messages", "/dir/messages"),
            ("?session=1", "/dir/sse?session=1"),
            ("http://h:8080/m", "/m"),
            ("//h:8080/m", "/m"),
            ("/to?next=http://elsewhere/", "/to?next=http://elsewhere/"),
        ] {
            assert_eq!(base.join(reference).unwrap(), at(&format!("http://h:8080{path}")), "{reference}");
        }
        for reference in
            ["http://h/m", "https://h:8080/m", "http://other:8080/m", "//other/m", "http://h:8080@other/"]
        {
            assert!(base.join(reference).is_err(), "{reference}");
        }
        assert!(at("http://h/").join("http://h:80/m").is_ok());
    }
}
