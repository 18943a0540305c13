//! What an answer says of a message.

use onebell::model::message::Delivery;

use super::answer::Answer;

pub(super) fn deferred(error: impl Into<String>) -> Delivery {
    Delivery::Deferred { error: error.into(), after: None }
}

/// The receiver's word. `secrets` are masked in what is repeated of it.
pub fn of(answer: &Answer, secrets: &[String]) -> Delivery {
    let told = answer.told(secrets);
    match answer.status {
        200..=299 => Delivery::Accepted { receipt: told },
        _ if answer.is_not_now() => Delivery::Deferred { error: told, after: answer.wait() },
        300..=399 => Delivery::Rejected { error: format!("{told}; redirects are not followed: write that address as url") },
        409 => Delivery::Rejected { error: format!("{told}; the receiver has this key with another content, or at work") },
        400..=499 => Delivery::Rejected { error: told },
        500..=599 => Delivery::Unknown { error: format!("{told}; that does not say whether the work was done") },
        _ => Delivery::Unknown { error: format!("{told}; that means nothing here") },
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderMap;

    use super::super::answer::BodyEnd;
    use super::*;

    fn word(status: u16, retry_after: Option<&str>) -> &'static str {
        let headers: HeaderMap =
            retry_after.map(|value| ("retry-after".parse().unwrap(), value.parse().unwrap())).into_iter().collect();
        let answer = Answer { status, headers, body: b"words".to_vec(), end: BodyEnd::Whole };
        match of(&answer, &[]) {
            Delivery::Accepted { receipt } if receipt.ends_with("words") => "accepted",
            Delivery::Deferred { after: Some(_), .. } => "deferred until",
            Delivery::Deferred { .. } => "deferred",
            Delivery::Rejected { .. } => "rejected",
            Delivery::Unknown { .. } => "unknown",
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_status_is_a_yes_a_no_a_not_now_or_no_word_at_all() {
        for (statuses, expected) in [
            (&[200, 201, 202, 204, 226][..], "accepted"),
            (&[407, 408, 425, 429, 503], "deferred"),
            (&[300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 409, 410, 413, 422, 451], "rejected"),
            (&[101, 500, 501, 502, 504, 507, 599, 600, 999], "unknown"),
        ] {
            for status in statuses {
                assert_eq!(word(*status, None), expected, "{status}");
            }
        }
    }

    #[test]
    fn a_receiver_that_names_a_time_says_not_now_and_a_gateway_cannot() {
        for status in [429, 503, 500] {
            assert_eq!(word(status, Some("7")), "deferred until", "{status}");
        }
        for status in [502, 504] {
            assert_eq!(word(status, Some("7")), "unknown", "{status}");
        }
        assert_eq!(word(404, Some("7")), "rejected");
        assert_eq!(word(503, Some("soon")), "deferred");
    }
}
