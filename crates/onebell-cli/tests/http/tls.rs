//! Certificates of one's own.

use std::net::SocketAddr;
use std::sync::Arc;

use onebell::model::message::Delivery;
use onebell_cli::http::HttpConfig;
use onebell_cli::receiver::{Behaviour, Receiver};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::certificate::{Certificate, certificate};
use crate::world::{Store, World, accepted, attempt, deferred, message};

/// Serves TLS on a port of its own, for as long as it lives.
pub(crate) struct Secured {
    pub(crate) address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Drop for Secured {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

pub(crate) async fn secured(certificate: &Certificate, receiver: &Arc<Receiver>) -> Secured {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (acceptor, receiver) = (certificate.acceptor.clone(), Arc::clone(receiver));
    let serving = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                receiver.serve(stream).await;
            }
        }
    });
    Secured { address, serving }
}

async fn over_tls(own: &Certificate, trusted: &Certificate, host: &str) -> (World, Delivery) {
    let world = World::new(Behaviour::default()).await;
    let secured = secured(own, &world.receiver).await;
    let url = format!("https://{host}:{}/hooks", secured.address.port()).parse().unwrap();
    let config = HttpConfig { ca_file: Some(trusted.file.path().to_owned()), ..HttpConfig::new(url) };
    let delivery = attempt(config, &world.timer, &message(), Store::granting(&world.log)).await;
    (world, delivery)
}

#[tokio::test]
async fn a_webhook_goes_through_tls_with_a_certificate_of_ones_own() {
    let certificate = certificate();
    for host in ["localhost", "127.0.0.1"] {
        let (world, delivery) = over_tls(&certificate, &certificate, host).await;
        accepted(&delivery);
        assert_eq!(world.done(), 1);
    }
}

#[tokio::test]
async fn a_certificate_that_nobody_trusts_is_deferred_and_sends_nothing() {
    let (world, delivery) = over_tls(&certificate(), &certificate(), "localhost").await;
    assert!(deferred(&delivery).0.contains("certificate"), "{delivery:?}");
    assert_eq!(world.log(), Vec::<String>::new());
}

#[tokio::test]
async fn a_provider_that_the_process_installed_is_nothing_to_the_channel() {
    drop(rustls::crypto::ring::default_provider().install_default());
    let certificate = certificate();
    accepted(&over_tls(&certificate, &certificate, "localhost").await.1);
}
