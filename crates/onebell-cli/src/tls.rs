//! Whom a connection trusts: the certificates of one file, or the system's.
//!
//! The crypto provider is named here and never installed for the process: whoever embeds these parts may have another.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;

/// Why TLS cannot be set up.
pub(crate) struct Untrusted {
    pub(crate) problem: String,
    pub(crate) remedy: String,
}

/// A client that trusts the certificates in `ca_file` (PEM) alone, or the system's when there is none.
pub(crate) fn trusting(ca_file: Option<&Path>) -> Result<ClientConfig, Untrusted> {
    let wrong = |problem: String, remedy: &str| Untrusted { problem, remedy: remedy.into() };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|reason| wrong(format!("TLS cannot be set up: {reason}"), "report this"))?;
    let builder = match ca_file {
        Some(path) => builder.with_root_certificates(
            roots(path)
                .map_err(|reason| wrong(format!("ca_file {}: {reason}", path.display()), "name a PEM file with certificates"))?,
        ),
        None => builder.with_platform_verifier().map_err(|reason| {
            wrong(format!("the system's certificates cannot be read: {reason}"), "install them, or name a ca_file")
        })?,
    };
    Ok(builder.with_no_client_auth())
}

fn roots(path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|reason| reason.to_string())? {
        roots.add(certificate.map_err(|reason| reason.to_string())?).map_err(|reason| reason.to_string())?;
    }
    if roots.is_empty() { Err("holds no certificate".to_owned()) } else { Ok(roots) }
}
