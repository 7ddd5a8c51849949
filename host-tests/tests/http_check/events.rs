//! Reads an event stream.

/// What an event says.
#[derive(Debug, Default)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) data: Vec<u8>,
    has_data: bool,
}

/// Reads lines that end in CR, LF or CR LF.
#[derive(Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    event: Event,
    after_cr: bool,
}

impl Events {
    /// The events that end within `bytes`.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut found = Vec::new();
        for &byte in bytes {
            let after_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match byte {
                b'\n' if after_cr => {}
                b'\r' | b'\n' => found.extend(self.end_line()),
                _ => self.line.push(byte),
            }
        }
        found
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return Some(std::mem::take(&mut self.event));
        }
        if let Some(data) = line.strip_prefix(b"data: ") {
            if self.event.has_data {
                self.event.data.push(b'\n');
            }
            self.event.has_data = true;
            self.event.data.extend_from_slice(data);
        } else if let Some(id) = line.strip_prefix(b"id: ") {
            self.event.id = Some(String::from_utf8_lossy(id).into_owned());
        }
        None
    }
}
