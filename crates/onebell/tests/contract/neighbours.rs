//! What a verb is not about, it leaves alone: every state stands twice, and only the first of the two is acted on.

use std::collections::BTreeMap;

use onebell::model::job::OnLost;
use onebell::model::message::Delivery;
use onebell::model::step::Verdict;
use onebell::model::{Claim, MessageClaim, RunId};
use onebell::store::{ClaimSteps, MessageFilter, MessageVerdict, Resolution, RunFilter};

use super::given::*;
use super::outbox::{accepted, asks, deferred, rejected, unknown};
use super::world::World;

contract!(a_verb_leaves_alone_what_it_is_not_about);

const STATES: [&str; 7] = ["claimed", "exhausted", "failed", "held", "pending", "resting", "undoing"];

struct House {
    runs: BTreeMap<String, RunId>,
    claims: BTreeMap<String, Claim>,
    messages: BTreeMap<String, MessageClaim>,
}

/// Two runs in each state, and two messages in each of theirs.
async fn full_house(world: &World) -> House {
    let a = world.replica("a").await;
    let (mut runs, mut claims, mut messages) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for state in STATES.into_iter().filter(|state| *state != "pending") {
        let steps = vec![
            undoable(with(step_once("a"), |step| step.priority = 1)),
            with(step_once("b"), |step| step.on_lost = OnLost::Hold),
        ];
        world.register(&job(state, steps)).await;
        for n in 1..=2 {
            let name = format!("{state}{n}");
            let run = world.trigger(state, &name).await;
            let (first, second) = (world.claim_one(&a).await.claim, world.claim_one(&a).await.claim);
            let ends_of_both = match state {
                "exhausted" => vec![retries(&first), retries(&second)],
                "failed" => vec![fails(&first), fails(&second)],
                "held" => vec![succeeds(&first), stops(&second)],
                "undoing" => vec![succeeds(&first), fails(&second)],
                _ => Vec::new(),
            };
            if !ends_of_both.is_empty() {
                world.store.settle_steps(ends_of_both).await.unwrap();
            }
            let claim = if state == "undoing" { world.claim_one(&a).await.claim } else { first };
            claims.insert(name.clone(), claim);
            runs.insert(name, run);
        }
    }
    let states = ["claimed", "deferred", "doubt", "dropped", "failed", "ready", "sending"];
    let keys: Vec<_> = states.iter().flat_map(|state| [format!("m-{state}1"), format!("m-{state}2")]).collect();
    runs.insert("mails".to_owned(), world.put("mails", keys.iter().map(|key| mail(key)).collect()).await);
    for message in world.store.claim_messages(&asks(&a, 99)).await.unwrap() {
        let (claim, key) = (message.claim.clone(), message.claim.key());
        if key.contains("doubt") || key.contains("sending") {
            world.mark(&claim).await;
        }
        match key.trim_start_matches("m-").trim_end_matches(['1', '2']) {
            "ready" | "dropped" => drop(world.deliver(&claim, Delivery::GivenBack).await),
            "deferred" => drop(world.deliver(&claim, deferred()).await),
            "doubt" => drop(world.deliver(&claim, unknown()).await),
            "failed" => drop(world.deliver(&claim, rejected()).await),
            _ => {}
        }
        messages.insert(key.to_owned(), claim);
    }
    for key in ["m-dropped1", "m-dropped2"] {
        world.store.resolve_message(key, MessageVerdict::Drop, &actor()).await.unwrap();
    }
    world.register(&job("pending", vec![step("a")])).await;
    for name in ["pending1", "pending2"] {
        runs.insert(name.to_owned(), world.trigger("pending", name).await);
    }
    House { runs, claims, messages }
}

/// Everything that people can see of runs and messages, but for what is named.
async fn seen(world: &World, but: &str) -> BTreeMap<String, String> {
    let mut seen = BTreeMap::new();
    for run in world.store.runs(&RunFilter { limit: 100, ..RunFilter::default() }).await.unwrap() {
        seen.insert(run.id.clone(), format!("{:?}", world.store.run(&RunId::from_text(run.id)).await.unwrap()));
    }
    for message in world.store.messages(&MessageFilter { limit: 100, ..MessageFilter::default() }).await.unwrap() {
        seen.insert(message.key.clone(), format!("{message:?}"));
    }
    // The run that put the messages counts them, whichever is acted on.
    seen.retain(|name, _| name != but && !name.starts_with("mails"));
    seen
}

async fn a_verb_leaves_alone_what_it_is_not_about(world: World) {
    let house = full_house(&world).await;
    let (store, b) = (world.store.clone(), world.replica("b").await);
    let run = |name: &str| house.runs[name].clone();
    let claim = |name: &str| house.claims[name].clone();
    let message = |name: &str| house.messages[name].clone();
    macro_rules! only {
        ($about:expr, $act:expr) => {{
            let about: String = $about.to_string();
            world.pass(seconds(1));
            let before = seen(&world, &about).await;
            $act;
            let after = seen(&world, &about).await;
            for (name, was) in &before {
                assert_eq!(Some(was), after.get(name), "{name} was touched by what is about {about}");
            }
            // The other of the two must not be hidden by the one acted on: each has a view of its own.
            assert_eq!(before.len(), after.len());
        }};
    }
    only!(run("claimed1"), store.extend_step(&claim("claimed1")).await.unwrap());
    only!(run("claimed1"), store.start_steps(&[claim("claimed1")]).await.unwrap());
    only!(run("claimed1"), world.settle(succeeds(&claim("claimed1"))).await);
    only!(run("claimed1"), store.cancel_run(&run("claimed1"), &actor()).await.unwrap());
    only!(run("undoing1"), world.settle(fails(&claim("undoing1"))).await);
    only!(run("undoing1"), store.retry_run(&run("undoing1"), &actor()).await.unwrap());
    only!(run("exhausted1"), store.resolve_step(&run("exhausted1"), "a", Resolution::Retry, &actor()).await.unwrap());
    only!(run("exhausted1"), world.settle(ends(&claim("exhausted1"), Verdict::Cancelled)).await);
    only!(run("exhausted1"), store.retry_run(&run("exhausted1"), &actor()).await.unwrap());
    only!(run("held1"), store.resolve_step(&run("held1"), "b", Resolution::Succeeded, &actor()).await.unwrap());
    only!(run("exhausted2"), store.cancel_run(&run("exhausted2"), &actor()).await.unwrap());
    only!(run("failed1"), store.retry_run(&run("failed1"), &actor()).await.unwrap());
    only!(run("pending1"), store.cancel_run(&run("pending1"), &actor()).await.unwrap());
    only!("m-claimed1", world.mark(&message("m-claimed1")).await);
    only!("m-claimed1", world.deliver(&message("m-claimed1"), accepted()).await);
    only!("m-sending1", world.deliver(&message("m-sending1"), unknown()).await);
    only!("m-doubt1", world.deliver(&message("m-doubt1"), accepted()).await);
    only!("m-doubt2", store.resolve_message("m-doubt2", MessageVerdict::Resend, &actor()).await.unwrap());
    only!("m-failed1", store.resolve_message("m-failed1", MessageVerdict::Resend, &actor()).await.unwrap());
    only!("m-ready1", store.resolve_message("m-ready1", MessageVerdict::Drop, &actor()).await.unwrap());
    let ask = ClaimSteps { jobs: vec![world.job_id("pending")], ..world.asks(&b, 1) };
    only!(run("pending2"), store.claim_steps(&ask).await.unwrap());
}
