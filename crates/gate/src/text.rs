//! Text for people: on a terminal, in logs, in metrics.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::io::Write as _;

/// The longest time in which standard error accepts a line, in ms. Its reader may have stopped.
const PATIENCE: i64 = 200;

/// Number of characters of a line that a message repeats.
const LONGEST: usize = 160;

/// Whether `char` might control a terminal, or change the order in which text is shown.
fn is_control(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(char, '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// `text` on one line, with `\u001b` for control characters.
pub fn name(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// `text` with its line ends, and `\u001b` for other control characters.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |char| char == '\n')
}

/// `text` with lines of at most `LONGEST` characters.
pub fn short(text: &str) -> String {
    let cut = |line: &str| line.chars().take(LONGEST).collect::<String>();
    text.lines().map(cut).collect::<Vec<_>>().join("\n")
}

fn escaped(text: &str, keeps: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_bad = |char| is_control(char) && !keeps(char);
    if !text.contains(is_bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        if is_bad(char) {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(char));
        } else {
            out.push(char);
        }
    }
    Cow::Owned(out)
}

/// Writes `text` to standard error, line by line. If standard error is closed or full, no thread
/// waits for it.
pub fn print(text: &str) {
    let error = std::io::stderr();
    let timeout = Timespec { tv_sec: 0, tv_nsec: PATIENCE * 1_000_000 };
    for line in lines(text).split_inclusive('\n') {
        let mut ready = [PollFd::new(&error, PollFlags::OUT)];
        match poll(&mut ready, Some(&timeout)) {
            Ok(0) => return,
            _ => drop(error.lock().write_all(line.as_bytes())),
        }
    }
}

/// The line of the log that says `what`.
pub fn line(what: impl Display) -> String {
    format!("forebay-gate: {what}\n")
}

/// Says `what` on standard error.
pub fn say(what: impl Display) {
    print(&line(what));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        assert_eq!(name("voice \u{e9} \u{4e2d}"), "voice \u{e9} \u{4e2d}");
        assert_eq!(name("\x1b[2Jred\n"), "\\u001b[2Jred\\u000a");
        assert_eq!(name("a\u{9b}31m\u{7f}"), "a\\u009b31m\\u007f");
        assert_eq!(name("evil\u{202e}txt"), "evil\\u202etxt");
        assert_eq!(short(&format!("{}\n^", "x".repeat(1_000))), format!("{}\n^", "x".repeat(160)));
        assert_eq!(lines("1\n2\t\x07"), "1\n2\\u0009\\u0007");
    }
}
