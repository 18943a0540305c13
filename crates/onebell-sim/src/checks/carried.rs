//! A replica is given only what it carries: jobs, handlers and queues of steps, channels of messages.

use super::{Check, Commit, must};
use crate::call::Detail;

#[derive(Default)]
pub(super) struct Carried;

impl Check for Carried {
    fn name(&self) -> &'static str {
        "carried"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        match &commit.call.detail {
            Detail::Claimed { request, answer } => {
                for claimed in &answer.claimed {
                    let key = claimed.claim.step().as_str();
                    let Some(row) = commit.now.steps.get(key) else { continue };
                    let job = request.jobs.iter().any(|job| job.as_str() == row.job);
                    let does = request.handlers.contains(&row.handler) && request.queues.contains(&row.queue);
                    must(job && does, || format!("{key} ({row:?}) was given to {request:?}"))?;
                }
            }
            Detail::MessagesClaimed { request, answer } => {
                for claimed in answer {
                    must(request.channels.contains(&claimed.channel), || {
                        format!("message {} of {} was given to {request:?}", claimed.claim.key(), claimed.channel)
                    })?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}
