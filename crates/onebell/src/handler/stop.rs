use tokio::sync::watch;

/// Why a handler should end its work now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// `complete_by` passed.
    Deadline,
    /// The run is being cancelled.
    Cancelled,
    /// The replica can no longer vouch for the work, or its drain ran out.
    OwnStop,
    /// The claim is somebody else's.
    Superseded,
}

/// The wish that a handler ends; cheap to clone, kept by the handler.
#[derive(Debug, Clone)]
pub struct Stop(watch::Receiver<Option<StopReason>>);

/// The other end of a [`Stop`].
#[derive(Debug, Clone)]
pub struct Stopper(watch::Sender<Option<StopReason>>);

impl Stopper {
    /// A pair.
    pub fn new() -> (Self, Stop) {
        let (sender, receiver) = watch::channel(None);
        (Self(sender), Stop(receiver))
    }

    /// Asks for the end; the first reason stays.
    pub fn stop(&self, reason: StopReason) {
        self.0.send_if_modified(|current| {
            let first = current.is_none();
            current.get_or_insert(reason);
            first
        });
    }
}

impl Stop {
    /// The reason, once there is one.
    pub fn reason(&self) -> Option<StopReason> {
        *self.0.borrow()
    }

    /// Returns when the end is asked for.
    pub async fn requested(&self) -> StopReason {
        let mut receiver = self.0.clone();
        let reason = receiver.wait_for(Option::is_some).await.map(|reason| *reason);
        match reason {
            Ok(Some(reason)) => reason,
            _ => std::future::pending().await,
        }
    }
}
