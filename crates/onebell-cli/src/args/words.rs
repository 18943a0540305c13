use std::path::PathBuf;

use clap::Args;

/// `onebell man`
#[derive(Debug, Args)]
#[command(after_help = "Read it, or one of a command:\n  onebell man | man -l -\n  onebell man outbox resolve | man -l -\n\
    All of them, for a package:\n  onebell man --dir /usr/local/share/man/man1")]
pub struct Man {
    /// The page of this command; without a word: of the program
    #[arg(value_name = "COMMAND", conflicts_with = "dir")]
    pub command: Vec<String>,
    /// Write the pages of all commands there instead
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// `onebell completions`
#[derive(Debug, Args)]
#[command(after_help = "  onebell completions bash > ~/.local/share/bash-completion/completions/onebell\n  \
    onebell completions fish > ~/.config/fish/completions/onebell.fish\n  \
    onebell completions zsh > \"${fpath[1]}/_onebell\"")]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}
