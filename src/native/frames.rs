//! What passes between a program on a transcript's PATH and the world, over a Unix socket.

use std::io::{self, Read, Write};

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// To the world, first: the program's name and arguments, each ended by NUL, after the directory.
    Start(Vec<String>),
    /// To the world: bytes of standard input, empty at its end.
    Stdin(Vec<u8>),
    /// To the world: the oldest bytes that were not yet, are written.
    Written,
    /// To the program: please read standard input.
    WantStdin,
    /// To the program: bytes for standard output.
    Stdout(Vec<u8>),
    /// To the program: bytes for standard error.
    Stderr(Vec<u8>),
    /// To the program: the exit code, or for `date` the time in seconds since 1970.
    Exit(i64),
}

/// Content of a frame at most, in bytes.
const BOUND: u32 = 64 << 20;

impl Frame {
    /// Writes the frame.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let (tag, body) = match self {
            Self::Start(words) => (0, words.join("\0").into_bytes()),
            Self::Stdin(bytes) => (1, bytes.clone()),
            Self::WantStdin => (2, Vec::new()),
            Self::Stdout(bytes) => (3, bytes.clone()),
            Self::Stderr(bytes) => (4, bytes.clone()),
            Self::Exit(code) => (5, code.to_le_bytes().to_vec()),
            Self::Written => (6, Vec::new()),
        };
        let len = u32::try_from(body.len()).map_err(io::Error::other)?;
        let mut message = vec![tag];
        message.extend_from_slice(&len.to_le_bytes());
        message.extend_from_slice(&body);
        to.write_all(&message)
    }
    /// Reads the next frame.
    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut head = [0u8; 5];
        from.read_exact(&mut head)?;
        let [tag, len @ ..] = head;
        let len = u32::from_le_bytes(len);
        if len > BOUND {
            return Err(io::Error::other("a frame is too long"));
        }
        let mut body = vec![0; len as usize];
        from.read_exact(&mut body)?;
        Ok(match tag {
            0 => Self::Start(String::from_utf8_lossy(&body).split('\0').map(str::to_string).collect()),
            1 => Self::Stdin(body),
            2 => Self::WantStdin,
            3 => Self::Stdout(body),
            4 => Self::Stderr(body),
            5 => Self::Exit(i64::from_le_bytes(body.try_into().map_err(|_| io::Error::other("a short frame"))?)),
            6 => Self::Written,
            _ => return Err(io::Error::other("an unknown frame")),
        })
    }
}
