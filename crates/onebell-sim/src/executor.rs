//! Futures polled by hand: nothing runs unless the world says whose turn it is.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::future::BoxFuture;

/// Set when a future may have something to do.
#[derive(Debug)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A future and whether it was woken since it was polled last.
pub struct Hand<T> {
    future: BoxFuture<'static, T>,
    flag: Arc<Flag>,
}

impl<T> Hand<T> {
    /// Takes a future in hand; it wants to be polled.
    pub fn new(future: BoxFuture<'static, T>) -> Self {
        Self { future, flag: Arc::new(Flag(AtomicBool::new(true))) }
    }

    /// Whether polling it may get it further.
    pub fn is_woken(&self) -> bool {
        self.flag.0.load(Ordering::SeqCst)
    }

    /// Polls it once.
    pub fn poll(&mut self) -> Option<T> {
        self.flag.0.store(false, Ordering::SeqCst);
        let waker = Waker::from(Arc::clone(&self.flag));
        match self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => Some(done),
            Poll::Pending => None,
        }
    }
}

/// Gives everybody else a turn, once.
pub async fn turn() {
    struct Turn(bool);
    impl Future for Turn {
        type Output = ();
        fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
            if std::mem::replace(&mut self.0, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        }
    }
    Turn(false).await;
}

/// The value of a future that never waits: a call of a store that works inline.
pub fn at_once<T>(future: impl Future<Output = T>) -> T {
    match futures_util::FutureExt::now_or_never(future) {
        Some(value) => value,
        None => unreachable!("an inline store waits for nobody"),
    }
}
