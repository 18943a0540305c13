//! The `onebell` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    // First of all: a keeper is this program started again, and must do nothing else.
    if let Some(code) = onebell_cli::keeper::main_if_keeper() {
        return code;
    }
    ExitCode::SUCCESS
}
