//! Signatures as the Standard Webhooks specification has them: `v1,` and the HMAC-SHA256 of id, timestamp and body.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Before a secret that is written in base64.
const PREFIX: &str = "whsec_";
/// Of a proof: more than anybody can guess.
const PROOF_BYTES: usize = 16;

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
        format!("v1,{}", STANDARD.encode(self.of(id, timestamp, body).finalize().into_bytes()))
    }

    /// Whether one of the signatures in this value of `webhook-signature` is ours: a sender that changes its secret sends two.
    pub fn signed(&self, id: &str, timestamp: i64, body: &[u8], signatures: &str) -> bool {
        let ours = self.of(id, timestamp, body);
        let decoded = signatures.split(' ').filter_map(|one| STANDARD.decode(one.strip_prefix("v1,")?).ok());
        decoded.into_iter().any(|one| ours.clone().verify_slice(&one).is_ok())
    }

    /// A text that only who has the secret can make of `subject`, in hexadecimal digits.
    pub fn proof(&self, subject: &str) -> String {
        let bytes = self.mac(&[subject.as_bytes()]).finalize().into_bytes();
        bytes.iter().take(PROOF_BYTES).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether it is the proof of `subject`.
    pub fn proves(&self, subject: &str, proof: &str) -> bool {
        let digits = |at: usize| proof.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
        let bytes: Option<Vec<u8>> = (0..proof.len()).step_by(2).map(digits).collect();
        let whole = |bytes: &Vec<u8>| bytes.len() == PROOF_BYTES;
        bytes.filter(whole).is_some_and(|bytes| self.mac(&[subject.as_bytes()]).verify_truncated_left(&bytes).is_ok())
    }

    fn of(&self, id: &str, timestamp: i64, body: &[u8]) -> Hmac<Sha256> {
        self.mac(&[format!("{id}.{timestamp}.").as_bytes(), body])
    }

    fn mac(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        // A key of any length is taken: there is nothing that could fail.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).unwrap_or_else(|_| Hmac::new(&Default::default()));
        parts.iter().for_each(|part| mac.update(part));
        mac
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
    fn only_what_was_signed_with_the_secret_is_taken_as_signed() {
        let (ours, theirs) = (Signer::new("hunter2").unwrap(), Signer::new("hunter3").unwrap());
        let signature = ours.sign("m1", 7, b"{}");
        assert!(ours.signed("m1", 7, b"{}", &signature));
        assert!(ours.signed("m1", 7, b"{}", &format!("v1a,AAAA {} {signature}", theirs.sign("m1", 7, b"{}"))), "one of several");
        assert!(!theirs.signed("m1", 7, b"{}", &signature));
        assert!(!ours.signed("m2", 7, b"{}", &signature) && !ours.signed("m1", 8, b"{}", &signature));
        assert!(!ours.signed("m1", 7, b"{ }", &signature));
        for odd in ["", "v1,", "v1", " ", "v2,AAAA", &signature[..20], &signature[3..]] {
            assert!(!ours.signed("m1", 7, b"{}", odd), "{odd:?}");
        }
        let proof = ours.proof("a");
        assert!(ours.proves("a", &proof) && !ours.proves("b", &proof) && !theirs.proves("a", &proof));
        for odd in ["", "0", "zz", "é", &proof[2..], &format!("{proof}00")] {
            assert!(!ours.proves("a", odd), "{odd:?}");
        }
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
