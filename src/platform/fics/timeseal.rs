//! The first version of timeseal: lines sent to the server carry our clock, so that the server can charge thinking time
//! without the time on the network. Off by default; ask the server's administrators before a bot uses it.
//!
//! The form of a sealed line is public: the line, 0x18, the clock in milliseconds, 0x19, filled up to a multiple of twelve
//! bytes; within each block the pairs (0,11), (2,9), (4,7) are swapped; then byte `i` becomes
//! `((b | 0x80) ^ KEY[(i + offset) % 50]) - 32`; the offset with its high bit set and a newline end the line. The first
//! line of a connection introduces the program. A server's question `[G]` is answered by a sealed `0x02 '9'`.

use rand::{Rng, RngCore};

const KEY: &[u8; 50] = b"Timestamp (FICS) v1.0 - programmed by Henrik Gram.";
const BLOCK: usize = 12;
const STAMP_START: u8 = 0x18;
const STAMP_END: u8 = 0x19;
const FILLER: u8 = b'1';

/// Seals the line that introduces us, due before anything else on the connection.
#[must_use]
pub fn introduction(milliseconds: u64, rng: &mut dyn RngCore) -> Vec<u8> {
    seal(b"TIMESTAMP|seneschal|seneschal|", milliseconds, rng)
}

/// Seals the answer to the server's question.
#[must_use]
pub fn answer(milliseconds: u64, rng: &mut dyn RngCore) -> Vec<u8> {
    seal(&[0x02, b'9'], milliseconds, rng)
}

/// Seals one line given without its newline.
#[must_use]
pub fn seal(line: &[u8], milliseconds: u64, rng: &mut dyn RngCore) -> Vec<u8> {
    seal_at(line, milliseconds, rng.random_range(0..KEY.len() as u8))
}

fn seal_at(line: &[u8], milliseconds: u64, offset: u8) -> Vec<u8> {
    let mut bytes = line.to_vec();
    bytes.push(STAMP_START);
    bytes.extend_from_slice(milliseconds.to_string().as_bytes());
    bytes.push(STAMP_END);
    while !bytes.len().is_multiple_of(BLOCK) {
        bytes.push(FILLER);
    }
    for block in bytes.chunks_exact_mut(BLOCK) {
        block.swap(0, 11);
        block.swap(2, 9);
        block.swap(4, 7);
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = ((*byte | 0x80) ^ KEY[(index + usize::from(offset)) % KEY.len()]).wrapping_sub(32);
    }
    bytes.push(0x80 | offset);
    bytes.push(b'\n');
    bytes
}

/// Opens a sealed line given without its newline: the text and the clock. Used by the tests' server.
#[must_use]
pub fn open(sealed: &[u8]) -> Option<(Vec<u8>, u64)> {
    let (&last, body) = sealed.split_last()?;
    let offset = usize::from(last & 0x7f);
    if body.is_empty() || !body.len().is_multiple_of(BLOCK) || offset >= KEY.len() {
        return None;
    }
    let mut bytes: Vec<u8> = body
        .iter()
        .enumerate()
        .map(|(index, byte)| (byte.wrapping_add(32) ^ KEY[(index + offset) % KEY.len()]) & 0x7f)
        .collect();
    for block in bytes.chunks_exact_mut(BLOCK) {
        block.swap(0, 11);
        block.swap(2, 9);
        block.swap(4, 7);
    }
    let start = bytes.iter().position(|byte| *byte == STAMP_START)?;
    let end = bytes.iter().position(|byte| *byte == STAMP_END)?;
    let digits = bytes.get(start + 1..end)?;
    let milliseconds = std::str::from_utf8(digits).ok()?.parse().ok()?;
    bytes.truncate(start);
    Some((bytes, milliseconds))
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::SmallRng};

    use super::*;

    #[test]
    fn what_is_sealed_can_be_opened() {
        let mut rng = SmallRng::seed_from_u64(7);
        for length in 0..40 {
            let line: Vec<u8> = (0..length).map(|index| b'a' + index % 26).collect();
            let sealed = seal(&line, 904_849, &mut rng);
            let (body, newline) = sealed.split_at(sealed.len() - 1);
            assert_eq!(newline, b"\n");
            assert!(body.iter().all(|byte| *byte != b'\n'));
            assert_eq!(open(body), Some((line, 904_849)));
        }
    }

    #[test]
    fn lines_of_another_program_can_be_opened() {
        // Seen on the wire: a move and the answer to the server's question.
        let sealed = b"\xc5\xbd\xd4\xbc\xa7\xa0\xb9\xbd\xa9\x98y\x83\x80";
        assert_eq!(open(sealed), Some((b"e4".to_vec(), 904_849)));
        let (text, _) = open(b"\xc5\xb0\xd4\xbc\xa5\xa1\xb3\xbd\xa3\x98y\xa4\x80").unwrap();
        assert_eq!(text, [0x02, b'9']);
    }

    #[test]
    fn the_same_line_is_sealed_to_the_same_bytes() {
        let sealed = seal_at(b"e4", 904_849, 0);
        assert_eq!(
            sealed,
            b"\xc5\xbd\xd4\xbc\xa7\xa0\xb9\xbd\xa9\x98y\x83\x80\n"
        );
    }

    #[test]
    fn noise_is_not_opened() {
        assert_eq!(open(b""), None);
        assert_eq!(open(b"\x80"), None);
        assert_eq!(open(&[0x55; 13]), None);
    }
}
