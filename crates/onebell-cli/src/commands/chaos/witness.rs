//! Stands beside every command: a socket on which each execution says that it begins, and which closes when the last of its
//! processes is gone. So start, end and overlap are the kernel's own word, also of those that were killed.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use onebell::time::{SystemTimer, Timer, host_now};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{JoinHandle, JoinSet};

use super::scene::{EffectSeen, Execution, Scene};
use crate::draw::Draw;
use crate::signals;

/// The kernel closes the socket of a process that ended at once, but the news takes its way through two tasks.
const NEWS: Duration = Duration::from_millis(300);

/// What an execution says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Said {
    /// It begins.
    Begin { step: String, step_id: String, run: String, attempt: u64, replica: String, pid: u32 },
    /// It ended by itself.
    End { code: i32 },
    /// An effect of the job's happened.
    Effect { key: String, step_id: String, attempt: u64, replica: String },
}

/// What it is answered: which rows to write, and when to be done.
pub(super) const GO: &str = "go";
/// The stand-in's work is over.
pub(super) const DONE: &str = "done";

/// The listening witness; it ends when this is dropped.
pub(super) struct Witness(JoinHandle<()>);

impl Drop for Witness {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Witness {
    pub(super) fn listen(path: &Path, scene: &Arc<Scene>, seed: u64) -> std::io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        let scene = Arc::clone(scene);
        Ok(Self(tokio::spawn(async move {
            let mut draw = Draw::seeded(seed ^ 0x0077_6f72_6b00);
            let mut hearings = JoinSet::new();
            loop {
                while hearings.try_join_next().is_some() {}
                match listener.accept().await {
                    Ok((stream, _)) => {
                        let work = draw.between(Duration::from_millis(20), Duration::from_millis(200));
                        let scene = Arc::clone(&scene);
                        hearings.spawn(async move { drop(hear(stream, &scene, work).await) });
                    }
                    Err(_) => SystemTimer.sleep(Duration::from_millis(20)).await,
                }
            }
        })))
    }
}

async fn hear(stream: UnixStream, scene: &Arc<Scene>, work: Duration) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    match serde_json::from_str(&line)? {
        Said::Effect { key, step_id, attempt, replica } => {
            scene.record().effects.push(EffectSeen { key, step_id, attempt, replica, at: host_now() });
            stream.write_all(b"ok\n").await
        }
        Said::Begin { step, step_id, run, attempt, replica, pid } => {
            let beside = running_beside(scene, &step_id).await;
            let (index, pair, dies) = {
                let mut record = scene.record();
                let pair = record.pair_of(&run);
                let dies = record.work_trigger(&replica);
                let execution = Execution {
                    step,
                    step_id,
                    attempt,
                    replica: replica.clone(),
                    pid,
                    began: host_now(),
                    ended: None,
                    code: None,
                    beside,
                };
                record.executions.push(execution);
                (record.executions.len() - 1, pair, dies)
            };
            let goes = stream.write_all(format!("{GO} {pair}\n").as_bytes()).await;
            if let Some(after) = dies {
                let scene = Arc::clone(scene);
                tokio::spawn(async move {
                    SystemTimer.sleep(after).await;
                    scene.record().shoot_at_work(&replica, index);
                });
            }
            // Killed before it heard us: it began all the same, and it has ended.
            let code = if goes.is_ok() { attend(&mut stream, work).await } else { None };
            let mut record = scene.record();
            if let Some(execution) = record.executions.get_mut(index) {
                (execution.ended, execution.code) = (Some(host_now()), code);
            }
            Ok(())
        }
        Said::End { .. } => Ok(()),
    }
}

/// To the end of an execution: its exit code, if it came so far.
async fn attend(stream: &mut BufReader<UnixStream>, work: Duration) -> Option<i32> {
    let mut line = String::new();
    let done = SystemTimer.sleep(work);
    tokio::pin!(done);
    let mut told = false;
    loop {
        tokio::select! {
            read = stream.read_line(&mut line) => match read {
                Ok(read) if read > 0 && line.ends_with('\n') => break,
                // Closed, reset, or cut off inside a line: its processes are gone.
                _ => return None,
            },
            () = &mut done, if !told => {
                told = true;
                // Gone meanwhile: the next read says so.
                drop(stream.write_all(format!("{DONE}\n").as_bytes()).await);
            }
        }
    }
    let code = match serde_json::from_str(&line) {
        Ok(Said::End { code }) => Some(code),
        _ => None,
    };
    // Something that it started may still hold the socket.
    line.clear();
    while stream.read_line(&mut line).await.is_ok_and(|read| read > 0) {
        line.clear();
    }
    code
}

/// An execution of the same step that is still going on, if there is one. It is asked before the new one may begin.
async fn running_beside(scene: &Scene, step_id: &str) -> Option<usize> {
    let open = |scene: &Scene| {
        let record = scene.record();
        let found = record.executions.iter().rposition(|execution| execution.step_id == step_id && execution.ended.is_none());
        found.and_then(|index| record.executions.get(index).map(|execution| (index, execution.pid)))
    };
    let (index, pid) = open(scene)?;
    if signals::alive(pid) {
        return Some(index);
    }
    let until = SystemTimer.elapsed() + NEWS;
    while SystemTimer.elapsed() < until {
        SystemTimer.sleep(Duration::from_millis(5)).await;
        open(scene)?;
    }
    Some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(attempt: u64) -> String {
        let said = Said::Begin {
            step: "j/s".to_owned(),
            step_id: "j-1.s".to_owned(),
            run: "j-1".to_owned(),
            attempt,
            replica: "r1".to_owned(),
            pid: std::process::id(),
        };
        format!("{}\n", serde_json::to_string(&said).unwrap())
    }

    async fn goes(path: &Path, attempt: u64) -> BufReader<UnixStream> {
        let mut stream = BufReader::new(UnixStream::connect(path).await.unwrap());
        stream.write_all(begin(attempt).as_bytes()).await.unwrap();
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        assert_eq!(line, "go 1\n");
        stream
    }

    #[tokio::test]
    async fn an_execution_that_is_killed_before_it_is_answered_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("witness");
        let scene = Arc::new(Scene::default());
        let _witness = Witness::listen(&path, &scene, 1).unwrap();
        for attempt in 1..=20 {
            let mut stream = UnixStream::connect(&path).await.unwrap();
            stream.write_all(begin(attempt).as_bytes()).await.unwrap();
            drop(stream);
            let ended = || scene.record().executions.get(attempt as usize - 1).is_some_and(|one| one.ended.is_some());
            while !ended() {
                tokio::task::yield_now().await;
            }
        }
        assert!(scene.record().executions.iter().all(|execution| execution.beside.is_none()));
    }

    #[tokio::test]
    async fn i2_two_executions_of_one_step_at_a_time_are_seen_and_one_after_the_other_are_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("witness");
        let scene = Arc::new(Scene::default());
        let _witness = Witness::listen(&path, &scene, 1).unwrap();
        let first = goes(&path, 1).await;
        let second = goes(&path, 2).await;
        drop((first, second));
        while scene.record().executions.iter().any(|execution| execution.ended.is_none()) {
            tokio::task::yield_now().await;
        }
        let mut third = goes(&path, 3).await;
        third.write_all(format!("{}\n", serde_json::to_string(&Said::End { code: 7 }).unwrap()).as_bytes()).await.unwrap();
        drop(third);
        while scene.record().executions.last().is_none_or(|last| last.ended.is_none()) {
            tokio::task::yield_now().await;
        }
        let record = scene.record();
        let beside: Vec<Option<usize>> = record.executions.iter().map(|execution| execution.beside).collect();
        assert_eq!(beside, [None, Some(0), None]);
        assert_eq!(record.executions.iter().map(|execution| execution.code).collect::<Vec<_>>(), [None, None, Some(7)]);
    }
}
