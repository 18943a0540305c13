//! Something to be granted, when nobody dies by himself: a request for recovery needs a replica that is not heard of.

use std::time::Duration;

use onebell::time::{SystemTimer, Timer};

use super::{Seat, Storm};

impl Storm<'_> {
    /// While a replica waits to be killed in a grant and deaths by the plan do not bring one, all others are stopped beyond their
    /// lease: then it alone is there to find them lost, and to grant what it asked for.
    pub(super) fn provoke(&mut self) {
        let lease = self.orders.lease;
        let Some((waiting, waited)) = self.waiting() else { return };
        let since = SystemTimer.elapsed().saturating_sub(self.provoked_at);
        if waited < lease * 2 || since < lease * 4 {
            return;
        }
        self.provoked_at = SystemTimer.elapsed();
        for (_, seat) in self.seats.iter_mut().enumerate().filter(|(index, _)| *index != waiting) {
            if let Some(name) = seat.stop_for(lease * 5 / 2) {
                self.done.provoked += 1;
                self.scene.note(name, "stopped, so that another one has something to grant");
            }
        }
    }

    /// The seat of a replica that waits for a grant, and since when.
    fn waiting(&self) -> Option<(usize, Duration)> {
        self.seats.iter().map(Seat::waits_for_a_grant).enumerate().find_map(|(index, waited)| Some((index, waited?)))
    }
}
