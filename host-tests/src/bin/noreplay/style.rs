//! How text looks on a terminal.

use anstyle::{AnsiColor, Style};

pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const DOUBT: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const STRONG: Style = Style::new().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();

/// `text` in `style`.
pub(crate) fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// `text`, which came from a server, without anything that could steer a terminal.
pub(crate) fn harmless(text: &str) -> String {
    text.chars()
        .flat_map(|char| {
            let steers = char.is_control() && char != '\n' && char != '\t';
            let shown = if steers { None } else { Some(char) };
            let hidden = if steers { Some(char.escape_default()) } else { None };
            shown.into_iter().chain(hidden.into_iter().flatten())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_cannot_steer_the_terminal() {
        assert_eq!(harmless("a\tb\nc\u{1b}[2J\u{e4}"), "a\tb\nc\\u{1b}[2J\u{e4}");
    }
}
