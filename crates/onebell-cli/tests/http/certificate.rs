use std::io::Write as _;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tempfile::NamedTempFile;
use tokio_rustls::TlsAcceptor;

/// A certificate for this host that nobody else signed.
pub(crate) struct Certificate {
    pub(crate) acceptor: TlsAcceptor,
    pub(crate) file: NamedTempFile,
}

pub(crate) fn certificate() -> Certificate {
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
