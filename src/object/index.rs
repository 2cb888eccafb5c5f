//! Which name of a node a key is: the innermost step of the parse.

/// A hash table without collisions, found by trial when the trie is compiled: a key costs a
/// multiplication and a look at one slot, whether it is a name or, as most are, none.
#[derive(Clone, Debug, Default)]
pub(super) struct NameIndex {
    multiplier: u32,
    shift: u32,
    /// The place of the name and the rest of what is known of it; [`NOTHING`] in free slots.
    slots: Vec<(u32, u32)>,
}

const NOTHING: u32 = u32::MAX;

impl NameIndex {
    pub(super) fn new(names: &[&str]) -> Self {
        let mut bits = (names.len() * 2).next_power_of_two().ilog2().max(1);
        loop {
            // Odd multipliers, spread over the range.
            let mut tries = (1..2_000u32).map(|i| i.wrapping_mul(0x9e37_79b9) | 1);
            let found = tries.find_map(|multiplier| Self::with(names, multiplier, bits));
            match found {
                Some(index) => return index,
                None => bits += 1,
            }
            assert!(bits < 16, "two names with one fingerprint: {names:?}");
        }
    }

    fn with(names: &[&str], multiplier: u32, bits: u32) -> Option<Self> {
        let mut index = Self {
            multiplier,
            shift: 32 - bits,
            slots: vec![(NOTHING, 0); 1 << bits],
        };
        for (name, i) in names.iter().zip(0..) {
            let print = fingerprint(name);
            let slot = index.slot(print);
            if index.slots[slot].0 != NOTHING {
                return None;
            }
            index.slots[slot] = (i, print);
        }
        Some(index)
    }

    fn slot(&self, print: u32) -> usize {
        (print.wrapping_mul(self.multiplier) >> self.shift) as usize
    }

    /// The only name that this key can be.
    pub(super) fn candidate(&self, key: &str) -> Option<usize> {
        let wanted = fingerprint(key);
        let (i, print) = self.slots.get(self.slot(wanted))?;
        (*print == wanted && *i != NOTHING).then_some(*i as usize)
    }
}

/// Length, first, middle and last byte.
fn fingerprint(name: &str) -> u32 {
    let bytes = name.as_bytes();
    match bytes {
        [] => 0,
        [first, .., last] => {
            let middle = bytes[bytes.len() / 2];
            // The length in eight bits: names are shorter, and of a longer key any will do.
            u32::from_le_bytes([bytes.len() as u8, *first, middle, *last])
        }
        [only] => u32::from_le_bytes([1, *only, *only, *only]),
    }
}
