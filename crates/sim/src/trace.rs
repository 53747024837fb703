//! Traces: recorded courses.
//!
//! **Delivery opportunities**, in the format of mahimahi. Each line is a whole number of milliseconds since
//! the beginning, and one opportunity to deliver up to 1504 bytes (mahimahi's packets: 1500 and the 4 of
//! its tunnel). Several lines may be equal, and none is smaller than the one before. The trace repeats
//! after its last line's time.
//! Source: R. Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015,
//! section 4 (link emulation).
//!
//! **Steps**: each line has a time and the value from then on, such as `5s 2Mbit`.

use forebay_core::{Capacity, Duration, Time, config};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Bytes that one line delivers, as in mahimahi.
pub const QUANTUM: u32 = 1504;

/// Largest file in bytes: ten million lines and more.
pub const LARGEST: u64 = 64 << 20;

/// Reads the trace whose text is `text`; each line delivers `quantum` bytes ([`QUANTUM`] unless the
/// scenario says otherwise).
///
/// # Errors
/// The fault and its line: there are no opportunities, something is not a whole number of
/// milliseconds, a time is smaller than the one above it, the trace has no length, or it carries
/// less than 1 bit/s.
///
/// # Panics
/// If `quantum` is zero.
pub fn read_trace(text: &str, quantum: u32) -> Result<Capacity, String> {
    assert!(quantum > 0);
    let mut instants = Vec::new();
    let mut last = 0;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let number = index + 1;
        let millis: u64 =
            line.parse().ok().filter(|millis| *millis < 1 << 40).ok_or_else(|| {
                format!(
                    "line {number}: expected a whole number of milliseconds, got \"{}\"; a trace \
                     in the format of mahimahi has one a line",
                    line.chars().take(40).collect::<String>()
                )
            })?;
        if millis < last {
            return Err(format!(
                "line {number}: {millis} ms is before the {last} ms above it; put the lines in \
                 order with `sort -n`"
            ));
        }
        last = millis;
        instants.push(Time::ZERO + Duration::from_millis(millis));
    }
    if instants.is_empty() {
        return Err("is empty; it needs a line for each opportunity to send".into());
    }
    if last == 0 {
        return Err("lasts for no time: its last line must be above 0 ms".into());
    }
    let count = instants.len();
    let capacity = Capacity::opportunities(instants, Duration::from_millis(last), quantum);
    if capacity.rate(Time::ZERO).bps() == 0 {
        return Err(format!(
            "carries less than 1 bit/s: {count} opportunities of {quantum} B in {last} ms; are \
             its times in ms?"
        ));
    }
    Ok(capacity)
}

/// Whether the trace whose text is `text` has steps rather than opportunities: its first line has more
/// than one word.
pub fn has_steps(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty());
    first.is_some_and(|line| line.split_whitespace().count() > 1)
}

/// Reads the steps of the trace whose text is `text`. Their order is not checked.
///
/// # Errors
/// The fault and its line: it does not have a time and a value. Or there are no steps.
pub fn read_steps<T: DeserializeOwned>(text: &str) -> Result<Vec<(Duration, T)>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let step = |(index, line): (usize, &str)| {
        let at_line = |error: String| format!("line {}: {error}", index + 1);
        let words: Vec<_> = line.split_whitespace().collect();
        let [time, value] = words[..] else {
            let line: String = line.chars().take(40).collect();
            return Err(at_line(format!("expected a time and a value, got \"{line}\"")));
        };
        let value = value.parse().map_or_else(|_| Value::from(value), |number: f64| number.into());
        let step = (config::read(&Value::from(time)), config::read(&value));
        match step {
            (Ok(time), Ok(value)) => Ok((time, value)),
            (Err(error), _) | (_, Err(error)) => Err(at_line(error.to_string())),
        }
    };
    let steps: Vec<_> = lines.map(step).collect::<Result<_, _>>()?;
    if steps.is_empty() {
        return Err("is empty; it needs lines with a time and a value".into());
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_opportunity() {
        let mut capacity = read_trace("1\n1\n3\n\n8\n", QUANTUM).unwrap();
        let ms = |millis| Time::ZERO + Duration::from_millis(millis);
        // Four opportunities of 1504 B in 8 ms: 6.016 Mbit/s.
        assert_eq!(capacity.rate(Time::ZERO).bps(), 6_016_000);
        assert_eq!(capacity.finish(ms(0), 1504), ms(1));
        assert_eq!(capacity.finish(ms(1), 1504), ms(1));
        assert_eq!(capacity.finish(ms(1), 1504), ms(3));
        assert_eq!(capacity.finish(ms(3), 1504), ms(8));
        // The next period begins with the last line's time.
        assert_eq!(capacity.finish(ms(8), 1504), ms(9));
        let half = read_trace("1\n1\n3\n8\n", 752).unwrap();
        assert_eq!(half.rate(Time::ZERO).bps(), 3_008_000);
    }

    #[test]
    fn the_example_trace_has_its_mean_rate() {
        // 39 739 lines of 1504 B in 90.056 s.
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/fading.trace.gz");
        let text = crate::input::read(path.as_ref(), LARGEST).unwrap();
        let capacity = read_trace(str::from_utf8(&text).unwrap(), QUANTUM).unwrap();
        assert_eq!(capacity.rate(Time::ZERO).bps(), 5_309_359);
    }

    #[test]
    fn what_is_no_trace_says_where_and_why() {
        for (text, expected) in [
            ("", "is empty; it needs a line for each"),
            ("\n\n", "is empty; it needs a line for each"),
            ("0\n0\n", "above 0 ms"),
            // 2 x 12 032 bits in 35 years.
            ("0\n1099511627775\n", "less than 1 bit/s"),
            ("1\n2\nfast\n", "line 3: expected a whole number of milliseconds, got \"fast\""),
            ("1\n2.5\n", "line 2: expected a whole number"),
            ("-1\n", "line 1: expected a whole number"),
            ("1\n5\n\n4\n", "line 4: 4 ms is before the 5 ms"),
            ("99999999999999999\n", "line 1: expected a whole number"),
        ] {
            let error = read_trace(text, QUANTUM).unwrap_err();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_line_may_be_a_step() {
        let steps = read_steps("0s 10ms\n\n 1.5s\t20ms\n").unwrap();
        let ms = Duration::from_millis;
        assert_eq!(steps, [(ms(0), ms(10)), (ms(1500), ms(20))]);
        assert_eq!(read_steps("0s 0.5\n2s 1\n").unwrap(), [(ms(0), 0.5), (ms(2000), 1.0)]);
        assert!(has_steps("\n0s 0.5\n") && !has_steps("\n5\n") && !has_steps(""));
        for (text, expected) in [
            ("\n", "is empty; it needs lines with a time and a value"),
            ("0s 10ms\n1s\n", "line 2: expected a time and a value, got \"1s\""),
            ("0s 10ms\n1s 2ms 3\n", "line 2: expected a time and a value"),
            ("\nsoon 10ms\n", "line 2: "),
            ("0s fast\n", "line 1: "),
        ] {
            let error = read_steps::<Duration>(text).unwrap_err();
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
    }
}
