//! The parts of the onebell program.

pub mod answer;
pub mod apply;
pub mod args;
pub mod audit;
pub mod callback;
pub mod channels;
pub mod commands;
pub mod database;
pub mod draw;
pub mod http;
pub mod jobfile;
pub mod keeper;
pub mod limit;
pub mod listen;
pub mod log;
pub mod mailbox;
pub mod receiver;
mod regular;
pub mod secret;
pub mod signals;
pub mod smtp;
pub mod source;
pub mod starter;
pub mod steps;
pub mod template;
mod tls;
