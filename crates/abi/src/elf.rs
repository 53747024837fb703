//! The size that an ELF file says it has. The system maps a library that was cut off while it was
//! copied, and ends the process when it reads what is missing; so such a file is refused before.

/// The byte of the header that says how numbers are written, for this machine.
const ORDER: u8 = if cfg!(target_endian = "little") { 1 } else { 2 };

/// Places of numbers.
struct Layout {
    /// Bytes of the header.
    header: u64,
    /// Bytes of an offset.
    word: usize,
    /// In the header: offset of the table of segments, and the size and number of its entries.
    segments: [usize; 3],
    /// Likewise of the table of sections.
    sections: [usize; 3],
    /// In an entry of the former: offset of the segment, and its bytes in the file.
    segment: [usize; 2],
}

/// Of 64 bits, and of 32.
const WIDE: Layout = Layout {
    header: 64,
    word: 8,
    segments: [32, 54, 56],
    sections: [40, 58, 60],
    segment: [8, 32],
};
const NARROW: Layout = Layout {
    header: 52,
    word: 4,
    segments: [28, 42, 44],
    sections: [32, 46, 48],
    segment: [4, 16],
};

/// The least size of the ELF file that begins with `content`, as far as that tells; None if it is not
/// one for a machine such as this.
pub fn size(content: &[u8]) -> Option<u64> {
    let layout = match content.get(..6)? {
        [0x7f, b'E', b'L', b'F', 2, ORDER] => WIDE,
        [0x7f, b'E', b'L', b'F', 1, ORDER] => NARROW,
        _ => return None,
    };
    let number = |at: usize, length: usize| {
        let mut bytes = content.get(at..at.checked_add(length)?)?.to_vec();
        if cfg!(target_endian = "little") {
            bytes.reverse();
        }
        Some(bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    let offset = |at| number(at, layout.word);
    let table = |[at, length, count]: [usize; 3]| {
        Some((offset(at)?, number(length, 2)?, number(count, 2)?))
    };
    let Some((segments, sections)) = table(layout.segments).zip(table(layout.sections)) else {
        return Some(layout.header);
    };
    let end = |(begin, length, count): (u64, u64, u64)| begin.saturating_add(length * count);
    let segment = |entry| {
        let at = usize::try_from(end((segments.0, segments.1, entry))).ok()?;
        let [begin, bytes] = layout.segment.map(|place| offset(at.saturating_add(place)));
        Some(begin?.saturating_add(bytes?))
    };
    let ends = (0..segments.2).map_while(segment);
    ends.chain([layout.header, end(segments), end(sections)]).max()
}
