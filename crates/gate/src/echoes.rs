//! Round trips of TCP connections that pass, by the echoes of their timestamps (RFC 7323).
//!
//! A segment carries its sender's clock (`TSval`), and the receiver echoes it (`TSecr`). The time
//! from the first segment with a value to the first echo of it is a round trip from here to the
//! receiver and back. It includes what waits in the queues on that way, here as well, and the time
//! for which the receiver delays its acknowledgment.
//!
//! Source: K. Nichols, "pping: passive ping network monitoring utility", 2018. As in the
//! `pping` of the XDP project, pure acknowledgments are not timed, because their echo comes only
//! with the next data, perhaps much later.
//!
//! Cost: a table of 1 MiB in each direction, whatever the number of connections; one cache line for
//! each packet of TCP with timestamps.

use forebay_core::tcp::{Tcp, flags};
use forebay_core::{Duration, Time};

/// Sets of a table.
const SETS: usize = 1 << 14;
/// Entries of a set, which are one cache line.
const WAYS: usize = 4;
/// Longer round trips are not believed: the value may be of another connection.
const LONGEST: Duration = Duration::from_secs(10);

/// A value of a connection, and when it was first seen.
#[derive(Clone, Copy, Default)]
struct Entry {
    /// Flow and value; 0 if it is free.
    key: u64,
    /// Nanoseconds, with the lowest bit set once it was echoed.
    at: u64,
}

/// Values that passed in one direction.
pub struct Echoes {
    sets: Box<[[Entry; WAYS]]>,
}

impl Default for Echoes {
    fn default() -> Self {
        Echoes { sets: vec![[Entry::default(); WAYS]; SETS].into() }
    }
}

impl Echoes {
    /// A segment with `header` passes at `now`; `flow` is the hash of its addresses and ports.
    #[inline]
    pub fn passes(&mut self, flow: u32, header: &Tcp, now: Time) {
        let Some((value, _)) = header.timestamps else { return };
        if header.payload_len == 0 && header.flags & flags::SYN == 0 {
            return;
        }
        let key = key(flow, value);
        let set = &mut self.sets[place(key)];
        if set.iter().any(|entry| entry.key == key) {
            return;
        }
        // The oldest one makes room: echoed or not, it is the least likely to be needed.
        let oldest = set.iter_mut().min_by_key(|entry| entry.at).expect("there are four");
        *oldest = Entry { key, at: now.as_nanos() & !1 };
    }

    /// A segment with `header` passes in the other direction at `now`; `flow` is the hash of its
    /// addresses and ports exchanged. Returns the round trip if it is the first echo of a value.
    #[inline]
    pub fn echoed(&mut self, flow: u32, header: &Tcp, now: Time) -> Option<Duration> {
        let (_, value) = header.timestamps.filter(|_| header.flags & flags::ACK != 0)?;
        let key = key(flow, value);
        let entry = self.sets[place(key)].iter_mut().find(|entry| entry.key == key)?;
        let begun = entry.at;
        // It stays, so that later segments with this value do not begin anew.
        entry.at |= 1;
        let round = now.since(Time::from_nanos(begun));
        (begun & 1 == 0 && round <= LONGEST).then_some(round)
    }
}

fn key(flow: u32, value: u32) -> u64 {
    // Zero is free.
    (u64::from(flow) << 32 | u64::from(value)).max(1)
}

/// The set of a key (Fibonacci hashing).
fn place(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SETS.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(value: u32, echo: u32, payload_len: u32) -> Tcp {
        let mut bytes = vec![0; 32];
        (bytes[12], bytes[13]) = (8 << 4, flags::ACK as u8);
        bytes[20..24].copy_from_slice(&[1, 1, 8, 10]);
        bytes[24..28].copy_from_slice(&value.to_be_bytes());
        bytes[28..32].copy_from_slice(&echo.to_be_bytes());
        bytes.resize(32 + payload_len as usize, 0);
        Tcp::read(&bytes).unwrap()
    }

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn the_first_echo_of_the_first_segment_counts() {
        let mut echoes = Echoes::default();
        echoes.passes(7, &segment(100, 1, 1_000), ms(0));
        echoes.passes(7, &segment(100, 1, 1_000), ms(5));
        echoes.passes(7, &segment(110, 1, 1_000), ms(10));
        assert_eq!(echoes.echoed(8, &segment(1, 100, 0), ms(20)), None);
        assert_eq!(echoes.echoed(7, &segment(1, 100, 0), ms(30)), Some(Duration::from_millis(30)));
        assert_eq!(echoes.echoed(7, &segment(1, 100, 0), ms(31)), None);
        // A segment of the same tick after the echo does not begin anew.
        echoes.passes(7, &segment(100, 1, 1_000), ms(32));
        assert_eq!(echoes.echoed(7, &segment(1, 100, 0), ms(60)), None);
        assert_eq!(echoes.echoed(7, &segment(1, 110, 0), ms(50)), Some(Duration::from_millis(40)));
        // Pure acknowledgments are not timed, nor is what comes too late.
        echoes.passes(7, &segment(120, 1, 0), ms(60));
        assert_eq!(echoes.echoed(7, &segment(1, 120, 9), ms(70)), None);
        echoes.passes(7, &segment(130, 1, 9), ms(80));
        assert_eq!(echoes.echoed(7, &segment(1, 130, 9), ms(10_081)), None);
    }

    #[test]
    fn a_full_table_forgets_the_oldest() {
        let mut echoes = Echoes::default();
        let many = (SETS * WAYS * 4) as u32;
        for value in 0..many {
            echoes.passes(1, &segment(value, 0, 9), Time::from_nanos(u64::from(value) * 1_000));
        }
        let now = Time::from_nanos(u64::from(many) * 1_000);
        let mut found = |values: std::ops::Range<u32>| {
            values.filter(|value| echoes.echoed(1, &segment(0, *value, 0), now).is_some()).count()
        };
        assert_eq!(found(0..1_000), 0);
        assert!(found(many - 1_000..many) > 990);
    }
}
