use onebell::model::StepId;

use super::PREFIX;
use crate::http::{Signer, key_of, path_segment};

/// Where a step is called back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The step.
    pub step: StepId,
    proof: String,
}

impl Address {
    /// The step's own.
    pub fn of(step: &StepId, signer: &Signer) -> Self {
        Self { step: step.clone(), proof: signer.proof(&subject(step)) }
    }

    /// Below the address at which replicas are reached.
    pub fn below(&self, base: &str) -> String {
        format!("{}{PREFIX}{}/{}", base.trim_end_matches('/'), path_segment(self.step.as_str()), self.proof)
    }

    /// From a path that somebody asked for.
    pub fn read(path: &str) -> Option<Self> {
        let (step, proof) = path.strip_prefix(PREFIX)?.split_once('/')?;
        let is_proof = !proof.is_empty() && proof.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_proof && !step.is_empty()).then(|| Self { step: StepId::from_text(key_of(step)), proof: proof.to_owned() })
    }

    /// Whether whoever has the secret made it.
    pub fn is_proven(&self, signer: &Signer) -> bool {
        signer.proves(&subject(&self.step), &self.proof)
    }
}

fn subject(step: &StepId) -> String {
    format!("callback {step}")
}

#[cfg(test)]
mod tests {
    use onebell::model::RunId;

    use super::*;

    #[test]
    fn an_address_is_read_back_and_nobody_makes_up_another() {
        let (signer, other) = (Signer::new("one secret").unwrap(), Signer::new("another").unwrap());
        let run = RunId::from_text("job-20261129T190000Z");
        for step in [StepId::of(&run, "close"), StepId::of_undo(&run, "close"), StepId::from_text("a/../b c")] {
            let address = Address::of(&step, &signer);
            let url = address.below("https://jobs.example.com/onebell/");
            let path = url.strip_prefix("https://jobs.example.com/onebell").unwrap();
            let read = Address::read(path).unwrap();
            assert_eq!((&read, read.is_proven(&signer), read.is_proven(&other)), (&address, true, false));
            let elsewhere = Address { step: StepId::of(&run, "other"), ..read.clone() };
            let shorter = Address { proof: read.proof[..30].to_owned(), ..read };
            assert!(!elsewhere.is_proven(&signer) && !shorter.is_proven(&signer));
        }
        for path in
            ["/callbacks/", "/callbacks/a", "/callbacks/a/", "/callbacks//00", "/callbacks/a/b/c", "/metrics", "/callbacks/a/zz"]
        {
            assert_eq!(Address::read(path), None, "{path}");
        }
    }
}
