//! What an invocation needs of the machine it runs on.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

/// Why a file could not be used: the shell's error, in Go's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileError(pub shell::process::FileError);

impl FileError {
    /// It is not there.
    pub const NOT_FOUND: FileError = FileError(shell::process::FileError::NotFound);
    /// It is a directory.
    pub const IS_DIRECTORY: FileError = FileError(shell::process::FileError::IsDirectory);
    /// It, or a part of its path, is no directory.
    pub const NOT_DIRECTORY: FileError = FileError(shell::process::FileError::NotDirectory);
}

impl std::fmt::Display for FileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Go's are those of C in lower case.
        let text = self.0.message();
        let (first, rest) = text.split_at(1);
        write!(f, "{}{rest}", first.to_lowercase())
    }
}

/// The caller's streams, files and environment. Paths are as typed, relative to the caller's directory.
pub trait Io {
    /// Writes to standard output.
    fn stdout(&self, bytes: &[u8]);
    /// Writes to standard error.
    fn stderr(&self, bytes: &[u8]);
    /// All of standard input.
    fn stdin(&self) -> Vec<u8>;
    /// The next bytes of standard input, as they come; none at its end.
    fn read<'a>(&'a self) -> Pin<Box<dyn Future<Output = Option<Rc<[u8]>>> + 'a>>;
    /// Takes the keys of the terminal as they are typed from now on, Ctrl+C among them, or no longer.
    fn set_raw(&self, raw: bool) {
        let _ = raw;
    }
    /// A file's bytes.
    fn read_file(&self, path: &str) -> Result<Vec<u8>, FileError>;
    /// Writes a file.
    fn write_file(&self, path: &str, bytes: &[u8]) -> Result<(), FileError>;
    /// The names in a directory, sorted, and whether each is a directory. [`FileError::NOT_DIRECTORY`] for files.
    fn list_dir(&self, path: &str) -> Result<Vec<(String, bool)>, FileError>;
    /// A path from the root, for messages that show it so.
    fn absolute(&self, path: &str) -> String {
        path.to_string()
    }
    /// Lets the caller's editor change a file; the error is why it did not.
    fn edit<'a>(&'a self, path: &'a str) -> Pin<Box<dyn Future<Output = Result<(), String>> + 'a>> {
        let _ = path;
        Box::pin(std::future::ready(Err("unable to launch the editor \"vi\"".into())))
    }
    /// An environment variable.
    fn env(&self, name: &str) -> Option<String> {
        let _ = name;
        None
    }
    /// Whether standard input is a terminal.
    fn is_tty(&self) -> bool {
        false
    }
}
