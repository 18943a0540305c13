//! Signatures as the Standard Webhooks specification has them: `v1,` and the HMAC-SHA256 of id, timestamp and body.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Before a secret that is written in base64.
const PREFIX: &str = "whsec_";

/// Signs what goes out.
#[derive(Clone, PartialEq, Eq)]
pub struct Signer(Vec<u8>);

impl Signer {
    /// `whsec_` and base64; anything else is taken as it is, byte for byte.
    ///
    /// # Errors
    /// What is wrong with it. The secret itself is not repeated.
    pub fn new(secret: &str) -> Result<Self, String> {
        let bytes = match secret.strip_prefix(PREFIX) {
            Some(encoded) => STANDARD
                .decode(encoded.trim())
                .map_err(|_| "what follows whsec_ is no base64; copy the whole secret from the receiver".to_owned())?,
            None => secret.as_bytes().to_vec(),
        };
        if bytes.is_empty() {
            return Err("it is empty; generate one of 24 to 64 bytes, such as whsec_… from the receiver".to_owned());
        }
        Ok(Self(bytes))
    }

    /// The value of `webhook-signature`.
    pub fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        // A key of any length is taken: there is nothing that could fail.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).unwrap_or_else(|_| Hmac::new(&Default::default()));
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's own libraries.
    #[test]
    fn a_signature_is_the_one_of_the_specifications_example() {
        let signer = Signer::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature = signer.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, b"{\"test\": 2432232314}");
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_without_the_prefix_is_taken_as_it_is_and_none_is_shown() {
        let raw = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let same = Signer(raw).sign("msg_1", 1, b"x");
        assert_eq!(Signer::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap().sign("msg_1", 1, b"x"), same);
        assert_ne!(Signer::new("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap().sign("msg_1", 1, b"x"), same);
        assert!(Signer::new("whsec_not base64!").unwrap_err().contains("base64"));
        assert!(Signer::new("").is_err() && Signer::new("whsec_").is_err());
        assert_eq!(format!("{:?}", Signer::new("hunter2").unwrap()), "<secret>");
    }
}
