//! `command`: a program and how it is run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use toml::de::DeValue;

use super::super::fields::{Fields, Node, Read, expected};
use super::super::keys;
use super::super::problem::Flaw;
use super::super::settings::{secret, yes};
use super::super::step::{Around, Reference};
use super::super::values::{list, name, number, texts};
use super::{Kind, json, nothing};
use crate::secret::SecretRef;
use crate::steps::spec::{COMMAND, Codes, CommandStep, OUTPUT_CAP};

pub(super) fn read<'t>(fields: &Fields<'t>, around: &Around<'t>) -> Kind {
    let shell = yes(fields, "shell");
    let argv = fields.read(COMMAND, |node| argv(node, shell));
    let input = fields.read("input", |node| Ok(Reference { step: name(node)?, span: node.span(), key: "input" }));
    let spec = CommandStep {
        argv: argv.unwrap_or_default(),
        cwd: fields.read("cwd", name).map(PathBuf::from),
        env: fields.read("env", |node| env(node, around)).unwrap_or_default(),
        exit_codes: fields.read("exit_codes", |node| exit_codes(node, around)).unwrap_or_default(),
        input: input.as_ref().map(|reference| reference.step.clone()),
        output_cap: fields.read("output_cap", number(0, 16 * 1024 * 1024)).unwrap_or(OUTPUT_CAP),
    };
    Kind { spec: json(&spec), rows_of: input.into_iter().collect(), ..nothing(COMMAND) }
}

/// What only a shell understands.
const SHELL_WORDS: &[char] = &['|', '<', '>', '&', ';', '$', '*', '?', '~', '`', '(', '"', '\''];

/// Program and arguments.
pub(super) fn argv(node: &Node<'_>, shell: bool) -> Read<Vec<String>> {
    match node.get_ref() {
        DeValue::String(text) if shell => Ok(vec!["/bin/sh".to_owned(), "-c".to_owned(), text.clone().into_owned()]),
        DeValue::String(text) => {
            let words: Vec<String> = text.split_whitespace().map(|word| format!("{word:?}")).collect();
            // As an array, its words would be arguments like any other.
            let remedy = match text.contains(SHELL_WORDS) {
                true => "add shell = true: it has words of a shell".to_owned(),
                false => format!("write [{}], or add shell = true", words.join(", ")),
            };
            Err(Flaw::new(node.span(), "a command is an array of program and arguments", remedy))
        }
        DeValue::Array(_) if shell => {
            Err(Flaw::new(node.span(), "an array with shell = true", "write one string, or remove shell"))
        }
        DeValue::Array(array) if array.is_empty() => {
            Err(Flaw::new(node.span(), "no program", "write [\"program\", \"argument\"]"))
        }
        DeValue::Array(_) => {
            let argv = texts(node)?;
            let nul = argv.iter().any(|argument| argument.contains('\0')) || argv.first().is_some_and(String::is_empty);
            if nul {
                Err(Flaw::new(node.span(), "an empty program or a NUL byte", "write [\"program\", \"argument\"]"))
            } else {
                Ok(argv)
            }
        }
        other => Err(expected("an array of strings", other, node.span())),
    }
}

fn env<'t>(node: &'t Node<'t>, around: &Around<'t>) -> Read<BTreeMap<String, SecretRef>> {
    let fields = Fields::by_name(node, around.flaws)?;
    let mut env = BTreeMap::new();
    for (key, at, node) in fields.entries() {
        if key.is_empty() || key.contains(['=', '\0']) {
            around.flaws.push(Flaw::new(at, format!("{key:?} is no name of a variable"), "remove the equals sign"));
        } else if key.starts_with("ONEBELL_") {
            around.flaws.push(Flaw::new(at, format!("{key} is set by onebell"), "choose a name without ONEBELL_"));
        } else if let Some(value) = around.flaws.keep(secret(node, around.flaws).map_err(|flaw| flaw.under(key))) {
            env.insert(key.to_owned(), value);
        }
    }
    Ok(env)
}

fn exit_codes<'t>(node: &'t Node<'t>, around: &Around<'t>) -> Read<Codes> {
    let fields = Fields::open(node, &keys::EXIT_CODES, around.flaws)?;
    let codes = |node: &'t Node<'t>| list(node, "an array of exit codes", number(1, 255));
    let read = Codes {
        permanent: fields.read("permanent", codes).unwrap_or_default(),
        retry: fields.read("retry", codes).unwrap_or_default(),
    };
    fields.finish();
    if let Some(both) = read.permanent.iter().find(|code| read.retry.contains(code)) {
        return Err(Flaw::new(node.span(), format!("{both} is permanent and to be tried again"), "write it in one of the two"));
    }
    Ok(read)
}
