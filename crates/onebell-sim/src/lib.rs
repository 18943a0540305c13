//! The proof by simulation: the real roles over the real SQLite store under virtual time, with every fault that a seed
//! can think of, and with checks of the invariants after every commit. One seed is one history.
//!
//! It knows nothing of tokio's runtime, of threads or of the system's clock; what the edge (`onebell::replica`) does in
//! loops is done here in steps.

pub mod call;
pub mod checks;
pub mod dice;
pub mod executor;
pub mod faulty;
pub mod feed;
pub mod ground;
pub mod hour;
pub mod jobs;
pub mod loaders;
pub mod mutants;
pub mod people;
pub mod place;
pub mod recipient;
pub mod replica;
pub mod shadow;
pub mod shrink;
pub mod snapshot;
pub mod tally;
pub mod work;
pub mod world;

pub use ground::Violation;
pub use world::{Story, Told, tell};

use dice::Dice;

/// Turns of a history.
pub const TURNS: usize = 1_200;

/// The story that `seed` tells.
pub fn story(seed: u64) -> Story {
    let mut dice = Dice::new(seed ^ 0x5eed);
    Story { seed, draws: (0..TURNS).map(|_| dice.draw()).collect(), mutants: Vec::new(), traced: false }
}
