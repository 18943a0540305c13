//! What must hold after every commit, one file per invariant.

mod admission;
mod alarms;
mod asked;
mod carried;
mod doors;
mod i00_acknowledged_stays;
mod i01_one_run_per_slot;
mod i02_one_owner;
mod i03_late_changes_nothing;
mod i04_together;
mod i05_one_effect_per_key;
mod i06_supervisor_only_asks;
mod i07_leadership_guards_only_pruning;
mod i08_nothing_extends_by_itself;
mod i09_claimed_before_sent;
mod i10_bounded;
mod i11_nothing_due_is_lost;
mod i12_nothing_is_stuck;
mod i13_totals_from_effects;
mod i14_undone_once;
mod ledger;
mod machines;

use onebell::model::Moment;

use crate::call::Call;
use crate::shadow::Shadow;
use crate::snapshot::{Changes, Snapshot};

/// One commit, as the checks see it.
pub struct Commit<'a> {
    /// The call that made it.
    pub call: &'a Call,
    /// The tables after it.
    pub now: &'a Snapshot,
    /// What it changed.
    pub changes: &'a Changes,
    /// The store's clock during it.
    pub at: Moment,
    /// What the world knows beside the tables.
    pub shadow: &'a Shadow,
}

/// The end of a history: faults have stopped, and everything had time to come to rest.
pub struct End<'a> {
    /// The tables at the end.
    pub now: &'a Snapshot,
    /// What the world knows beside the tables.
    pub shadow: &'a Shadow,
}

/// A promise, watched. An error says how it was broken.
pub trait Check: Send {
    /// The invariant's name.
    fn name(&self) -> &'static str;
    /// After every commit that changed something.
    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String>;
    /// An answer reached its caller.
    fn acknowledged(&mut self, _call: &Call, _now: &Snapshot) {}
    /// When everything came to rest.
    fn end(&mut self, _end: &End<'_>) -> Result<(), String> {
        Ok(())
    }
}

/// All of them, knowing nothing yet.
pub fn all() -> Vec<Box<dyn Check>> {
    vec![
        Box::<machines::Machines>::default(),
        Box::<admission::Admission>::default(),
        Box::<alarms::Alarms>::default(),
        Box::<asked::Asked>::default(),
        Box::<carried::Carried>::default(),
        Box::<doors::Doors>::default(),
        Box::<i00_acknowledged_stays::I00>::default(),
        Box::<i01_one_run_per_slot::I01>::default(),
        Box::<i02_one_owner::I02>::default(),
        Box::<i03_late_changes_nothing::I03>::default(),
        Box::<i04_together::I04>::default(),
        Box::<i05_one_effect_per_key::I05>::default(),
        Box::<i06_supervisor_only_asks::I06>::default(),
        Box::<i07_leadership_guards_only_pruning::I07>::default(),
        Box::<i08_nothing_extends_by_itself::I08>::default(),
        Box::<i09_claimed_before_sent::I09>::default(),
        Box::<i10_bounded::I10>::default(),
        Box::<i11_nothing_due_is_lost::I11>::default(),
        Box::<i12_nothing_is_stuck::I12>::default(),
        Box::<i13_totals_from_effects::I13>::default(),
        Box::<i14_undone_once::I14>::default(),
    ]
}

/// An error unless `holds`.
pub(crate) fn must(holds: bool, broken: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(broken()) }
}
