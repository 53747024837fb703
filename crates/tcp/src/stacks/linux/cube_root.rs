//! CUBIC's cube root, as Linux computes it (`cubic_root` of `tcp_cubic.c`). Since 2.6.22 it is not
//! exact, and its last bits decide when the window grows.

use super::Version;

/// The cube root of `a`.
pub(super) fn cube_root(version: Version, a: u64) -> u64 {
    match version {
        // It iterates until the root is exact.
        Version::Linux2_6_18 => libm::cbrt(a as f64) as u64,
        _ => by_table(a),
    }
}

fn bits(a: u64) -> u32 {
    u64::BITS - a.leading_zeros()
}

/// 2.6.26 and 6.1: a table for the six leading bits, in 1/64 minus ten, and one step of Newton's
/// iteration.
fn by_table(a: u64) -> u64 {
    let length = bits(a);
    if length < 7 {
        return (u64::from(TABLE[a as usize]) + 35) >> 6;
    }
    let digits = ((length * 84) >> 8) - 1;
    let leading = TABLE[(a >> (3 * digits)) as usize];
    let x = ((u64::from(leading) + 10) << digits) >> 6;
    // A third, in 1/1024.
    ((2 * x + a / (x * (x - 1))) * 341) >> 10
}

#[rustfmt::skip]
const TABLE: [u8; 64] = [
    0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156,
    157, 161, 164, 168, 170, 173, 176, 179, 181, 185, 187, 190, 192, 194, 197, 199,
    200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227, 229,
    231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_near_but_not_exact() {
        let wmax = (1 << 40) / 410;
        let mut exact = 0;
        for segments in 1..2000 {
            let root = by_table(wmax * segments) as f64;
            let want = libm::cbrt((wmax * segments) as f64);
            assert!((root / want - 1.0).abs() < 4e-3, "{segments}: {root} {want}");
            exact += u32::from(root == want.floor());
        }
        assert!(exact < 1000, "{exact}");
    }

    #[test]
    fn small_numbers() {
        assert_eq!([0, 1, 3, 4, 7, 8, 27, 63].map(by_table), [0, 1, 1, 2, 2, 2, 3, 4]);
    }
}
