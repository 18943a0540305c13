//! The parts of the onebell program.

pub mod answer;
pub mod args;
pub mod channels;
pub mod commands;
pub mod database;
pub mod jobfile;
pub mod keeper;
pub mod mailbox;
pub mod secret;
pub mod smtp;
pub mod starter;
pub mod steps;
pub mod template;
