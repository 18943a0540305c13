use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
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
    if config.ca_file.is_some() || config.tls != Tls::Opportunistic {
        let trusting = crate::tls::trusting(config.ca_file.as_deref());
        return trusting.map_err(|wrong| SmtpConfigError { problem: wrong.problem, remedy: wrong.remedy });
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let builder = builder
        .map_err(|reason| SmtpConfigError { problem: format!("TLS cannot be set up: {reason}"), remedy: "report this".into() })?;
    let anybody = Arc::new(Anybody(provider));
    Ok(builder.dangerous().with_custom_certificate_verifier(anybody).with_no_client_auth())
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
