//! `onebell completions` and `onebell man`: what people type, for shells and for readers. Made of the command line itself.

use std::path::Path;

use clap::{Command, CommandFactory};

use crate::answer::{Answer, Failure, line};
use crate::args::{Cli, Completions, Man};

/// The command line without what only other processes type.
fn shown() -> Command {
    let whole = Cli::command();
    let mut shown = Command::new("onebell").version(env!("CARGO_PKG_VERSION")).args(whole.get_arguments().cloned());
    if let Some(about) = whole.get_about() {
        shown = shown.about(about.clone());
    }
    if let Some(after) = whole.get_after_help() {
        shown = shown.after_help(after.clone());
    }
    shown.subcommands(whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned())
}

/// Prints the completions.
pub fn completions(args: &Completions) -> Answer {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut shown(), "onebell", &mut text);
    print(&text)
}

/// Prints a page, or writes all of them.
pub fn man(args: &Man) -> Answer {
    let mut whole = shown();
    whole.build();
    if let Some(dir) = &args.dir {
        return write_all(whole, dir);
    }
    let mut command = &whole;
    for word in &args.command {
        let names: Vec<&str> = command.get_subcommands().map(Command::get_name).filter(|name| *name != "help").collect();
        let found = command.find_subcommand(word).filter(|found| found.get_name() != "help");
        command = found.ok_or_else(|| match names.as_slice() {
            [] => Failure::usage(format!("{} has no commands of its own; leave {word:?} out", command.get_name())),
            names => Failure::usage(format!("no command {word:?}; write one of {}", names.join(", "))),
        })?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page).map_err(Failure::usage)?;
    print(&page)
}

fn write_all(whole: Command, dir: &Path) -> Answer {
    let wrong = |error: std::io::Error| Failure::usage(format!("cannot write to {}: {error}", dir.display()));
    std::fs::create_dir_all(dir).map_err(wrong)?;
    clap_mangen::generate_to(whole, dir).map_err(wrong)
}

fn print(text: &[u8]) -> Answer {
    line(String::from_utf8_lossy(text).trim_end());
    Ok(())
}
