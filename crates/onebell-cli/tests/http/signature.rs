//! Signatures, verified by an implementation that shares no code with ours: Python's own `hmac`.

use std::io::Write as _;
use std::process::{Command, Stdio};

use onebell::handler::Outgoing;
use onebell_cli::http::{HttpConfig, Signer, webhook_id};
use onebell_cli::receiver::{Behaviour, Record};
use serde_json::json;

use crate::world::{Store, World, accepted, again, attempt, message};

/// What a receiver does by the Standard Webhooks specification; prints what is wrong, or nothing.
const VERIFIER: &str = r#"
import base64, hashlib, hmac, json, sys, time
given = json.load(sys.stdin)
headers, body = given["headers"], base64.b64decode(given["body"])
secret = base64.b64decode(given["secret"].removeprefix("whsec_"))
signed = b".".join([headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), body])
right = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
versions = [part.split(",", 1) for part in headers["webhook-signature"].split(" ")]
if not any(version == "v1" and hmac.compare_digest(value, right) for version, value in versions):
    print("the signature is not ours")
if abs(time.time() - int(headers["webhook-timestamp"])) > 300:
    print("the timestamp is not now")
"#;

const SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

fn verified(record: &Record) -> String {
    use base64::Engine as _;
    let headers: serde_json::Map<_, _> = record.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let body = base64::engine::general_purpose::STANDARD.encode(record.body.as_deref().unwrap());
    let given = json!({"headers": headers, "body": body, "secret": SECRET}).to_string();
    let mut python = Command::new("python3");
    python.args(["-c", VERIFIER]);
    let mut child = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("these tests need python3");
    child.stdin.take().unwrap().write_all(given.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn python_verifies_every_attempt_and_sees_a_changed_byte() {
    let world = World::new(Behaviour::default()).await;
    for message in [message(), again(message()), Outgoing { key: "kỳ/11.2026".into(), ..message() }] {
        let config = HttpConfig { signer: Some(Signer::new(SECRET).unwrap()), ..world.config() };
        accepted(&attempt(config, &world.timer, &message, Store::granting(&world.log)).await);
    }
    let mut records = world.receiver.records();
    for record in &records {
        assert_eq!(verified(record), "", "{record:?}");
    }
    let id = |record: &Record| record.header("webhook-id").unwrap().to_owned();
    assert_eq!((id(&records[0]), id(&records[1])), (webhook_id(&message().key), webhook_id(&message().key)));
    assert_eq!(id(&records[2]), webhook_id("kỳ/11.2026"));
    records[0].body.as_mut().unwrap()[3] ^= 1;
    assert!(verified(&records[0]).contains("not ours"));
}
