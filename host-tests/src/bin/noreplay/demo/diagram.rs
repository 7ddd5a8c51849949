//! A sequence diagram: lanes from left to right, time from top to bottom.

use anstyle::Style;

use crate::style::{FAINT, STRONG, styled};

/// Draws rows between lanes.
pub(super) struct Diagram<'a> {
    lanes: &'a [Lane],
    rows: Vec<Row>,
}

/// A lane: its name, and the column that its line is in.
pub(super) struct Lane {
    pub(super) name: &'static str,
    pub(super) column: usize,
}

/// Characters and their styles, one a column.
type Row = Vec<(char, Style)>;

/// What an arrow ends in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    /// It arrives.
    Arrives,
    /// It is lost on the way.
    Lost,
}

impl<'a> Diagram<'a> {
    pub(super) fn new(lanes: &'a [Lane]) -> Diagram<'a> {
        let rows = Vec::new();
        let mut diagram = Diagram { lanes, rows };
        let mut names = Row::new();
        for lane in lanes {
            let start = lane.column.saturating_sub(lane.name.chars().count() / 2);
            write(&mut names, start, lane.name, STRONG);
        }
        diagram.rows.push(names);
        diagram.gap();
        diagram
    }

    /// A row in which nothing happens.
    pub(super) fn gap(&mut self) {
        let row = self.lifelines();
        self.rows.push(row);
    }

    /// An arrow from the lane `from` to the lane `to`, with a label on it.
    pub(super) fn arrow(&mut self, from: usize, to: usize, label: &str, style: Style, head: Head) {
        let (from, to) = (self.lanes[from].column, self.lanes[to].column);
        let (left, right) = (from.min(to) + 1, from.max(to));
        let mut row = self.lifelines();
        for (column, cell) in row.iter_mut().enumerate().take(right).skip(left) {
            let crossing = self.lanes.iter().any(|lane| lane.column == column);
            *cell = (if crossing { '┼' } else { '─' }, style);
        }
        let tip = match head {
            Head::Lost => '✕',
            Head::Arrives if from < to => '▶',
            Head::Arrives => '◀',
        };
        let end = if from < to { right - 1 } else { left };
        row[end] = (tip, style);
        self.label(&mut row, left, right, label, style);
        self.rows.push(row);
    }

    /// Puts a label into the middle of the first stretch of the arrow that is wide enough.
    fn label(&self, row: &mut Row, left: usize, right: usize, label: &str, style: Style) {
        let label = format!(" {label} ");
        let width = label.chars().count();
        let crossings = self.lanes.iter().map(|lane| lane.column);
        let mut edges: Vec<usize> = crossings.filter(|column| (left..right).contains(column)).collect();
        edges.insert(0, left - 1);
        edges.push(right);
        let room = edges
            .windows(2)
            .map(|edge| (edge[0] + 1, edge[1]))
            .find(|(start, end)| end - start >= width + 2)
            .unwrap_or((left, right));
        let start = room.0 + (room.1 - room.0).saturating_sub(width) / 2;
        write(row, start, &label, style);
    }

    /// A remark beside the lane `lane`, to its left.
    pub(super) fn remark(&mut self, lane: usize, words: &str, style: Style) {
        let mut row = self.lifelines();
        let width = words.chars().count();
        let start = self.lanes[lane].column.saturating_sub(width + 1);
        write(&mut row, start, words, style);
        self.rows.push(row);
    }

    /// The lanes' lines, and nothing else.
    fn lifelines(&self) -> Row {
        let mut row = Row::new();
        for lane in self.lanes {
            write(&mut row, lane.column, "│", FAINT);
        }
        row
    }

    /// The whole drawing.
    pub(super) fn draw(&self) -> String {
        let rows: Vec<String> = self.rows.iter().map(text).collect();
        rows.join("\n")
    }
}

/// Writes `text` into `row`, from `column` on.
fn write(row: &mut Row, column: usize, text: &str, style: Style) {
    let width = text.chars().count();
    if row.len() < column + width {
        row.resize(column + width, (' ', Style::new()));
    }
    for (cell, char) in row[column..].iter_mut().zip(text.chars()) {
        *cell = (char, style);
    }
}

/// A row, each stretch of one style at once.
fn text(row: &Row) -> String {
    row.chunk_by(|one, next| one.1 == next.1)
        .map(|stretch| {
            let text: String = stretch.iter().map(|(char, _)| char).collect();
            styled(stretch[0].1, &text)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LANES: [Lane; 3] = [
        Lane { name: "one", column: 2 },
        Lane { name: "two", column: 16 },
        Lane { name: "three", column: 30 },
    ];

    fn plain(diagram: &Diagram<'_>) -> String {
        anstream::adapter::strip_str(&diagram.draw()).to_string()
    }

    #[test]
    fn arrows_go_both_ways_and_cross_lanes() {
        let mut diagram = Diagram::new(&LANES);
        let style = Style::new();
        diagram.arrow(0, 1, "ask", style, Head::Arrives);
        diagram.arrow(2, 0, "reply", style, Head::Arrives);
        diagram.arrow(1, 2, "gone", style, Head::Lost);
        diagram.remark(2, "done", style);
        let expected = [
            " one           two          three",
            "  │             │             │",
            "  │──── ask ───▶│             │",
            "  │◀── reply ───┼─────────────│",
            "  │             │─── gone ───✕│",
            "  │             │        done │",
        ];
        assert_eq!(plain(&diagram).lines().collect::<Vec<_>>(), expected);
    }
}
