//! The program `onebell`.

use std::process::ExitCode;

use clap::Parser;
use onebell_cli::args::{Cli, Command, Common};
use onebell_cli::{answer, commands, keeper, log};

fn main() -> ExitCode {
    if let Some(code) = keeper::main_if_keeper() {
        return code;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return told(&error),
    };
    // Cron sends mail for every line that is written; a demo and a bench do things in this process of which nobody wants to read.
    log_to_stderr(&cli.common, matches!(cli.command, Command::Once(_) | Command::Bench(_) | Command::Demo(_)));
    // One provider for the whole program; a library must never choose it.
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        return answer::Failure::usage("another TLS provider was installed before ours").report();
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return answer::Failure::usage(format!("the runtime cannot start: {error}")).report(),
    };
    match runtime.block_on(commands::carry_out(cli)).and_then(|()| answer::written()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Wrong usage is 2; of `once` it is 125, as all other codes are the command's.
fn told(error: &clap::Error) -> ExitCode {
    drop(error.print());
    let is_once = std::env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "once");
    match error.exit_code() {
        0 => ExitCode::SUCCESS,
        _ if is_once => ExitCode::from(125),
        code => ExitCode::from(u8::try_from(code).unwrap_or(2)),
    }
}

fn log_to_stderr(common: &Common, silent: bool) {
    let level = match (common.quiet, common.verbose) {
        (true, _) => "error",
        (false, 0) if silent => "error,onebell=warn,onebell_cli=warn",
        (false, 0) => "warn,onebell=info,onebell_cli=info",
        (false, 1) => "info,onebell=debug,onebell_cli=debug",
        (false, _) => "debug",
    };
    let filter = tracing_subscriber::EnvFilter::try_from_env("ONEBELL_LOG").unwrap_or_else(|_| level.into());
    let colours = std::env::var_os("NO_COLOR").is_none() && std::io::IsTerminal::is_terminal(&std::io::stderr());
    let log = move || log::Lines { colours };
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(log).with_ansi(colours).with_target(false).init();
}
