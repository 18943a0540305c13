use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio_rustls::TlsConnector;

use super::config::{SmtpConfig, SmtpConfigError, Tls};
use super::wire::{Duplex, Wire};

/// Puts TLS on a connection.
pub(super) struct Encryption {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Encryption {
    /// Nothing when the configuration wants none. It names its crypto provider itself, so that it neither needs one that is
    /// installed for the process nor minds another.
    pub(super) fn of(config: &SmtpConfig) -> Result<Option<Self>, SmtpConfigError> {
        if config.tls == Tls::None {
            return Ok(None);
        }
        let name = ServerName::try_from(config.host.clone()).map_err(|_| SmtpConfigError {
            problem: format!("{:?} is no host name that a certificate can carry", config.host),
            remedy: "write a DNS name or an address".into(),
        })?;
        Ok(Some(Self { connector: TlsConnector::from(Arc::new(client(config)?)), name }))
    }

    pub(super) async fn wrap(&self, stream: Box<dyn Duplex>) -> Result<Wire, std::io::Error> {
        Ok(Wire::over(self.connector.connect(self.name.clone(), stream).await?))
    }
}

fn client(config: &SmtpConfig) -> Result<ClientConfig, SmtpConfigError> {
    let wrong = |problem: String, remedy: &str| SmtpConfigError { problem, remedy: remedy.into() };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|reason| wrong(format!("TLS cannot be set up: {reason}"), "report this"))?;
    let builder = match (&config.ca_file, config.tls) {
        (Some(path), _) => {
            let problem =
                |reason: String| wrong(format!("ca_file {}: {reason}", path.display()), "name a PEM file with certificates");
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_file_iter(path).map_err(|reason| problem(reason.to_string()))? {
                let certificate = certificate.map_err(|reason| problem(reason.to_string()))?;
                roots.add(certificate).map_err(|reason| problem(reason.to_string()))?;
            }
            if roots.is_empty() {
                return Err(problem("holds no certificate".into()));
            }
            builder.with_root_certificates(roots)
        }
        (None, Tls::Opportunistic) => builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider))),
        (None, _) => builder.with_platform_verifier().map_err(|reason| {
            wrong(format!("the system's certificates cannot be read: {reason}"), "install them, or name a ca_file")
        })?,
    };
    Ok(builder.with_no_client_auth())
}

/// Takes any certificate. Only for a server on this host, where plain text would be as safe.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
