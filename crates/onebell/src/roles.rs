//! ROOM 3: the roles. Each is one pass: a plain async function that looks at the whole state, does a
//! bounded amount, and returns. They never call one another; they meet in the store. None owns a loop,
//! a task or a sleep: those are `replica`'s.

pub mod agent;
pub mod janitor;
pub mod leader;
pub mod loader;
pub mod relay;
pub mod scheduler;
pub mod supervisor;
