//! Which server, and under which policies.

use std::time::Duration;

use clap::{Args, ValueEnum};
use host_tests::host::http::Header;
use host_tests::runtime::RuntimeOptions;
use host_tests::transport::stdio::Stdio;
use host_tests::{
    COMPONENT, Client, ClientError, Grant, HTTP_CLIENT, Http, Options, Ownership, Resend, Runtime, Session,
};

use crate::Failure;

/// The server and the session's policies.
#[derive(Args)]
pub(crate) struct Target {
    #[command(flatten)]
    server: Server,

    /// A header for each request, such as one that holds a key. May be given several times
    #[arg(long, value_name = "NAME: VALUE", conflicts_with = "stdio")]
    header: Vec<String>,

    #[command(flatten, next_help_heading = "Policies")]
    policies: Policies,
}

/// The server.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct Server {
    /// The server: a command to start, in shell words
    #[arg(long, value_name = "COMMAND", value_parser = shell_words)]
    stdio: Option<Words>,

    /// The server: its URL
    // Read later, as headers are: clap shows what it finds wrong, and there may be a secret in it.
    #[arg(long, value_name = "URL")]
    http: Option<String>,
}

/// A command line, split.
#[derive(Clone)]
struct Words(Vec<String>);

#[derive(Args)]
struct Policies {
    /// Who connects
    #[arg(long, value_enum, default_value_t = Owner::Owned)]
    ownership: Owner,

    /// The protocol revision to speak [default: whichever the server does]
    #[arg(long, value_name = "REVISION")]
    protocol: Option<String>,

    /// When a call may be sent once more
    #[arg(long, value_enum, default_value_t = Again::Proven)]
    resend: Again,

    /// Do not take a refusal of the server's for proof that a call did not run
    #[arg(long)]
    strict_refusals: bool,

    /// Let calls of TOOL be repeated up to N times although their outcome is unknown
    #[arg(long, value_name = "TOOL=N", value_parser = grant)]
    grant: Vec<Grant>,

    /// The largest message in either direction [default: 16777216]
    #[arg(long, value_name = "BYTES")]
    max_message: Option<u64>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Owner {
    /// The session connects by itself
    Owned,
    /// The session connects on `reconnect` only
    CallerManaged,
}

#[derive(Clone, Copy, ValueEnum)]
enum Again {
    /// Never
    Never,
    /// After proof that it did not run
    Proven,
    /// Also after a refusal
    Refused,
}

impl Target {
    /// A session with the server. Nothing is started yet.
    pub(crate) async fn session(&self) -> Result<Session, Failure> {
        let client = self.client()?;
        let options = self.policies.options(&client).await?;
        // A transport that starts one command knows where to go.
        let endpoint = self.server.http.clone().unwrap_or_default();
        Ok(client.session(endpoint, options).await?)
    }

    fn client(&self) -> Result<Client, Failure> {
        let options = self.policies.runtime();
        match (&self.server.http, &self.server.stdio) {
            (Some(url), _) => {
                let http = Http::to(url).map_err(Failure::Url)?.credentials(self.headers()?);
                Ok(Runtime::from_bytes(HTTP_CLIENT, options)?.client_over(http))
            }
            (None, stdio) => {
                let command = stdio.as_ref().map_or(&[][..], |Words(words)| words);
                Ok(Runtime::from_bytes(COMPONENT, options)?.client(Stdio::new(command)))
            }
        }
    }

    fn headers(&self) -> Result<Vec<Header>, Failure> {
        let numbered = (1..).zip(&self.header);
        numbered.map(|(number, text)| header(text).map_err(|why| Failure::Header { number, why })).collect()
    }
}

impl Policies {
    /// What an instance may use, if messages are this large.
    fn runtime(&self) -> RuntimeOptions {
        let mut options = RuntimeOptions::default();
        if let Some(bytes) = self.max_message {
            // A message may be there as it came, as text and as a result.
            let room = usize::try_from(bytes).unwrap_or(usize::MAX).saturating_mul(8);
            options.memory = options.memory.max(room);
        }
        options
    }

    /// The strict defaults, changed as the flags say.
    async fn options(&self, client: &Client) -> Result<Options, ClientError> {
        let mut options = client.default_options().await?;
        options.ownership = match self.ownership {
            Owner::Owned => Ownership::Owned,
            Owner::CallerManaged => Ownership::CallerManaged,
        };
        options.protocol.clone_from(&self.protocol);
        options.resend = match self.resend {
            Again::Never => Resend::Never,
            Again::Proven => Resend::Proven,
            Again::Refused => Resend::Refused,
        };
        options.accept_refusals = !self.strict_refusals;
        options.grants.clone_from(&self.grant);
        if let Some(bytes) = self.max_message {
            options.limits.message_bytes = bytes;
        }
        Ok(options)
    }
}

fn shell_words(text: &str) -> Result<Words, String> {
    let words = shell_words::split(text).map_err(|error| error.to_string())?;
    if words.is_empty() {
        return Err("no command".into());
    }
    Ok(Words(words))
}

/// A header as a person writes it. What is wrong with it is told without its value.
fn header(text: &str) -> Result<Header, String> {
    let (name, value) = text.split_once(':').ok_or("it is not 'Name: value'")?;
    Header::new(name.trim(), value.trim()).map_err(|error| error.to_string())
}

fn grant(text: &str) -> Result<Grant, String> {
    // The last `=`, since a tool's name may hold others.
    let (tool, attempts) = text.rsplit_once('=').ok_or("it is not TOOL=N")?;
    if tool.is_empty() {
        return Err("the tool has no name".into());
    }
    let attempts = attempts.parse().map_err(|_| "N is no number")?;
    Ok(Grant { tool: tool.to_owned(), attempts })
}

/// A JSON object, as it is.
pub(crate) fn json_object(text: &str) -> Result<String, String> {
    let json: Box<serde_json::value::RawValue> =
        serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
    if json.get().starts_with('{') { Ok(json.get().to_owned()) } else { Err("it is no JSON object".into()) }
}

/// A time such as `30s` or `500ms`, in whole milliseconds.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    match u32::try_from(time.as_millis()) {
        Ok(0) => Err("it is less than 1ms".into()),
        Ok(_) => Ok(time),
        Err(_) => Err("it is more than 49 days".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_names_one_tool() {
        let granted = grant("a=b=3").map(|grant| (grant.tool, grant.attempts));
        assert_eq!(granted, Ok(("a=b".into(), 3)));
        for wrong in ["pay", "=1", "pay=", "pay=-1", "pay=many"] {
            assert!(grant(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_header_is_a_name_and_a_value() {
        assert_eq!(header("X-Key:  a:b "), Ok(Header::new("x-key", "a:b").unwrap()));
        for wrong in ["", "hush", ": hush", "a b: hush", "a: hush\nb: hush"] {
            assert!(header(wrong).is_err_and(|why| !why.contains("hush")), "{wrong}");
        }
    }

    #[test]
    fn arguments_are_one_object_and_keep_their_digits() {
        let text = r#"{"n":7960607143101464576, "a":null}"#;
        assert_eq!(json_object(text).as_deref(), Ok(text));
        for wrong in ["", "null", "[]", "1", "\"{}\"", "{", "{} {}"] {
            assert!(json_object(wrong).is_err(), "{wrong}");
        }
    }
}
