//! A body in the making: pieces that become one.
//!
//! A large one has pages of its own, which the system has back as soon as the body is dropped. On a heap that serves
//! many connections the room of bodies that are long gone lies between those of others and stays resident: several
//! times what the budget allows. Used by `body`.

use std::io;

use memmap2::MmapMut;

/// From this size on it has pages of its own. The allocator of glibc starts with the same bound, and gives it up
/// with the first body that is larger.
const LARGE: usize = 128 * 1024;

pub(super) enum Buffer {
    Heap(Vec<u8>),
    /// With how much of it is filled.
    Pages(MmapMut, usize),
}

impl Buffer {
    /// Room for so many bytes, of which none is there yet. What is not filled takes no memory.
    ///
    /// # Errors
    /// The system has no pages left.
    pub(super) fn with_capacity(bytes: usize) -> io::Result<Self> {
        if bytes < LARGE {
            return Ok(Self::Heap(Vec::with_capacity(bytes)));
        }
        let pages = MmapMut::map_anon(bytes)?;
        // Where the system makes pages of 2 MiB unasked, a body that stays at its beginning would take one.
        #[cfg(target_os = "linux")]
        let _ = pages.advise(memmap2::Advice::NoHugePage);
        Ok(Self::Pages(pages, 0))
    }

    /// One piece more, which may be beyond the capacity.
    ///
    /// # Errors
    /// The system has no pages left.
    pub(super) fn push(&mut self, piece: &[u8]) -> io::Result<()> {
        let len = self.len() + piece.len();
        if len > self.capacity() {
            let mut larger = Self::with_capacity(len.max(2 * self.len()))?;
            larger.append(self.as_ref());
            *self = larger;
        }
        self.append(piece);
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Heap(bytes) => bytes.len(),
            Self::Pages(_, len) => *len,
        }
    }

    fn capacity(&self) -> usize {
        match self {
            Self::Heap(bytes) => bytes.capacity(),
            Self::Pages(pages, _) => pages.len(),
        }
    }

    /// There is room for it.
    fn append(&mut self, piece: &[u8]) {
        match self {
            Self::Heap(bytes) => bytes.extend_from_slice(piece),
            Self::Pages(pages, len) => {
                let start = *len;
                *len += piece.len();
                pages[start..*len].copy_from_slice(piece);
            }
        }
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Heap(bytes) => bytes,
            Self::Pages(pages, len) => &pages[..*len],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_become_one_whatever_was_announced() {
        let pieces = [1, 60_000, 70_000, 0, 2_000, 300_000, 7].map(|len| vec![len as u8; len]);
        for announced in [0, 10, 130_000, LARGE, 432_008, 1_000_000] {
            let mut buffer = Buffer::with_capacity(announced).unwrap();
            for (i, piece) in pieces.iter().enumerate() {
                buffer.push(piece).unwrap();
                assert_eq!(buffer.as_ref(), pieces[..=i].concat(), "{announced}");
            }
        }
    }

    #[test]
    fn only_large_ones_have_pages_of_their_own() {
        let has_pages = |bytes| matches!(Buffer::with_capacity(bytes), Ok(Buffer::Pages(..)));
        assert!(!has_pages(0));
        assert!(!has_pages(LARGE - 1));
        assert!(has_pages(LARGE));
    }

    #[test]
    fn no_pages_is_an_error() {
        assert!(Buffer::with_capacity(usize::MAX / 2).is_err());
    }
}
