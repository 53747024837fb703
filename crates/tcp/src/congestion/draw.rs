//! Random numbers for controllers. They have no generator, so that a run can be repeated.

use forebay_core::Time;

/// A number from 0 to 1, drawn by hashing a time and a count (S. Vigna's `SplitMix64`).
pub(crate) fn drawn(at: Time, count: u64) -> f64 {
    let mut z = at.as_nanos().wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(count);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::Duration;

    #[test]
    fn numbers_drawn_a_moment_apart_are_even_and_repeat() {
        let at = |micros| Time::ZERO + Duration::from_micros(micros);
        let mut tenths = [0_u32; 10];
        for micros in 0..10_000 {
            let number = drawn(at(1200 * micros), micros);
            assert!((0.0..=1.0).contains(&number));
            tenths[(number * 10.0).min(9.0) as usize] += 1;
        }
        // 1000 in each; 4 deviations of 30.
        assert!(tenths.iter().all(|count| (880..=1120).contains(count)), "{tenths:?}");
        assert_eq!(drawn(at(7), 3).to_bits(), drawn(at(7), 3).to_bits());
    }
}
