//! The store as a process sees it that others crowd out and whose line is bad: each call may be refused, delayed, or
//! lose its answer, before or after it was executed.

mod agent;
mod batch;
mod leader;
mod operator;
mod read;
mod relay;
mod replica;
mod scheduler;
mod supervisor;

use std::sync::Arc;
use std::time::Duration;

use onebell::store::{Result, StoreError};
use onebell::time::{ManualTimer, Timer};

use crate::call::{Call, Detail, Port};
use crate::executor::turn;
use crate::ground::Ground;

/// One process' way to the store.
pub struct FaultyStore {
    ground: Arc<Ground>,
    timer: Arc<ManualTimer>,
    process: usize,
}

/// What goes wrong with one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    LostBefore,
    LostAfter,
    Contended,
    SlowBefore(Duration),
    SlowAfter(Duration),
}

impl Fault {
    fn word(self) -> &'static str {
        match self {
            Self::None => "well",
            Self::LostBefore => "lost before",
            Self::LostAfter => "lost after",
            Self::Contended => "contended",
            Self::SlowBefore(_) => "slow before",
            Self::SlowAfter(_) => "slow after",
        }
    }
}

impl FaultyStore {
    /// Of the process number `process`, whose clock is `timer`.
    pub fn new(ground: Arc<Ground>, timer: Arc<ManualTimer>, process: usize) -> Self {
        Self { ground, timer, process }
    }

    /// Executes a call, unless it does not come so far.
    async fn through<T, D>(
        &self,
        verb: &'static str,
        port: Port,
        run: impl Future<Output = Result<T>> + Send,
        detail: D,
    ) -> Result<T>
    where
        T: Send + Sync,
        D: FnOnce(&T) -> Detail + Send,
    {
        let fault = self.before(verb).await?;
        let answer = match run.await {
            Ok(answer) => answer,
            Err(error) => {
                self.ground.broken(verb, &error);
                return Err(error);
            }
        };
        let call = Call { verb, port, process: self.process, detail: detail(&answer) };
        self.ground.executed(&call);
        self.after(verb, fault).await?;
        self.ground.acknowledged(&call);
        Ok(answer)
    }

    /// As `through`, for what only reads.
    async fn reading<T: Send>(&self, verb: &'static str, run: impl Future<Output = Result<T>> + Send) -> Result<T> {
        let fault = self.before(verb).await?;
        let answer = run.await;
        if let Err(error) = &answer {
            self.ground.broken(verb, error);
        }
        self.after(verb, fault).await?;
        answer
    }

    async fn before(&self, verb: &'static str) -> Result<Fault> {
        if self.ground.chance(200) {
            turn().await;
        }
        let fault = self.draw(verb);
        if fault != Fault::None {
            self.ground.note(|| format!("p{} {verb}: {fault:?}", self.process));
            self.ground.inner().tally.count("call", fault.word());
        }
        match fault {
            Fault::LostBefore => {
                turn().await;
                return Err(StoreError::away("the line broke before the call"));
            }
            Fault::Contended => return Err(StoreError::contended("somebody else was faster")),
            Fault::SlowBefore(span) => self.timer.sleep(span).await,
            Fault::None | Fault::LostAfter | Fault::SlowAfter(_) => {}
        }
        Ok(fault)
    }

    async fn after(&self, verb: &'static str, fault: Fault) -> Result<()> {
        self.ground.note(|| format!("p{} {verb}", self.process));
        match fault {
            Fault::LostAfter => {
                turn().await;
                return Err(StoreError::away("the line broke before the answer"));
            }
            Fault::SlowAfter(span) => self.timer.sleep(span).await,
            _ if self.ground.chance(150) => turn().await,
            _ => {}
        }
        Ok(())
    }

    fn draw(&self, verb: &str) -> Fault {
        let mut inner = self.ground.inner();
        if inner.away {
            return if inner.dice.chance(300) { Fault::LostAfter } else { Fault::LostBefore };
        }
        let trouble = inner.trouble;
        if verb == "renew" && inner.dice.chance(trouble.slow * 2) {
            // The beat is held up on its way, while everything else of the process goes on.
            return Fault::SlowBefore(Duration::from_millis(5_000 + inner.dice.below(15_000)));
        }
        let drawn = inner.dice.below(1000);
        let bounds = [trouble.lost_after, trouble.lost_before, trouble.contended, trouble.slow];
        let mut sum = 0;
        let kind = bounds.iter().position(|bound| {
            sum += bound;
            drawn < sum
        });
        match kind {
            Some(0) => Fault::LostAfter,
            Some(1) => Fault::LostBefore,
            Some(2) => Fault::Contended,
            Some(_) => {
                // Some come so late that whoever sent them is no more.
                let span = if inner.dice.chance(250) { 25_000 } else { 12 * inner.dice.below(1_200) };
                let span = Duration::from_millis(10 + inner.dice.below(span));
                if inner.dice.chance(500) { Fault::SlowBefore(span) } else { Fault::SlowAfter(span) }
            }
            None => Fault::None,
        }
    }
}

/// For verbs of which the checks need nothing but their name.
fn other<T>(_: &T) -> Detail {
    Detail::Other
}
