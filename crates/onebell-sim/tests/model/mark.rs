//! One number for a state and for all that differ from it only in the names of the replicas.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hash, Hasher};

use crate::state::{Id, Message, PROCESSES, State, Step};

/// A number is its own hash.
#[derive(Default)]
pub(crate) struct Plain(u64);

impl Hasher for Plain {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("only numbers are kept");
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// States that are known to come to rest.
pub(crate) type Rested = HashSet<u64, BuildHasherDefault<Plain>>;
/// Values by mark.
pub(crate) type Kept<V> = HashMap<u64, V, BuildHasherDefault<Plain>>;

/// A hash in a few nanoseconds a word: the product's 128 bits folded.
struct Fold(u64);

impl Fold {
    fn take(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value) * 0x9e37_79b9_7f4a_7c15;
        #[expect(clippy::cast_possible_truncation, reason = "both halves are folded")]
        let (low, high) = (product as u64, (product >> 64) as u64);
        self.0 = (low ^ high).rotate_left(29).wrapping_add(0x2545_f491_4f6c_dd1d);
    }
}

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.take(u64::from(*byte)));
    }
    fn write_u8(&mut self, value: u8) {
        self.take(u64::from(value));
    }
    fn write_u16(&mut self, value: u16) {
        self.take(u64::from(value));
    }
    fn write_usize(&mut self, value: usize) {
        self.take(value as u64);
    }
    fn write_isize(&mut self, value: isize) {
        self.take(value.cast_unsigned() as u64);
    }
}

/// The hash of anything.
pub(crate) fn of<T: Hash>(value: T) -> u64 {
    let mut hasher = Fold(0x517c_c1b7_2722_0a95);
    value.hash(&mut hasher);
    hasher.finish()
}

/// The mark of a state: what belongs to nobody, and, in no order, each process with all that names it. A field names one
/// process at most, so that processes of which the same is said are interchangeable.
///
/// What may still go wrong is left out: see [`crate::explore`].
pub(crate) fn mark(state: &State) -> u64 {
    let mut own = [0; PROCESSES];
    for (process, own) in own.iter_mut().enumerate() {
        *own = of_process(state, process);
    }
    own.sort_unstable();
    let steps = state.steps.map(|step| Step { owner: None, ..step });
    let message = state.message.map(|message| Message { owner: None, settled_by: None, ..message });
    let mut seen = state.seen;
    seen.owner = Default::default();
    of((own, state.run, steps, message, seen))
}

fn of_process(state: &State, process: usize) -> u64 {
    let life = |id: Id| (usize::from(id.process) == process).then_some(id.life);
    let owned = state.steps.map(|step| step.owner.and_then(life));
    let given = state.seen.owner.map(|owner| owner.and_then(|(id, attempt)| life(id).map(|life| (life, attempt))));
    let message = state.message.map(|message| (message.owner.and_then(life), message.settled_by.and_then(life)));
    let calls = state.wire.iter().flatten().filter(|call| usize::from(call.id().process) == process);
    let calls = calls.fold(0_u64, |sum, call| sum.wrapping_add(of(call.of_nobody())));
    of((state.processes[process], state.replicas[process], owned, given, message, calls))
}
