//! The files of this machine, for commands of a transcript.

use shell::process::{FileError, Files, Metadata};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::rc::Rc;

/// The real file system.
pub struct DiskFiles;

fn error(error: &io::Error) -> FileError {
    match error.kind() {
        io::ErrorKind::NotFound => FileError::NotFound,
        io::ErrorKind::IsADirectory => FileError::IsDirectory,
        io::ErrorKind::NotADirectory => FileError::NotDirectory,
        io::ErrorKind::AlreadyExists => FileError::Exists,
        io::ErrorKind::DirectoryNotEmpty => FileError::NotEmpty,
        io::ErrorKind::PermissionDenied => FileError::Denied,
        io::ErrorKind::ReadOnlyFilesystem => FileError::ReadOnly,
        io::ErrorKind::StorageFull => FileError::NoSpace,
        _ => FileError::Busy,
    }
}

impl Files for DiskFiles {
    fn read(&self, path: &str) -> Result<Rc<[u8]>, FileError> {
        fs::read(path).map(Into::into).map_err(|e| error(&e))
    }
    fn write(&self, path: &str, content: &[u8]) -> Result<(), FileError> {
        fs::write(path, content).map_err(|e| error(&e))
    }
    fn append(&self, path: &str, content: &[u8]) -> Result<(), FileError> {
        let file = fs::OpenOptions::new().append(true).create(true).open(path);
        file.and_then(|mut f| f.write_all(content)).map_err(|e| error(&e))
    }
    fn list(&self, path: &str) -> Result<Vec<String>, FileError> {
        let entries = fs::read_dir(path).map_err(|e| error(&e))?;
        let mut names: Vec<_> = entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        Ok(names)
    }
    fn metadata(&self, path: &str) -> Result<Metadata, FileError> {
        let found = fs::metadata(path).map_err(|e| error(&e))?;
        let mode = found.permissions().mode() & 0o7777;
        Ok(Metadata { directory: found.is_dir(), size: found.len(), mode, modified: found.mtime() })
    }
    fn make_directory(&self, path: &str) -> Result<(), FileError> {
        fs::create_dir(path).map_err(|e| error(&e))
    }
    fn remove(&self, path: &str) -> Result<(), FileError> {
        let directory = fs::symlink_metadata(path).map_err(|e| error(&e))?.is_dir();
        if directory { fs::remove_dir(path) } else { fs::remove_file(path) }.map_err(|e| error(&e))
    }
    fn rename(&self, from: &str, to: &str) -> Result<(), FileError> {
        fs::rename(from, to).map_err(|e| error(&e))
    }
    fn set_mode(&self, path: &str, mode: u32) -> Result<(), FileError> {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(|e| error(&e))
    }
}
