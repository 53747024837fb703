//! Captures and traces on disk: plain, or packed by gzip.

use flate2::read::MultiGzDecoder;
use forebay_core::file;
use std::borrow::Cow;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// The first bytes of a gzip file (RFC 1952, section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads the regular file at `path`, of at most `most` bytes. A gzip file is unpacked, to at most
/// as many.
///
/// # Errors
/// As [`file::read`]; or a gzip file holds more ([`ErrorKind::FileTooLarge`]), or is cut off or
/// damaged ([`ErrorKind::InvalidData`]).
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let bytes = file::read(path, most)?;
    Ok(match unpacked(&bytes, most)? {
        Cow::Borrowed(_) => bytes,
        Cow::Owned(unpacked) => unpacked,
    })
}

/// The content of a file that is plain or packed by gzip.
///
/// # Errors
/// As [`read`] has them of a gzip file.
pub fn unpacked(bytes: &[u8], most: u64) -> Result<Cow<'_, [u8]>> {
    if !bytes.starts_with(&GZIP) {
        return Ok(bytes.into());
    }
    let mut unpacked = Vec::new();
    MultiGzDecoder::new(bytes).take(most + 1).read_to_end(&mut unpacked).map_err(|_| {
        let message = "is a gzip file that is cut off or damaged; copy it again";
        Error::new(ErrorKind::InvalidData, message)
    })?;
    if unpacked.len() as u64 > most {
        let message = format!("is larger than {} MiB unpacked, the most that is read", most >> 20);
        return Err(Error::new(ErrorKind::FileTooLarge, message));
    }
    Ok(unpacked.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    const TEXT: &[u8] = b"1\n3\n8\n";

    fn packed(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn read_back(name: &str, bytes: &[u8], most: u64) -> Result<Vec<u8>> {
        let path = std::env::temp_dir().join(format!("fb-input-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        let found = read(&path, most);
        std::fs::remove_file(&path).unwrap();
        found
    }

    #[test]
    fn gzip_is_unpacked_and_all_else_is_as_it_is() {
        assert_eq!(read_back("plain", TEXT, 6).unwrap(), TEXT);
        assert_eq!(read_back("packed", &packed(TEXT), 100).unwrap(), TEXT);
        // `cat a.gz b.gz` is a gzip file (RFC 1952, section 2.2).
        let two = [packed(TEXT), packed(b"9\n")].concat();
        assert_eq!(read_back("two", &two, 100).unwrap(), b"1\n3\n8\n9\n");
        assert_eq!(read_back("short", &GZIP[..1], 100).unwrap(), GZIP[..1]);
    }

    #[test]
    fn the_limit_is_that_of_what_is_unpacked() {
        let zeros = packed(&vec![0; 3 << 20]);
        assert!(zeros.len() < 1 << 14);
        assert_eq!(read_back("fits", &zeros, 3 << 20).unwrap().len(), 3 << 20);
        let error = read_back("large", &zeros, (3 << 20) - 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert_eq!(error.to_string(), "is larger than 2 MiB unpacked, the most that is read");
    }

    #[test]
    fn what_is_cut_off_or_damaged_is_refused() {
        let whole = packed(TEXT);
        for end in 2..whole.len() {
            let error = read_back("cut", &whole[..end], 100).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData, "{end} bytes");
        }
        for at in 10..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            // A bit may fill up a byte and mean nothing.
            match read_back("damaged", &damaged, 1 << 20) {
                Ok(text) => assert_eq!(text, TEXT, "byte {at}"),
                Err(error) => assert!(error.to_string().contains("cut off or damaged"), "{error}"),
            }
        }
    }
}
