//! Parameters that an agent sets: numbers of a discipline or of a congestion control.

use crate::scenario::path;
use forebay_core::ConfigError;
use forebay_core::config::require;
use serde::Deserialize;
use serde_json::Value;

/// A parameter, and how an action from -1 to 1 becomes its value.
#[derive(Debug, Clone, Deserialize)]
pub struct Range {
    /// Its path inside the table: `target`, `admit.target`, `queues[0].limit`.
    pub path: String,
    /// The value of -1, in `unit`.
    pub low: f64,
    /// The value of 1.
    pub high: f64,
    /// Unit of the numbers; empty for plain numbers.
    pub unit: String,
    /// Whether equal differences of the action are equal ratios of the value.
    pub log: bool,
}

/// The table of a part, and the parameters in it that an agent sets.
#[derive(Debug, Clone)]
pub struct Knobs {
    block: Value,
    ranges: Vec<(Range, String, bool)>,
}

impl Knobs {
    /// The parameters of `ranges` in `block`. `accepts` checks a table.
    ///
    /// # Errors
    /// A parameter does not exist, or a range contains values that it may not have.
    pub fn new(
        block: Value,
        ranges: &[Range],
        accepts: impl Fn(&Value) -> Result<(), ConfigError>,
    ) -> Result<Self, ConfigError> {
        let mut knobs = Knobs { block, ranges: Vec::with_capacity(ranges.len()) };
        for range in ranges {
            let at = |error: ConfigError| ConfigError::new(&range.path, error.message);
            // Not a whole number, whatever the ends are: parameters that count packets refuse it.
            let between = range.low + (range.high - range.low) * 0.381_966;
            let mut trial = knobs.block.clone();
            let pointer = path::set(&mut trial, &range.path, Value::Null).map_err(at)?;
            let mut refused = |value: f64, whole: bool| {
                set(&mut trial, &pointer, written(range, value, whole));
                accepts(&trial).err()
            };
            let whole = refused(between, false).is_some();
            for value in [range.low, range.high, between] {
                refused(value, whole).map_or(Ok(()), |error| Err(at(error)))?;
            }
            path::set(&mut knobs.block, &range.path, written(range, between, whole)).map_err(at)?;
            knobs.ranges.push((range.clone(), pointer, whole));
        }
        Ok(knobs)
    }

    /// Number of parameters.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The table after `actions`, one for each parameter; they are limited to -1 to 1.
    pub fn turn(&mut self, actions: &[f32]) -> &Value {
        for ((range, pointer, whole), action) in self.ranges.iter().zip(actions) {
            let share = f64::midpoint(f64::from(action.clamp(-1.0, 1.0)), 1.0);
            let value = if range.log {
                libm::exp(libm::log(range.low) + share * libm::log(range.high / range.low))
            } else {
                range.low + share * (range.high - range.low)
            };
            // By rounding errors it may lie beyond an end.
            let value = value.clamp(range.low, range.high);
            set(&mut self.block, pointer, written(range, value, *whole));
        }
        &self.block
    }
}

/// Sets the field at `pointer`, which must exist.
fn set(block: &mut Value, pointer: &str, value: Value) {
    *block.pointer_mut(pointer).expect("it has been set before") = value;
}

fn written(range: &Range, value: f64, whole: bool) -> Value {
    let value = if whole { value.round() } else { value };
    match (range.unit.is_empty(), whole) {
        (true, true) => Value::from(value as i64),
        (true, false) => Value::from(value),
        (false, _) => Value::from(format!("{value}{}", range.unit)),
    }
}

/// Checks the ranges themselves.
///
/// # Errors
/// There is none, one is empty, or one has no logarithm.
pub fn check(ranges: &[Range]) -> Result<(), ConfigError> {
    require(!ranges.is_empty(), "", || "is empty; name a parameter to set".into())?;
    for range in ranges {
        require(range.low < range.high, &range.path, || "must have its low end first".into())?;
        require(!range.log || range.low > 0.0, &range.path, || "must be above 0 for :log".into())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_ends_of_an_action_are_the_ends_of_the_range() {
        for (low, high) in [(1e-4, 1.0), (0.1, 0.3), (3.0, 7e9)] {
            for log in [false, true] {
                let unit = String::new();
                let range = Range { path: "share".into(), low, high, unit, log };
                let mut knobs = Knobs::new(json!({}), &[range], |_| Ok(())).unwrap();
                let mut value = |action| knobs.turn(&[action])["share"].as_f64().unwrap();
                for (action, end) in [(-1.0, low), (-9.0, low), (1.0, high), (9.0, high)] {
                    let value = value(action);
                    assert!(low <= value && value <= high, "{action}: {value}");
                    assert!((value / end - 1.0).abs() < 1e-12, "{action}: {value}");
                }
                let mean = if log { (low * high).sqrt() } else { f64::midpoint(low, high) };
                assert!((value(0.0) / mean - 1.0).abs() < 1e-12, "{log}: {}", value(0.0));
            }
        }
    }
}
