//! The size that an ELF file says it has. The system maps a library that was cut off while it was
//! copied, and ends the process when it reads what is missing; so such a file is refused before.

/// The first bytes of every ELF file.
pub const BEGINNING: &[u8] = b"\x7fELF";
/// Bytes of the header.
const HEADER: u64 = 64;
/// In the header: offset of the table of segments, and the size and number of its entries.
const SEGMENTS: [usize; 3] = [32, 54, 56];
/// Likewise of the table of sections.
const SECTIONS: [usize; 3] = [40, 58, 60];
/// In an entry of the former: offset of the segment, and its bytes in the file.
const SEGMENT: [usize; 2] = [8, 32];

/// The least size of the ELF file that begins with `content`, as far as that tells; None if it is not
/// one of 64 bits, the low byte first: the system refuses others itself.
pub fn size(content: &[u8]) -> Option<u64> {
    if !content.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let number = |at: usize, length: usize| {
        let bytes = content.get(at..at.checked_add(length)?)?;
        Some(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    let offset = |at| number(at, 8);
    let table = |[at, length, count]: [usize; 3]| {
        Some((offset(at)?, number(length, 2)?, number(count, 2)?))
    };
    let Some((segments, sections)) = table(SEGMENTS).zip(table(SECTIONS)) else {
        return Some(HEADER);
    };
    let end = |(begin, length, count): (u64, u64, u64)| begin.saturating_add(length * count);
    let segment = |entry| {
        let at = usize::try_from(end((segments.0, segments.1, entry))).ok()?;
        let [begin, bytes] = SEGMENT.map(|place| offset(at.saturating_add(place)));
        Some(begin?.saturating_add(bytes?))
    };
    let ends = (0..segments.2).map_while(segment);
    ends.chain([HEADER, end(segments), end(sections)]).max()
}
