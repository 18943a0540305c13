//! The example that `init` writes and `demo` runs: its steps after `pull`, over rows as either database gives them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onebell::handler::Handler;
use onebell::model::message::{InDoubtPolicy, NewMessage};
use onebell::time::SystemTimer;
use onebell_cli::jobfile::JobFile;
use onebell_cli::steps::{ChannelFacts, CommandHandler, CommandSettings, MessageHandler};

use crate::fake::{Fake, attempt, done};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/debt-reminders")
}

fn example() -> JobFile {
    JobFile::load(&folder().join("onebell.toml")).unwrap_or_else(|report| panic!("{report}"))
}

/// What `compute` makes of these rows.
async fn computed(rows: &str) -> String {
    let file = example();
    let step = file.jobs[0].step("compute").expect("compute");
    let mut settings = CommandSettings::new(file.folder.clone(), Arc::new(SystemTimer), Vec::new());
    settings.keeper = Some(env!("CARGO_BIN_EXE_onebell").into());
    let context = attempt(step, &Arc::new(Fake::rows("pull", rows))).context;
    done(CommandHandler::new(settings).run(context).await).output.rows.expect("rows")
}

async fn messages(store: Fake, step: &onebell::model::StepDefinition) -> Vec<NewMessage> {
    let facts = ChannelFacts { default_in_doubt: InDoubtPolicy::Hold, check: |_| Ok(()) };
    let handler = MessageHandler::new(BTreeMap::from([("mail".to_owned(), facts)]), folder());
    done(handler.run(attempt(step, &Arc::new(store)).context).await).messages
}

#[tokio::test]
async fn both_databases_rows_give_the_same_reminders_to_those_who_owe() {
    let numbers = r#"[{"customer_id":1001,"name":"Trần \"B\" Văn","email":"a@example.com","amount_cents":12919,"due_date":"2026-11-15"},
        {"customer_id":1002,"name":"Lê","email":"b@example.com","amount_cents":0,"due_date":"2026-11-15"}]"#;
    let texts = r#"[{"amount_cents" : "12919", "customer_id" : "1001", "due_date" : "2026-11-15", "email" : "a@example.com", "name" : "Trần \"B\" Văn"}]"#;
    let rows = computed(numbers).await;
    assert_eq!(rows, computed(texts).await);
    let expected = r#"[{"customer_id":1001,"name":"Trần \"B\" Văn","email":"a@example.com","amount_cents":12919,"fee_cents":258,"total_cents":13177,"due_date":"2026-11-15","period":"2026-11"}]"#;
    assert_eq!(rows, expected);
    let file = example();
    let messages = messages(Fake::rows("compute", &rows), file.jobs[0].step("remind").expect("remind")).await;
    assert_eq!((messages.len(), messages[0].key.as_str()), (1, "reminder/1001/2026-11"));
    assert!(
        messages[0].payload.contains("Kính gửi Trần \\\"B\\\" Văn") && messages[0].payload.contains("131,77 USD"),
        "{}",
        messages[0].payload
    );
}

#[tokio::test]
async fn the_file_of_customers_may_stand_in_for_the_steps_before() {
    let text = std::fs::read_to_string(folder().join("onebell.toml")).unwrap();
    let text = text.replace("for_each = { output_of = \"compute\" }", "for_each = { csv = \"customers.csv\" }");
    let file = JobFile::parse(&text, &folder().join("onebell.toml")).unwrap();
    let messages = messages(Fake::default(), file.jobs[0].step("remind").unwrap()).await;
    let keys: BTreeSet<&str> = messages.iter().map(|message| message.key.as_str()).collect();
    assert_eq!((messages.len(), keys.len()), (120, 120));
}
