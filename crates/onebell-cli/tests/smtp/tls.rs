use std::io::Write as _;
use std::sync::Arc;

use onebell::model::message::Delivery;
use onebell_cli::mailbox::Behaviour;
use onebell_cli::smtp::{Secret, SmtpConfig, Tls};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tempfile::NamedTempFile;
use tokio_rustls::TlsAcceptor;

use super::script::{accept, listen, play, say};
use super::world::{Store, World, attempt, config, message};

/// A certificate for this host that nobody else signed.
struct Certificate {
    acceptor: TlsAcceptor,
    file: NamedTempFile,
}

fn certificate() -> Certificate {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(made.cert.pem().as_bytes()).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let chain: Vec<CertificateDer<'static>> = vec![made.cert.der().clone()];
    let server = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    Certificate { acceptor: TlsAcceptor::from(Arc::new(server)), file }
}

impl Certificate {
    fn trusted(&self, config: SmtpConfig) -> SmtpConfig {
        SmtpConfig { ca_file: Some(self.file.path().to_owned()), ..config }
    }
}

/// One attempt against a server that speaks TLS from the first byte.
async fn over_tls(own: &Certificate, trusted: &Certificate) -> (World, Delivery) {
    let world = World::new(Behaviour::default()).await;
    let (listener, address) = listen().await;
    let config = trusted.trusted(SmtpConfig { tls: Tls::Tls, ..config(address) });
    let message = message();
    let server = async {
        if let Ok(stream) = own.acceptor.accept(accept(&listener).await).await {
            world.mailbox.serve(stream, true).await;
        }
    };
    let (delivery, ()) = tokio::join!(attempt(config, &world.timer, &message, Store::granting(&world.log)), server);
    (world, delivery)
}

/// One attempt against a server that plays `script` in the clear, then speaks TLS if its last answer began with 220.
async fn over_starttls(
    own: &Certificate,
    adjust: impl FnOnce(SmtpConfig) -> SmtpConfig,
    script: &[(&str, &str)],
) -> (World, Delivery) {
    let world = World::new(Behaviour::default()).await;
    let (listener, address) = listen().await;
    let config = adjust(config(address));
    let message = message();
    let server = async {
        let mut stream = accept(&listener).await;
        say(&mut stream, "220 scripted").await;
        play(&mut stream, script).await;
        if script.last().is_some_and(|(_, answer)| answer.starts_with("220"))
            && let Ok(stream) = own.acceptor.accept(stream).await
        {
            world.mailbox.serve(stream, false).await;
        }
    };
    let (delivery, ()) = tokio::join!(attempt(config, &world.timer, &message, Store::granting(&world.log)), server);
    (world, delivery)
}

const STARTTLS: &[(&str, &str)] = &[("EHLO *", "250-scripted\r\n250 STARTTLS"), ("STARTTLS", "220 2.0.0 go ahead")];

#[tokio::test]
async fn a_message_goes_through_tls_from_the_first_byte() {
    let certificate = certificate();
    let (world, delivery) = over_tls(&certificate, &certificate).await;
    assert!(matches!(delivery, Delivery::Accepted { .. }), "{delivery:?}");
    assert_eq!(world.accepted(), 1);
    assert_eq!(world.log().iter().position(|line| line == "sending committed"), Some(4), "{:?}", world.log());
}

#[tokio::test]
async fn a_certificate_that_nobody_trusts_is_deferred_and_sends_nothing() {
    let (world, delivery) = over_tls(&certificate(), &certificate()).await;
    assert!(matches!(&delivery, Delivery::Deferred { error, .. } if error.contains("certificate")), "{delivery:?}");
    assert_eq!(world.log(), Vec::<String>::new());
}

#[tokio::test]
async fn starttls_protects_everything_after_it() {
    let certificate = certificate();
    let (world, delivery) =
        over_starttls(&certificate, |config| certificate.trusted(SmtpConfig { tls: Tls::Starttls, ..config }), STARTTLS).await;
    assert!(matches!(delivery, Delivery::Accepted { .. }), "{delivery:?}");
    assert_eq!(world.accepted(), 1);
}

#[tokio::test]
async fn a_server_stripped_of_starttls_gets_neither_mail_nor_password() {
    let certificate = certificate();
    let adjust = |config| {
        let login = SmtpConfig { username: Some("u".into()), password: Some(Secret::new("p")), tls: Tls::Starttls, ..config };
        certificate.trusted(login)
    };
    let script = [("EHLO *", "250-scripted\r\n250 AUTH PLAIN"), ("QUIT", "221 bye")];
    let (_, delivery) = over_starttls(&certificate, adjust, &script).await;
    assert!(matches!(&delivery, Delivery::Deferred { error, .. } if error.contains("STARTTLS")), "{delivery:?}");
}

#[tokio::test]
async fn an_answer_put_in_before_the_handshake_ends_the_attempt() {
    let certificate = certificate();
    let script = [("EHLO *", "250-scripted\r\n250 STARTTLS"), ("STARTTLS", "220 2.0.0 go ahead\r\n250 put in on the way")];
    let (world, delivery) =
        over_starttls(&certificate, |config| certificate.trusted(SmtpConfig { tls: Tls::Starttls, ..config }), &script).await;
    assert!(matches!(&delivery, Delivery::Deferred { error, .. } if error.contains("STARTTLS")), "{delivery:?}");
    assert_eq!(world.accepted(), 0);
}

#[tokio::test]
async fn a_relay_on_this_host_is_encrypted_if_it_offers_to_whoever_signed_its_certificate() {
    let certificate = certificate();
    let (world, delivery) =
        over_starttls(&certificate, |config| SmtpConfig { tls: Tls::Opportunistic, ..config }, STARTTLS).await;
    assert!(matches!(delivery, Delivery::Accepted { .. }), "{delivery:?}");
    assert_eq!(world.accepted(), 1);

    let plain = World::new(Behaviour::default()).await;
    let config = SmtpConfig { tls: Tls::Opportunistic, ..plain.config() };
    let delivery = attempt(config, &plain.timer, &message(), Store::granting(&plain.log)).await;
    assert!(matches!(delivery, Delivery::Accepted { .. }), "{delivery:?}");
}

#[tokio::test]
async fn a_provider_that_the_process_installed_is_nothing_to_the_channel() {
    drop(rustls::crypto::ring::default_provider().install_default());
    let certificate = certificate();
    assert!(matches!(over_tls(&certificate, &certificate).await.1, Delivery::Accepted { .. }));
}
