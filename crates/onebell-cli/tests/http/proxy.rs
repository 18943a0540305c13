//! Through a proxy: whole URLs in the clear, CONNECT for TLS.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use onebell_cli::http::HttpConfig;
use onebell_cli::receiver::Behaviour;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::certificate::certificate;
use crate::tls::secured;
use crate::world::{Store, World, accepted, attempt, deferred, message};

/// A proxy that answers CONNECT with `answer`, and lets what is allowed through.
struct Proxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Proxy {
    async fn answering(answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&asked);
        let serving = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let Ok(byte) = stream.read_u8().await else { break };
                    head.push(byte);
                }
                let line = String::from_utf8_lossy(&head).lines().next().unwrap_or_default().to_owned();
                told.lock().unwrap().push(line.clone());
                stream.write_all(answer.as_bytes()).await.unwrap();
                if answer.contains(" 200 ") {
                    let to = line.split(' ').nth(1).unwrap();
                    let mut onward = TcpStream::connect(to).await.unwrap();
                    drop(copy_bidirectional(&mut stream, &mut onward).await);
                }
            }
        });
        Self { address, asked, serving }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn through(proxy: SocketAddr, config: HttpConfig) -> HttpConfig {
    HttpConfig { proxy: Some(format!("http://{proxy}").parse().unwrap()), ..config }
}

#[tokio::test]
async fn what_goes_to_https_is_tunnelled_and_the_proxy_learns_the_host_alone() {
    let (world, certificate) = (World::new(Behaviour::default()).await, certificate());
    let (secured, proxy) = (secured(&certificate, &world.receiver).await, Proxy::answering("HTTP/1.1 200 OK\r\n\r\n").await);
    let port = secured.address.port();
    let config = HttpConfig::new(format!("https://localhost:{port}/hooks?token=s3cret").parse().unwrap());
    let config = through(proxy.address, HttpConfig { ca_file: Some(certificate.file.path().to_owned()), ..config });
    accepted(&attempt(config, &world.timer, &message(), Store::granting(&world.log)).await);
    assert_eq!(proxy.asked(), [format!("CONNECT localhost:{port} HTTP/1.1")]);
    assert_eq!(world.receiver.records()[0].target, "/hooks?token=s3cret");
}

#[tokio::test]
async fn what_goes_to_http_names_the_whole_url_to_the_proxy() {
    // Our receiver stands in for the proxy: what it is asked for is what counts.
    let world = World::new(Behaviour::default()).await;
    let config = HttpConfig::new("http://hooks.example.com:8080/x?y=1".parse().unwrap());
    accepted(&attempt(through(world.receiver.address(), config), &world.timer, &message(), Store::granting(&world.log)).await);
    let records = world.receiver.records();
    assert_eq!(records[0].target, "http://hooks.example.com:8080/x?y=1");
    assert_eq!(records[0].header("host"), Some("hooks.example.com:8080"));
}

#[tokio::test]
async fn a_proxy_that_refuses_is_gone_or_talks_too_much_is_deferred_and_nothing_is_sent() {
    let world = World::new(Behaviour::default()).await;
    let url = || HttpConfig::new("https://localhost:1/".parse().unwrap());
    for answer in ["HTTP/1.1 407 log in\r\n\r\n", "HTTP/1.1 502 no\r\n\r\n", "garbage\r\n\r\n", "HTTP/1.1 2\r\n\r\n"] {
        let proxy = Proxy::answering(answer).await;
        let delivery = attempt(through(proxy.address, url()), &world.timer, &message(), Store::granting(&world.log)).await;
        assert!(deferred(&delivery).0.contains("proxy"), "{answer}: {delivery:?}");
    }
    let gone = Proxy::answering("").await.address;
    let delivery = attempt(through(gone, url()), &world.timer, &message(), Store::granting(&world.log)).await;
    assert!(deferred(&delivery).0.contains("proxy"), "{delivery:?}");
    assert_eq!(world.log(), Vec::<String>::new(), "`sending` was never committed");
}
