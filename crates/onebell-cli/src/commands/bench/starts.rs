//! How long a request waits: from its commit to the first line of its step, on a replica that has nothing else to do.

use std::time::Duration;

use onebell::replica::Settings;
use onebell::time::{SystemTimer, Timer};
use tokio::sync::mpsc;

use super::player::{Player, ask, open};
use crate::answer::Failure;
use crate::args::Bench;
use crate::database::Database;
use crate::draw::Draw;

/// A start that takes so long is none.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks whether the step is settled.
const LOOK: Duration = Duration::from_millis(1);

/// In the order of their length; `told` hears how many are done.
pub(super) async fn measure(database: &Database, args: &Bench, told: impl Fn(usize)) -> Result<Vec<Duration>, Failure> {
    let store = open(database).await?;
    let (begins, mut begun) = mpsc::unbounded_channel();
    let begins = move || {
        // Nobody listens once the bench was given up.
        _ = begins.send(SystemTimer.elapsed());
    };
    let player = Player::start(database, args.concurrency, begins).await?;
    let mut draw = Draw::seeded(1);
    let mut took = Vec::with_capacity(args.starts);
    // The first one waits for the replica itself.
    for n in 0..=args.starts {
        if n > 0 {
            told(n - 1);
            // People do not ask right after the replica has looked.
            SystemTimer.sleep(draw.between(Duration::ZERO, Settings::default().poll)).await;
        }
        ask(store.as_ref(), format!("starts/{n}")).await?;
        let committed = SystemTimer.elapsed();
        let began = within(begun.recv()).await?.ok_or_else(|| Failure::Work("the replica is gone".to_owned()))?;
        if n > 0 {
            took.push(began.saturating_sub(committed));
        }
        within(async {
            while player.settled()? <= n as u64 {
                SystemTimer.sleep(LOOK).await;
            }
            Ok::<(), Failure>(())
        })
        .await??;
    }
    player.stop().await?;
    took.sort_unstable();
    Ok(took)
}

async fn within<T>(waits: impl Future<Output = T>) -> Result<T, Failure> {
    tokio::select! {
        value = waits => Ok(value),
        () = SystemTimer.sleep(PATIENCE) => Err(Failure::Work(format!("a request did not start within {} s", PATIENCE.as_secs()))),
    }
}
