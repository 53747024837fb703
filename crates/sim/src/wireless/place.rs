//! Places and movements in the plane.

use forebay_core::config::require;
use forebay_core::{ConfigError, Duration, Time};

/// A point in the plane, in metres.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

impl Point {
    /// Square of the distance to `other`, in m^2.
    pub fn square_distance(self, other: Point) -> f64 {
        let (dx, dy) = (self.x - other.x, self.y - other.y);
        dx * dx + dy * dy
    }
}

/// A track: straight and at constant speed from one point to the next. At the end it stays.
#[derive(Debug, Clone, PartialEq)]
pub struct Track {
    /// At least one, in order of time.
    points: Vec<(Time, Point)>,
}

/// A track as a scenario writes it: `[["0s", 100, 200], ["10s", 300, 200]]`, each a time and the
/// coordinates in metres.
pub type TrackTable = Vec<(Duration, f64, f64)>;

impl Track {
    pub fn fixed(at: Point) -> Self {
        Track { points: vec![(Time::ZERO, at)] }
    }

    pub fn new(table: &TrackTable) -> Result<Self, ConfigError> {
        require(!table.is_empty(), "", || {
            "needs at least one point, such as [\"0s\", 100, 200]".into()
        })?;
        require(table.is_sorted_by(|(a, ..), (b, ..)| a < b), "", || {
            "must be in order of time, no two points at the same".into()
        })?;
        require(table.iter().all(|(_, x, y)| x.is_finite() && y.is_finite()), "", || {
            "must have finite coordinates".into()
        })?;
        let point = |&(at, x, y): &(Duration, f64, f64)| (Time::ZERO + at, Point { x, y });
        Ok(Track { points: table.iter().map(point).collect() })
    }

    pub fn moves(&self) -> bool {
        self.points.iter().any(|(_, point)| *point != self.points[0].1)
    }

    pub fn end(&self) -> Time {
        self.points[self.points.len() - 1].0
    }

    #[inline]
    pub fn at(&self, now: Time) -> Point {
        let next = self.points.partition_point(|(at, _)| *at <= now);
        let (Some(&(begin, a)), Some(&(end, b))) =
            (self.points.get(next.wrapping_sub(1)), self.points.get(next))
        else {
            return if next == 0 { self.points[0].1 } else { self.points[next - 1].1 };
        };
        let share = (now - begin).as_secs_f64() / (end - begin).as_secs_f64();
        Point { x: a.x + (b.x - a.x) * share, y: a.y + (b.y - a.y) * share }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_track_is_steady_between_its_points() {
        let table = vec![
            (Duration::from_secs(10), 0.0, 0.0),
            (Duration::from_secs(20), 100.0, 50.0),
            (Duration::from_secs(30), 100.0, 0.0),
        ];
        let track = Track::new(&table).unwrap();
        let at = |secs| {
            let Point { x, y } = track.at(Time::ZERO + Duration::from_secs(secs));
            (x, y)
        };
        assert_eq!((at(0), at(10), at(15)), ((0.0, 0.0), (0.0, 0.0), (50.0, 25.0)));
        assert_eq!((at(20), at(25), at(99)), ((100.0, 50.0), (100.0, 25.0), (100.0, 0.0)));
        assert!(track.moves() && !Track::fixed(Point { x: 3.0, y: 4.0 }).moves());
        assert!(Track::new(&Vec::new()).is_err());
        assert!(Track::new(&vec![table[1], table[0]]).is_err());
    }
}
