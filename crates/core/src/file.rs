//! Files of users: reading only regular ones up to a given size, writing only to regular ones, and
//! errors in words with their remedy.
//!
//! Opening a FIFO could block for ever, a device has no end, and a symbolic link may lead to another
//! file.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

thread_local! {
    static LENT: RefCell<BTreeMap<PathBuf, Vec<u8>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Lets [`read`] and [`size`] find `bytes` at `path` in this thread, whatever is there. A web page,
/// which has no files, brings what its scenarios read so.
pub fn lend(path: PathBuf, bytes: Vec<u8>) {
    LENT.with_borrow_mut(|lent| lent.insert(path, bytes));
}

/// The size in bytes of the file at `path`, if there is one.
pub fn size(path: &Path) -> Option<u64> {
    let lent = LENT.with_borrow(|lent| lent.get(path).map(|bytes| bytes.len() as u64));
    lent.or_else(|| Some(std::fs::metadata(path).ok()?.len()))
}

/// Opens the regular file at `path` for reading.
///
/// # Errors
/// It is not a regular file ([`io::ErrorKind::InvalidInput`]; the message says what it is), or it
/// cannot be opened.
pub fn open(path: &Path) -> io::Result<File> {
    // This comes before the file is opened, because some devices react to that.
    regular(path.metadata().map_err(described)?.file_type())?;
    let mut options = OpenOptions::new();
    options.read(true);
    // Meanwhile the file may have been replaced by a FIFO.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path).map_err(described)?;
    regular(file.metadata()?.file_type())?;
    Ok(file)
}

/// Opens the file at `path` for writing: a new one, or the regular file that is there, emptied.
///
/// # Errors
/// A symbolic link or something else than a regular file is there, or it cannot be written.
pub fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // Only a regular file is emptied, below.
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags);
    }
    let file = options.open(path).map_err(described)?;
    regular(file.metadata()?.file_type())?;
    if file.metadata()?.len() > 0 {
        file.set_len(0).map_err(described)?;
    }
    Ok(file)
}

/// Reads the regular file at `path`, which may have at most `most` bytes.
///
/// # Errors
/// As [`open`], or the file is larger ([`io::ErrorKind::FileTooLarge`]).
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let lent = LENT.with_borrow(|lent| lent.get(path).cloned());
    let too_large = || {
        let message = format!("is larger than {} MiB, the most that is read", most >> 20);
        io::Error::new(io::ErrorKind::FileTooLarge, message)
    };
    if let Some(bytes) = lent {
        return if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) };
    }
    let file = open(path)?;
    let size = file.metadata()?.len();
    if size > most {
        return Err(too_large());
    }
    // The file may grow while it is read.
    let mut bytes = Vec::with_capacity(size as usize + 1);
    file.take(most + 1).read_to_end(&mut bytes).map_err(described)?;
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

/// Reads the regular file at `path`, UTF-8 of at most `most` bytes.
///
/// # Errors
/// As [`read`], or the file is not UTF-8 ([`io::ErrorKind::InvalidData`]).
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    text(read(path, most)?)
}

/// `bytes` as text.
///
/// # Errors
/// They are not UTF-8 ([`io::ErrorKind::InvalidData`]).
pub fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::new(io::ErrorKind::InvalidData, format!("is not UTF-8, from byte {at} on"))
    })
}

/// An error of the system in words, with its remedy and without its number.
pub fn words(error: &io::Error) -> String {
    let known = match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or folder",
        io::ErrorKind::PermissionDenied => {
            "permission is denied; change the permissions, or choose another place"
        }
        io::ErrorKind::StorageFull => {
            "no space is left on the device; make room, or choose another place"
        }
        io::ErrorKind::QuotaExceeded => {
            "the disk quota is used up; make room, or choose another place"
        }
        io::ErrorKind::FileTooLarge => {
            "the file would be larger than is allowed; raise the limit (ulimit -f), or choose \
             another place"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "the file system can only be read; choose another place"
        }
        io::ErrorKind::IsADirectory => "is a folder, not a file; give the name of a file",
        io::ErrorKind::NotADirectory => "a part of the path is a file; choose another place",
        io::ErrorKind::AlreadyExists => "exists already; choose another name",
        io::ErrorKind::InvalidFilename => "the name is too long; choose a shorter one",
        io::ErrorKind::Interrupted => "the system was interrupted; run the command again",
        _ => "",
    };
    if !known.is_empty() {
        return known.to_owned();
    }
    #[cfg(unix)]
    match error.raw_os_error() {
        Some(libc::ELOOP) => {
            return "is a symbolic link that is not followed, or leads to itself; remove it, or \
                    choose another place"
                .to_owned();
        }
        Some(libc::EIO) => {
            return "the device failed (input/output error); check it, or choose another place"
                .to_owned();
        }
        Some(libc::EMFILE | libc::ENFILE) => {
            return "too many files are open; raise the limit (ulimit -n), or run less at a time"
                .to_owned();
        }
        _ => {}
    }
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => format!("{}; check the path, or choose another place", &text[..end]),
        None => text,
    }
}

/// The error, with [`words`] as its message.
fn described(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), words(&error))
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
        assert_eq!(absent.to_string(), "there is no such file or folder");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn only_regular_files_are_written() {
        let folder = folder("created");
        let (file, link, fifo) = (folder.join("file"), folder.join("link"), folder.join("fifo"));
        std::fs::write(&file, "kept").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let said = create(&link).unwrap_err().to_string();
        assert!(said.starts_with("is a symbolic link"), "{said}");
        assert_eq!(std::fs::read(&file).unwrap(), b"kept");
        for other in [fifo.as_path(), folder.as_path(), Path::new("/dev/full")] {
            create(other).unwrap_err();
        }
        create(&file).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn words_have_no_numbers() {
        let said = |number| words(&io::Error::from_raw_os_error(number));
        assert!(said(libc::ENOSPC).starts_with("no space is left"));
        assert!(said(libc::ELOOP).starts_with("is a symbolic link"));
        assert!(said(libc::ENOTTY).starts_with("Inappropriate ioctl for device; check"));
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
