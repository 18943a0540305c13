//! A receiver that nobody here wrote: Python's own HTTP server.

use std::process::Stdio;

use onebell_cli::http::HttpConfig;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::world::{KEY, Store, World, accepted, attempt, deferred, message_of, rejected, unknown};
use onebell_cli::receiver::Behaviour;

/// Prints its port, then what each request looked like to it. The path says how it answers. It ends with its stdin.
const SERVER: &str = r#"
import http.server, json, sys, threading
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        print(json.dumps({"path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()}, "body": body}), flush=True)
        how = self.path.strip("/")
        if how == "lost":
            self.close_connection = True
            return
        self.send_response(int(how))
        self.send_header("Retry-After", "5")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"5\r\nhello\r\n0\r\n\r\n")
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
"#;

struct Python {
    // Its stdin is what keeps the server alive.
    _process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    port: u16,
}

impl Python {
    async fn start() -> Self {
        let mut command = Command::new("python3");
        let command = command.args(["-c", SERVER]).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().expect("these tests need python3");
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = lines.next_line().await.unwrap().unwrap().parse().unwrap();
        Self { _process: process, lines, port }
    }

    async fn seen(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }
}

#[tokio::test]
async fn pythons_own_server_reads_what_was_meant_and_each_of_its_answers_has_its_class() {
    let world = World::new(Behaviour::default()).await;
    let mut python = Python::start().await;
    let text = "Kính gửi chị Hạnh: 1.250.000 ₫";
    for how in ["200", "204", "429", "503", "404", "500", "lost"] {
        let config = HttpConfig::new(format!("http://127.0.0.1:{}/{how}", python.port).parse().unwrap());
        let payload = json!({"body": text, "content_type": "text/plain; charset=utf-8", "headers": {"X-Ref": "17"}});
        let delivery = attempt(config, &world.timer, &message_of(payload), Store::granting(&world.log)).await;
        match how {
            "200" => assert_eq!(accepted(&delivery), "200 OK: hello"),
            "204" => drop(accepted(&delivery).to_owned()),
            "429" | "503" => assert_eq!(deferred(&delivery).1.unwrap().as_secs(), 5),
            "404" => drop(rejected(&delivery).to_owned()),
            // This one names a time: it says "not now".
            "500" => assert_eq!(deferred(&delivery).1.unwrap().as_secs(), 5),
            _ => drop(unknown(&delivery).to_owned()),
        }
        let seen = python.seen().await;
        assert_eq!((&seen["body"], &seen["path"]), (&json!(text), &json!(format!("/{how}"))));
        let header = |name: &str| seen["headers"][name].clone();
        assert_eq!(
            (header("idempotency-key"), header("onebell-attempt"), header("x-ref")),
            (json!(KEY), json!("1"), json!("17"))
        );
    }
}
