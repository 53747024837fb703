//! A picture of a run for a terminal or a log.

use forebay_sim::Table;
use serde_json::Value;
use std::fmt::Write;

/// Columns of a picture.
const WIDTH: usize = 64;

/// Heights that one character can show.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The series of a run, each on a line, with its mean and maximum.
pub fn picture(summary: &Value, tables: &[Table]) -> String {
    let mut text = String::new();
    let words = |key: &str| summary[key].to_string();
    let _ = writeln!(
        text,
        "seed {}, {} s, fingerprint {}",
        words("seed"),
        words("duration_s"),
        summary["fingerprint"].as_str().unwrap_or_default()
    );
    for table in tables {
        let (column, scale, unit) = match table.name {
            "class" => ("throughput_bps", 1e-6, "Mbit/s"),
            "queue" => ("mean_packets", 1.0, "packets"),
            _ => continue,
        };
        let Some((_, values)) = table.columns.iter().find(|(name, _)| name == column) else {
            continue;
        };
        let name = table.labels.first().map_or("", |(_, name)| name);
        let values: Vec<f64> = values.iter().map(|value| value * scale).collect();
        let most = values.iter().copied().fold(0.0, f64::max);
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let _ = writeln!(
            text,
            "{:>16} |{}| mean {mean:.1}, most {most:.1} {unit}",
            format!("{} {name}", table.name),
            line(&values, most)
        );
    }
    text
}

/// The means of equal parts of `values`, as bars of which the highest stands for `most`.
fn line(values: &[f64], most: f64) -> String {
    let width = WIDTH.min(values.len());
    let part = |at: usize| at * values.len() / width.max(1);
    let bar = |at: usize| {
        let part = &values[part(at)..part(at + 1)];
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        let height = (mean / most * 8.0).ceil();
        BARS[if height > 0.0 { (height as usize).min(8) } else { 0 }]
    };
    (0..width).map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_means_of_equal_parts() {
        let values: Vec<f64> = (0..128).map(|at| f64::from(at / 64)).collect();
        let line = line(&values, 1.0);
        assert_eq!(line, format!("{}{}", " ".repeat(32), "█".repeat(32)));
    }

    #[test]
    fn nothing_is_an_empty_line() {
        assert_eq!(line(&[], 0.0), "");
        assert_eq!(line(&[0.0; 3], 0.0), "   ");
    }
}
