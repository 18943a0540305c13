//! The one vector file that Rust and SQL share: every implementation of the canonical form answers it alike.
#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use onebell::model::Fingerprint;
use onebell::model::fingerprint::canonical;
use serde_json::Value;

fn vectors() -> Vec<Value> {
    serde_json::from_str(include_str!("data/fingerprints.json")).unwrap()
}

#[test]
fn every_payload_has_the_canonical_form_and_fingerprint_of_the_vector_file() {
    for vector in vectors() {
        let (name, input) = (vector["name"].as_str().unwrap(), vector["input"].as_str().unwrap());
        if let Some(form) = vector["canonical"].as_str() {
            assert_eq!(canonical(input).as_deref(), Ok(form), "{name}");
            assert_eq!(Fingerprint::of_json(input).unwrap().to_string(), vector["sha256"].as_str().unwrap(), "{name}");
            assert_eq!(canonical(form).as_deref(), Ok(form), "{name}: the form of a form is itself");
        }
    }
}

#[test]
fn what_two_parsers_could_read_differently_is_refused_with_its_place() {
    for vector in vectors() {
        let (name, input) = (vector["name"].as_str().unwrap(), vector["input"].as_str().unwrap());
        if let Some(refused) = vector["refused"].as_str() {
            let error = canonical(input).expect_err(name);
            assert!(error.to_string().contains(refused), "{name}: {error}");
            assert_eq!(error.offset as u64, vector["offset"].as_u64().unwrap(), "{name}: {error}");
        }
    }
}

#[test]
fn payloads_with_different_forms_have_different_fingerprints() {
    let mut seen = std::collections::HashMap::new();
    for vector in vectors() {
        if let (Some(form), Some(sha)) = (vector["canonical"].as_str(), vector["sha256"].as_str()) {
            assert_eq!(*seen.entry(sha.to_owned()).or_insert(form.to_owned()), form);
        }
    }
    assert!(seen.len() > 30);
}
