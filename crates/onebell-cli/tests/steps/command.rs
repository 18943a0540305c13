//! `command`, with real processes under a real keeper.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use onebell::handler::{Handler, Outcome, StopReason};
use onebell::model::StepDefinition;
use onebell::store::StepOutput;
use onebell::time::SystemTimer;
use onebell_cli::secret::SecretRef;
use onebell_cli::steps::spec::{Codes, CommandStep, OUTPUT_CAP};
use onebell_cli::steps::{CommandHandler, CommandSettings};
use tempfile::TempDir;

use crate::fake::{Attempt, Fake, attempt, done, failed, retried, vouch};

const LIMIT: Duration = Duration::from_secs(30);

fn shell(script: &str) -> CommandStep {
    CommandStep {
        argv: vec!["/bin/sh".into(), "-c".into(), script.into()],
        cwd: None,
        env: Default::default(),
        exit_codes: Codes::default(),
        input: None,
        output_cap: OUTPUT_CAP,
    }
}

fn definition(step: &CommandStep) -> StepDefinition {
    let mut definition = StepDefinition::new("compute", "command");
    definition.spec = serde_json::to_string(step).expect("JSON");
    definition.after = vec!["pull".into(), "other".into()];
    definition
}

fn handler(folder: &Path) -> CommandHandler {
    let mut settings = CommandSettings::new(folder.to_owned(), Arc::new(SystemTimer), vec!["hunter2".to_owned()]);
    settings.keeper = Some(env!("CARGO_BIN_EXE_onebell").into());
    settings.grace = Duration::from_millis(300);
    CommandHandler::new(settings)
}

async fn run_over(folder: &Path, step: &CommandStep, store: &Arc<Fake>) -> Outcome {
    handler(folder).run(attempt(&definition(step), store).context).await
}

async fn run(step: &CommandStep) -> Outcome {
    run_over(Path::new("/"), step, &Arc::default()).await
}

async fn stdout(script: &str) -> String {
    text(&done(run(&shell(script)).await).output)
}

fn text(output: &StepOutput) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// Waits until the command wrote that file.
async fn written(path: &Path) -> String {
    let wait = async {
        loop {
            match fs::read_to_string(path) {
                Ok(text) if text.ends_with('\n') => return text,
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    tokio::time::timeout(LIMIT, wait).await.expect("the command began")
}

fn gone(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(')').is_none_or(|(_, fields)| fields.trim_start().starts_with(['Z', 'X']))
}

/// Starts `script` in `folder` and waits until it wrote `pid`.
async fn started(folder: &Path, script: &str, store: Arc<Fake>) -> (Attempt, tokio::task::JoinHandle<Outcome>, String) {
    let attempt = attempt(&definition(&shell(script)), &store);
    let (handler, context) = (handler(folder), attempt.context.clone());
    let running = tokio::spawn(async move { handler.run(context).await });
    let pid = written(&folder.join("pid")).await;
    (attempt, running, pid)
}

async fn ended(running: tokio::task::JoinHandle<Outcome>) -> Outcome {
    tokio::time::timeout(LIMIT, running).await.expect("it ends").expect("no panic")
}

// ---- what a command is given ----------------------------------------------------------------------------------------------------------------

#[tokio::test]
async fn a_command_gets_its_identity_its_fence_and_its_deadline() {
    let out = stdout("env | grep ^ONEBELL_ | grep -v _PROGRESS | grep -v _OUTPUT | sort").await;
    assert_eq!(
        out,
        "ONEBELL_ATTEMPT=3\nONEBELL_COMPLETE_BY=2026-11-29T19:05:01Z\nONEBELL_IDEMPOTENCY_KEY=j-20261129T190000Z.compute\n\
         ONEBELL_RUN_ID=j-20261129T190000Z\nONEBELL_SCHEDULED_FOR=2026-11-29T19:00:00Z\nONEBELL_STEP_ID=j-20261129T190000Z.compute\n"
    );
    assert!(stdout("test -f \"$ONEBELL_PROGRESS\" && test ! -e \"$ONEBELL_OUTPUT\" && echo \"$PATH\"").await.contains("bin"));
}

#[tokio::test]
async fn its_folder_is_the_job_files_and_its_private_one_is_gone_afterwards() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    let script = folder.path().join("where.sh");
    fs::write(
        &script,
        "#!/bin/sh\npwd -P; ls -ld \"$(dirname \"$ONEBELL_PROGRESS\")\" | cut -c1-10; dirname \"$ONEBELL_PROGRESS\"\n",
    )
    .unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let step = CommandStep { argv: vec!["./where.sh".into()], ..shell("") };
    let out = text(&done(run_over(folder.path(), &step, &Arc::default()).await).output);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!((Path::new(lines[0]), lines[1]), (folder.path().canonicalize().unwrap().as_path(), "drwx------"));
    assert!(!Path::new(lines[2]).exists());
    let step = CommandStep { argv: vec!["../where.sh".into()], cwd: Some("sub".into()), ..shell("") };
    assert!(text(&done(run_over(folder.path(), &step, &Arc::default()).await).output).contains("/sub\n"));
}

#[tokio::test]
async fn rows_of_the_step_before_come_as_lines_and_rows_written_are_kept_whole() {
    let store = Arc::new(Fake::rows("pull", "[{\"id\":1,\n\"n\":1.50},{\"id\":2}]"));
    let done = done(run_over(Path::new("/"), &shell("cat \"$ONEBELL_INPUT\" | tee \"$ONEBELL_OUTPUT\""), &store).await);
    assert_eq!(text(&done.output), "{\"id\":1, \"n\":1.50}\n{\"id\":2}\n");
    assert_eq!(done.output.rows.as_deref(), Some(r#"[{"id":1, "n":1.50},{"id":2}]"#));
}

#[tokio::test]
async fn which_rows_are_meant_is_not_guessed() {
    let mut both = Fake::rows("pull", "[{\"a\":1}]");
    both.rows.insert("other".into(), "[{\"a\":2}]".into());
    let both = Arc::new(both);
    let look = "if [ \"${ONEBELL_INPUT+set}\" ]; then cat \"$ONEBELL_INPUT\"; else echo none; fi";
    assert_eq!(text(&done(run_over(Path::new("/"), &shell(look), &both).await).output), "none\n");
    let named = CommandStep { input: Some("other".into()), ..shell(look) };
    assert_eq!(text(&done(run_over(Path::new("/"), &named, &both).await).output), "{\"a\":2}\n");
    assert_eq!(
        text(&done(run_over(Path::new("/"), &named, &Arc::default()).await).output),
        "",
        "an empty file, since it was asked for"
    );
    assert_eq!(stdout(look).await, "none\n");
}

#[tokio::test]
async fn a_secret_is_looked_up_when_it_is_needed_and_masked_in_what_is_kept() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("token"), "s3cr3t-t0ken\n").unwrap();
    let mut step = shell("echo \"$TOKEN\" \"$PLAIN\" hunter2; echo \"$TOKEN\" >&2; exit 3");
    step.env.insert("TOKEN".into(), SecretRef::File("token".into()));
    step.env.insert("PLAIN".into(), SecretRef::Text("plain".into()));
    match run_over(folder.path(), &step, &Arc::default()).await {
        Outcome::Retry { error, output, .. } => {
            assert_eq!((text(&output).as_str(), error.as_str()), ("*** plain ***\n", "exit code 3: ***"));
        }
        other => panic!("{other:?}"),
    }
    fs::remove_file(folder.path().join("token")).unwrap();
    let error = retried(run_over(folder.path(), &step, &Arc::default()).await);
    assert!(error.starts_with("env.TOKEN: ") && error.contains("No such file"), "{error}");
}

// ---- how it ends ----------------------------------------------------------------------------------------------------------------------------

#[tokio::test]
async fn exit_codes_have_their_classes_and_a_step_may_say_otherwise() {
    assert_eq!(done(run(&shell("true")).await).output.summary, "exit code 0");
    assert_eq!(retried(run(&shell("echo no luck >&2; echo >&2; exit 75")).await), "exit code 75: no luck");
    assert_eq!(failed(run(&shell("exit 64")).await), "exit code 64");
    assert_eq!(retried(run(&shell("kill -9 $$")).await), "signal 9");
    let codes = Codes { permanent: vec![3], retry: vec![64] };
    assert_eq!(failed(run(&CommandStep { exit_codes: codes.clone(), ..shell("exit 3") }).await), "exit code 3");
    assert_eq!(retried(run(&CommandStep { exit_codes: codes, ..shell("exit 64") }).await), "exit code 64");
}

#[tokio::test]
async fn a_command_that_cannot_be_started_is_permanent_and_told() {
    let step = CommandStep { argv: vec!["no-such-program".into()], ..shell("") };
    assert!(failed(run(&step).await).contains("\"no-such-program\" was not found"));
    let step = CommandStep { argv: vec!["/etc/hostname".into()], ..shell("") };
    assert!(failed(run(&step).await).contains("cannot be executed"));
}

#[tokio::test]
async fn rows_that_cannot_be_read_fail_the_step_with_their_line() {
    let error = failed(run(&shell("printf '{\"a\":1}\\n{\"a\"\\n' > \"$ONEBELL_OUTPUT\"")).await);
    assert!(error.starts_with("ONEBELL_OUTPUT: line 2: not one JSON object per line"), "{error}");
    let error = failed(run(&shell("head -c 16777217 /dev/zero > \"$ONEBELL_OUTPUT\"")).await);
    assert!(error.contains("16777217 bytes of rows, at most 16777216 are possible"), "{error}");
    let outcome = run(&shell("echo '{' > \"$ONEBELL_OUTPUT\"; exit 1")).await;
    assert_eq!(retried(outcome), "exit code 1", "rows of a try that failed are nobody's");
}

#[tokio::test]
async fn output_is_kept_by_head_and_tail_up_to_the_cap() {
    let step = CommandStep { output_cap: 20, ..shell("printf 0123456789abcdefghijklmnopqrstuvwxyz") };
    let out = text(&done(run(&step).await).output);
    assert!(out.starts_with("0123456789\n[… 16 bytes left out …]\nqrstuvwxyz"), "{out}");
}

// ---- while it runs --------------------------------------------------------------------------------------------------------------------------

#[tokio::test]
async fn a_stop_ends_the_command_and_its_children_before_the_handler_answers() {
    for reason in [StopReason::Deadline, StopReason::Cancelled, StopReason::OwnStop, StopReason::Superseded] {
        let folder = TempDir::new().unwrap();
        let (attempt, running, pid) =
            started(folder.path(), "trap '' TERM; sleep 60 & echo $! > pid; wait; sleep 60", Arc::default()).await;
        attempt.stopper.stop(reason);
        assert!(matches!(ended(running).await, Outcome::Stopped { .. }), "{reason:?}");
        assert!(gone(&pid), "{reason:?}");
    }
}

#[tokio::test]
async fn i8_a_command_is_ended_when_nobody_vouches_for_it_any_longer_and_goes_on_while_somebody_does() {
    let folder = TempDir::new().unwrap();
    let (attempt, running, pid) = started(folder.path(), "echo $$ > pid; exec sleep 60", Arc::default()).await;
    let short = || vouch(Duration::from_millis(700), Duration::from_millis(900));
    // The first vouching was for a minute, and a shorter one takes nothing back: a handler of its own is started under a short one.
    attempt.stopper.stop(StopReason::OwnStop);
    ended(running).await;
    assert!(gone(&pid));

    let folder = TempDir::new().unwrap();
    let attempt = crate::fake::attempt(&definition(&shell("echo $$ > pid; exec sleep 60")), &Arc::default());
    attempt.vouch.send_replace(short());
    let (handler, context) = (handler(folder.path()), attempt.context.clone());
    let running = tokio::spawn(async move { handler.run(context).await });
    let pid = written(&folder.path().join("pid")).await;
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(150)).await;
        attempt.vouch.send_replace(short());
    }
    assert!(!gone(&pid), "renewed for 1.5 s, twice what one renewal allows");
    assert!(matches!(ended(running).await, Outcome::Unvouched { .. }), "then nobody vouched, though nobody asked either");
    assert!(gone(&pid));
}

#[tokio::test]
async fn each_touch_of_the_progress_file_extends_the_claim_and_silence_does_not() {
    let (folder, store) = (TempDir::new().unwrap(), Arc::new(Fake::default()));
    let script = "touch \"$ONEBELL_PROGRESS\"; until [ -e 1 ]; do sleep 0.02; done
        echo 42 > \"$ONEBELL_PROGRESS\"; until [ -e 2 ]; do sleep 0.02; done";
    let step = CommandStep { cwd: Some(folder.path().to_owned()), ..shell(script) };
    let answers = async {
        for count in 1..=2 {
            while store.extended.load(Ordering::SeqCst) < count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            fs::write(folder.path().join(count.to_string()), "").unwrap();
        }
    };
    let run = run_over(Path::new("/"), &step, &store);
    let (outcome, ()) = tokio::time::timeout(LIMIT, async { tokio::join!(run, answers) }).await.unwrap();
    done(outcome);
    assert_eq!(store.extended.load(Ordering::SeqCst), 2);
    let store = Arc::new(Fake::default());
    done(run_over(Path::new("/"), &shell("sleep 1.5"), &store).await);
    assert_eq!(store.extended.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn progress_on_a_claim_that_is_somebody_elses_ends_the_command() {
    let folder = TempDir::new().unwrap();
    let store = Arc::new(Fake { superseded: true, ..Fake::default() });
    let (_attempt, running, pid) =
        started(folder.path(), "touch \"$ONEBELL_PROGRESS\"; echo $$ > pid; exec sleep 60", store).await;
    assert!(matches!(ended(running).await, Outcome::Stopped { .. }));
    assert!(gone(&pid));
}

#[tokio::test]
async fn a_handler_that_is_dropped_leaves_no_command_behind() {
    let folder = TempDir::new().unwrap();
    let (_attempt, running, pid) = started(folder.path(), "echo $$ > pid; exec sleep 60", Arc::default()).await;
    running.abort();
    let wait = async {
        while !gone(&pid) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LIMIT, wait).await.expect("the keeper ends it");
}
