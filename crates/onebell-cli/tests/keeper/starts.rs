//! What cannot be started, and what is said about it.

use std::fs;

use onebell_cli::keeper::{Allowance, BootTime, End, Kept, StartError, Verdict};
use tempfile::TempDir;

use crate::support::{a_minute, ms, refused, run, shell, spec, try_start};

#[tokio::test]
async fn what_a_shell_calls_127_and_126_is_permanent() {
    let folder = TempDir::new().expect("folder");
    let plain = folder.path().join("plain");
    fs::write(&plain, "echo no").expect("written");
    for missing in ["no-such-cmd", "./no-such-cmd", "/etc/passwd/x"] {
        let error = refused(spec(&[missing])).await;
        assert!(matches!(error, StartError::NotFound { .. }), "{error:?}");
        assert_eq!((error.exit_code(), error.verdict()), (127, Verdict::Permanent));
    }
    for program in [plain.to_str().expect("path"), folder.path().to_str().expect("path")] {
        let error = refused(spec(&[program])).await;
        assert!(matches!(error, StartError::NotExecutable { .. }), "{error:?}");
        assert_eq!((error.exit_code(), error.verdict()), (126, Verdict::Permanent));
    }
}

#[tokio::test]
async fn a_variable_of_131072_bytes_is_refused_with_a_hint_and_one_less_is_not() {
    let with = |length: usize| {
        let mut spec = shell("exit 0");
        spec.env.push(("V".into(), "x".repeat(length - 2).into()));
        spec
    };
    assert_eq!(run(with(131_071)).await.end, End::Exited(0));
    let error = refused(with(131_072)).await;
    assert_eq!(error.verdict(), Verdict::Permanent);
    let message = error.to_string();
    assert!(message.contains("variable \"V\" has 131072 bytes") && message.contains("file"), "{message}");

    let argument = refused(spec(&["true", &"x".repeat(200_000)])).await.to_string();
    assert!(argument.contains("argument 1 has 200000 bytes"), "{argument}");
    let many = refused(spec(&["true"].into_iter().chain([&*"x".repeat(100_000); 80]).collect::<Vec<_>>())).await;
    assert!(matches!(many, StartError::TooBig { .. }), "{many:?}");
}

#[tokio::test]
async fn a_missing_folder_a_nul_byte_and_no_command_are_told_apart() {
    let mut spec_in = shell("exit 0");
    spec_in.cwd = Some("/no/such/folder".into());
    let error = refused(spec_in).await;
    assert!(matches!(&error, StartError::Folder { .. }) && error.to_string().contains("/no/such/folder"), "{error:?}");
    assert!(matches!(refused(spec(&["true", "a\0b"])).await, StartError::Invalid));
    assert!(matches!(refused(spec(&[])).await, StartError::Invalid));
}

#[tokio::test]
async fn nothing_starts_under_an_allowance_that_has_run_out() {
    let folder = TempDir::new().expect("folder");
    let witness = folder.path().join("ran");
    let error =
        try_start(spec(&["touch", witness.to_str().expect("path")]), Allowance::since(BootTime::now(), ms(0), ms(0))).await;
    assert!(matches!(error, Err(StartError::Lapsed)));
    assert!(!witness.exists());
    let missing = Kept::start_with("/no/such/keeper".as_ref(), shell("exit 0"), a_minute()).await;
    assert!(matches!(missing, Err(StartError::Keeper(_))));
}
