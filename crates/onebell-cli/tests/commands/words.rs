//! Completions, manual pages and the guide know every command that people type, and none that they do not.

use std::process::{Command, Stdio};

use clap::CommandFactory;
use onebell_cli::args::Cli;

use crate::site::Site;

const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

/// Names of commands, shown and hidden.
fn commands(hidden: bool) -> Vec<String> {
    let commands = Cli::command();
    commands
        .get_subcommands()
        .filter(|command| command.is_hide_set() == hidden)
        .map(|command| command.get_name().to_owned())
        .collect()
}

/// As roff writes a name with dashes.
fn in_roff(name: &str) -> String {
    name.replace('-', "\\-")
}

#[test]
fn completions_of_every_shell_name_every_command_and_no_hidden_one() {
    let site = Site::plain("");
    assert!(commands(false).len() > 30 && !commands(true).is_empty());
    for shell in SHELLS {
        let text = site.onebell(&["completions", shell]).ended(0).out();
        let missing: Vec<String> = commands(false).into_iter().filter(|name| !text.contains(name.as_str())).collect();
        let extra: Vec<String> = commands(true).into_iter().filter(|name| text.contains(name.as_str())).collect();
        assert_eq!((missing, extra), (vec![], vec![]), "{shell}");
    }
    site.onebell(&["completions", "csh"]).ended(2).complains(&["possible values: bash"]);
}

#[test]
fn bash_takes_its_completions() {
    let text = Site::plain("").onebell(&["completions", "bash"]).ended(0).out();
    let script =
        format!("{text}\nCOMP_WORDS=(onebell out); COMP_CWORD=1; _onebell onebell out onebell; echo \"${{COMPREPLY[@]}}\"");
    let answer = Command::new("bash").args(["-c", &script]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&answer.stdout), "outbox\n", "{}", String::from_utf8_lossy(&answer.stderr));
}

#[test]
fn the_manual_names_every_command_and_each_command_has_a_page() {
    let site = Site::plain("");
    let page = site.onebell(&["man"]).ended(0).out();
    assert!(page.contains(".TH onebell 1"), "{page}");
    for name in commands(false) {
        assert!(page.contains(&in_roff(&name)), "{name}");
        site.onebell(&["man", &name]).ended(0).says(&[".SH SYNOPSIS"]);
    }
    assert!(commands(true).iter().all(|name| !page.contains(&in_roff(name))));
    site.onebell(&["man", "outbox", "resolve"]).ended(0).says(&["\\-\\-as"]);
    site.onebell(&["man", "outbx"]).ended(2).complains(&["no command \"outbx\"; write one of demo, init"]);
    site.onebell(&["man", "check", "it"]).ended(2).complains(&["has no commands of its own"]);
    site.onebell(&["man", "--dir", "pages"]).ended(0);
    for name in commands(false) {
        assert!(site.path(&format!("pages/onebell-{name}.1")).exists(), "{name}");
    }
}

#[test]
fn the_guide_lists_every_command() {
    let guide = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide.md")).unwrap();
    let list = guide.split_once("## All commands").unwrap().1;
    let named = |name: &str| ["`", " "].iter().any(|after| list.contains(&format!("`{name}{after}")));
    assert_eq!(commands(false).into_iter().filter(|name| !named(name)).collect::<Vec<_>>(), Vec::<String>::new());
}
