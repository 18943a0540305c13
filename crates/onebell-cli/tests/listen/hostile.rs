//! Whoever reaches the port: a browser that was led there, a scanner, a client that is broken. He reads what everybody reads, and
//! changes nothing.

use crate::JOBS;
use crate::site::Site;

const PAGES: [&str; 3] = ["/healthz", "/readyz", "/metrics"];
const METHODS: [&str; 8] = ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "get"];

/// What the database holds, as programs see it.
fn state(site: &Site) -> String {
    ["jobs", "runs"].map(|looked| site.typed(&[looked, "--format", "json"], 0)).concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn k15_02_get_changes_nothing_and_other_methods_are_answered_405() {
    let site = Site::new(None, JOBS).await;
    let replica = site.listening();
    replica.until(&site, "/readyz", 200).await;
    site.typed(&["trigger", "quick", "--wait"], 0);
    let before = state(&site);
    for page in PAGES {
        for method in METHODS {
            assert_eq!(replica.ask(method, page).0, 405, "{method} {page}");
        }
        assert_eq!(replica.ask("HEAD", page), (200, String::new()), "{page}");
    }
    // What a dashboard or another product would have, and what a scanner looks for.
    let run = site.typed(&["runs", "--format", "json"], 0);
    let run = run.split("\"id\": \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    for path in
        ["/", "/jobs/quick/run", "/jobs/1/run", &format!("/runs/{run}/cancel"), "/trigger?job=quick", "/metrics/", "//healthz"]
    {
        for method in ["GET", "POST"] {
            assert_eq!(replica.ask(method, path).0, 404, "{method} {path}");
        }
    }
    assert_eq!(state(&site), before);
}

/// A page that is led to this port by a name of its own (rebinding) is told what everybody is told, and no other page may read it.
#[tokio::test(flavor = "multi_thread")]
async fn k15_02_a_strangers_host_and_origin_get_nothing_more() {
    let site = Site::new(None, JOBS).await;
    let replica = site.listening();
    replica.until(&site, "/readyz", 200).await;
    for page in PAGES {
        let (plain, _) = replica.get(page);
        for strange in
            ["host: evil.example\r\norigin: https://evil.example", "host: localhost\r\ncookie: session=1\r\norigin: null"]
        {
            let request = format!("GET {page} HTTP/1.1\r\n{strange}\r\nx-forwarded-for: 127.0.0.1\r\nconnection: close\r\n\r\n");
            let answer = replica.raw(request.as_bytes()).to_lowercase();
            assert!(answer.starts_with(&format!("http/1.1 {plain} ")), "{answer}");
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert!(!head.contains("access-control") && !head.contains("set-cookie"), "{head}");
            assert!(head.contains("content-type: text/plain") && !answer.contains("evil.example"), "{answer}");
            assert!(!body.contains("onebell.db") && !body.contains("quick"), "no path and no job's name: {body}");
        }
    }
    let preflight = "OPTIONS /metrics HTTP/1.1\r\nhost: evil.example\r\norigin: https://evil.example\r\n\
                     access-control-request-method: POST\r\nconnection: close\r\n\r\n";
    let answer = replica.raw(preflight.as_bytes()).to_lowercase();
    assert!(answer.starts_with("http/1.1 405 ") && !answer.contains("access-control"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn k15_02_what_is_no_request_is_ended_and_the_pages_go_on() {
    let site = Site::new(None, JOBS).await;
    let replica = site.listening();
    replica.until(&site, "/readyz", 200).await;
    let long = "x".repeat(2 << 20);
    let many: String = (0..5_000).map(|n| format!("x-{n}: y\r\n")).collect();
    let odd = [
        "\u{16}\u{3}\u{1} a TLS hello\r\n\r\n".to_owned(),
        "GET\r\n\r\n".to_owned(),
        "GET /healthz HTTP/9.9\r\n\r\n".to_owned(),
        "GET /heal\0thz HTTP/1.1\r\n\r\n".to_owned(),
        "GET /healthz HTTP/1.1\r\nhost : a\r\nno header\r\n\r\n".to_owned(),
        format!("GET /{long} HTTP/1.1\r\nhost: a\r\n\r\n"),
        format!("GET /healthz HTTP/1.1\r\nhost: a\r\nx: {long}\r\n\r\n"),
        format!("GET /healthz HTTP/1.1\r\nhost: a\r\n{many}\r\n"),
        "POST /healthz HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcdef".to_owned(),
        "POST /healthz HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ncontent-length: 6\r\n\r\nzz\r\n\r\n".to_owned(),
        "POST /healthz HTTP/1.1\r\nhost: a\r\ncontent-length: 99999999999999999999\r\n\r\n".to_owned(),
        format!("POST /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{long}", long.len()),
    ];
    // Clients that began and say nothing more hold up nobody.
    let silent: Vec<_> = (0..200).map(|_| replica.begun(b"GET /healthz HTTP/1.1\r\nhost: a\r\nx-")).collect();
    for request in odd {
        let answer = replica.raw(request.as_bytes());
        let status = answer.strip_prefix("HTTP/1.1 ").or(answer.strip_prefix("HTTP/1.0 ")).and_then(|rest| rest.get(..3));
        // A reset may come before the answer is read.
        assert!(answer.is_empty() || status.is_some_and(|status| status.starts_with('4')), "{:.60}: {answer}", request);
        assert_eq!(replica.get("/healthz").0, 200, "after {request:.60}");
    }
    assert_eq!(replica.get("/readyz").0, 200);
    drop(silent);
}

#[tokio::test(flavor = "multi_thread")]
async fn k15_04_a_path_on_the_listener_names_no_file() {
    let site = Site::new(None, JOBS).await;
    let replica = site.listening();
    replica.until(&site, "/readyz", 200).await;
    for path in [
        "/runs/..%2f..%2fetc%2fpasswd/log",
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/etc/passwd",
        "/onebell.toml",
        "/healthz/../etc/passwd",
        "/healthz%00",
        "/%68ealthz",
        "file:///etc/passwd",
    ] {
        let (status, body) = replica.get(path);
        assert!(matches!(status, 400 | 404) && !body.contains("root:"), "{path}: {status} {body}");
    }
    // As a proxy is asked: the name in it is nobody's.
    assert_eq!(replica.get("http://evil.example/healthz"), (200, "ok\n".to_owned()));
}
