//! Reading files that others provide: only regular files, and only up to a given size.
//!
//! Opening a FIFO could block for ever, and a device has no end.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Opens the regular file at `path` for reading.
///
/// # Errors
/// It is not a regular file ([`io::ErrorKind::InvalidInput`]; the message says what it is), or it
/// cannot be opened.
pub fn open(path: &Path) -> io::Result<File> {
    // Before it is opened, which some devices notice.
    regular(path.metadata().map_err(plain)?.file_type())?;
    let mut options = OpenOptions::new();
    options.read(true);
    // It may have become a FIFO since.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path).map_err(plain)?;
    regular(file.metadata()?.file_type())?;
    Ok(file)
}

/// Reads the regular file at `path`, which may have at most `most` bytes.
///
/// # Errors
/// As [`open`], or the file is larger ([`io::ErrorKind::FileTooLarge`]).
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let too_large = || {
        let message = format!("is larger than {} MiB, the most that is read", most >> 20);
        io::Error::new(io::ErrorKind::FileTooLarge, message)
    };
    let size = file.metadata()?.len();
    if size > most {
        return Err(too_large());
    }
    // It may grow meanwhile.
    let mut bytes = Vec::with_capacity(size as usize + 1);
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

/// Reads the regular file at `path`, UTF-8 of at most `most` bytes.
///
/// # Errors
/// As [`read`], or the file is not UTF-8 ([`io::ErrorKind::InvalidData`]).
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::new(io::ErrorKind::InvalidData, format!("is not UTF-8, from byte {at} on"))
    })
}

/// The error in words, without the system's error number.
fn plain(error: io::Error) -> io::Error {
    let message = match error.kind() {
        io::ErrorKind::NotFound => "there is no such file",
        io::ErrorKind::PermissionDenied => "permission to read it is denied",
        _ => return error,
    };
    io::Error::new(error.kind(), message)
}

fn regular(kind: FileType) -> io::Result<()> {
    #[cfg(unix)]
    use std::os::unix::fs::FileTypeExt;
    let what = match kind {
        _ if kind.is_file() => return Ok(()),
        _ if kind.is_dir() => "a directory",
        #[cfg(unix)]
        _ if kind.is_fifo() => "a FIFO",
        #[cfg(unix)]
        _ if kind.is_socket() => "a socket",
        #[cfg(unix)]
        _ if kind.is_char_device() || kind.is_block_device() => "a device",
        _ => "something else",
    };
    let message = format!("is {what}; it must be a regular file");
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("fb-file-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn only_regular_files_of_a_size_are_read() {
        let folder = folder("kinds");
        let file = folder.join("file");
        std::fs::write(&file, "twelve bytes").unwrap();
        assert_eq!(read_text(&file, 12).unwrap(), "twelve bytes");
        assert_eq!(read(&file, 11).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        std::fs::write(&file, b"ab\xff").unwrap();
        let error = read_text(&file, 12).unwrap_err().to_string();
        assert_eq!(error, "is not UTF-8, from byte 2 on");
        let fifo = folder.join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        for (path, what) in [
            (fifo.as_path(), "a FIFO"),
            (folder.as_path(), "a directory"),
            (Path::new("/dev/zero"), "a device"),
        ] {
            let error = read(path, 100).unwrap_err();
            assert_eq!(error.to_string(), format!("is {what}; it must be a regular file"));
        }
        let absent = read(&folder.join("none"), 9).unwrap_err();
        assert_eq!(absent.kind(), io::ErrorKind::NotFound);
        assert_eq!(absent.to_string(), "there is no such file");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// Many files in /proc claim to be empty and are not.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_size_is_not_believed() {
        assert_eq!(
            read(Path::new("/proc/self/status"), 10).unwrap_err().kind(),
            io::ErrorKind::FileTooLarge
        );
    }
}
