//! Connections that can be broken on purpose, limited in number, and timed out.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use futures_util::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::fault::Loss;
use super::time::Timeline;

const OPEN: u8 = 0;
const CLOSED: u8 = 1;
const RESET: u8 = 2;
const SILENT: u8 = 3;

/// Without a request for this long, a connection is closed.
const IDLE_MS: i64 = 75_000;

/// The head of a request must be complete this soon after its first byte.
const HEAD_MS: i64 = 10_000;

/// The hand on one connection.
#[derive(Debug)]
pub struct ConnControl {
    state: AtomicU8,
    /// The other side has closed its end, or the connection is gone altogether.
    gone: AtomicBool,
    reader: AtomicWaker,
    writer: AtomicWaker,
    /// Requests being answered, streams included.
    busy: AtomicU32,
    /// When the last answer ended (or the connection began).
    idle_since: AtomicI64,
    /// When the first byte since then arrived; 0 for none.
    head_since: AtomicI64,
    timeline: Timeline,
}

impl ConnControl {
    fn new(timeline: Timeline) -> ConnControl {
        ConnControl {
            state: AtomicU8::new(OPEN),
            gone: AtomicBool::new(false),
            reader: AtomicWaker::new(),
            writer: AtomicWaker::new(),
            busy: AtomicU32::new(0),
            idle_since: AtomicI64::new(timeline.now_ms()),
            head_since: AtomicI64::new(0),
            timeline,
        }
    }

    /// Loses the connection in the given way. Takes effect at once, whatever is being sent.
    pub fn lose(&self, how: Loss) {
        let state = match how {
            Loss::Close => CLOSED,
            Loss::Reset => RESET,
            Loss::Silence => SILENT,
        };
        self.state.store(state, Ordering::Release);
        self.reader.wake();
        self.writer.wake();
    }

    /// Whether the connection is lost, on purpose or because the other side has closed it.
    pub fn is_lost(&self) -> bool {
        self.gone.load(Ordering::Acquire) || self.state.load(Ordering::Acquire) != OPEN
    }

    /// Notes that a request is being answered, until the guard is dropped.
    pub fn begin_request(self: &Arc<Self>) -> RequestGuard {
        self.busy.fetch_add(1, Ordering::AcqRel);
        self.head_since.store(0, Ordering::Release);
        RequestGuard(Arc::clone(self))
    }

    fn is_overdue(&self, now_ms: i64) -> bool {
        if self.busy.load(Ordering::Acquire) > 0 {
            return false;
        }
        let head_since = self.head_since.load(Ordering::Acquire);
        let idle_since = self.idle_since.load(Ordering::Acquire);
        (head_since != 0 && now_ms - head_since > HEAD_MS) || now_ms - idle_since > IDLE_MS
    }
}

/// A request is being answered while this lives.
#[derive(Debug)]
pub struct RequestGuard(Arc<ConnControl>);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0
            .idle_since
            .store(self.0.timeline.now_ms(), Ordering::Release);
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

/// All living connections of a house.
#[derive(Debug, Clone, Default)]
pub struct Connections(Arc<Mutex<Vec<Weak<ConnControl>>>>);

impl Connections {
    fn add(&self, control: &Arc<ConnControl>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len().is_multiple_of(64) {
            all.retain(|weak| weak.strong_count() > 0);
        }
        all.push(Arc::downgrade(control));
    }

    fn living(&self) -> Vec<Arc<ConnControl>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter_map(Weak::upgrade).collect()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.living().len()
    }

    /// Loses every one of them.
    pub fn lose_all(&self, how: Loss) {
        for control in self.living() {
            control.lose(how);
        }
    }

    /// Closes those that are idle or slow beyond measure.
    pub fn reap(&self, now_ms: i64) {
        for control in self.living() {
            if control.is_overdue(now_ms) {
                control.lose(Loss::Close);
            }
        }
    }
}

/// While the house plays dead, newcomers are reset at once.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<AtomicBool>);

impl Gate {
    /// Shuts or opens the gate.
    pub fn shut(&self, shut: bool) {
        self.0.store(shut, Ordering::Release);
    }

    fn is_shut(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// A listener whose connections can be broken, at most so many at a time.
#[derive(Debug)]
pub struct HouseListener {
    inner: TcpListener,
    places: Arc<Semaphore>,
    connections: Connections,
    gate: Gate,
    timeline: Timeline,
}

impl HouseListener {
    /// Wraps a bound listener.
    pub fn new(
        inner: TcpListener,
        places: usize,
        connections: Connections,
        gate: Gate,
        timeline: Timeline,
    ) -> HouseListener {
        HouseListener {
            inner,
            places: Arc::new(Semaphore::new(places)),
            connections,
            gate,
            timeline,
        }
    }
}

impl Listener for HouseListener {
    type Io = HouseConn;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (HouseConn, SocketAddr) {
        // Waiting here leaves newcomers in the backlog, where the operating system bounds them.
        let place = Arc::clone(&self.places)
            .acquire_owned()
            .await
            .expect("the semaphore is never closed");
        loop {
            match self.inner.accept().await {
                Ok((stream, _)) if self.gate.is_shut() => {
                    if let Err(error) = stream.set_zero_linger() {
                        tracing::debug!(%error, "the newcomer is closed instead of reset");
                    }
                }
                Ok((stream, peer)) => {
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "cannot switch off Nagle's algorithm");
                    }
                    let control = Arc::new(ConnControl::new(self.timeline));
                    self.connections.add(&control);
                    let conn = HouseConn {
                        stream,
                        control,
                        _place: place,
                    };
                    return (conn, peer);
                }
                Err(error) => {
                    // Out of file handles, most likely: they come back when connections end.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }
}

/// What handlers know of their connection.
#[derive(Debug, Clone)]
pub struct Peer {
    /// The hand on the connection.
    pub control: Arc<ConnControl>,
    /// Who is at the other end.
    pub address: SocketAddr,
}

impl Connected<IncomingStream<'_, HouseListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, HouseListener>) -> Peer {
        Peer {
            control: Arc::clone(&stream.io().control),
            address: *stream.remote_addr(),
        }
    }
}

/// One connection.
#[derive(Debug)]
pub struct HouseConn {
    stream: TcpStream,
    control: Arc<ConnControl>,
    _place: OwnedSemaphorePermit,
}

impl Drop for HouseConn {
    fn drop(&mut self) {
        self.control.gone.store(true, Ordering::Release);
    }
}

impl HouseConn {
    /// The state, after preparing the socket for a reset if there is to be one.
    fn state(&self) -> u8 {
        let state = self.control.state.load(Ordering::Acquire);
        if state == RESET
            && let Err(error) = self.stream.set_zero_linger()
        {
            tracing::debug!(%error, "the connection will be closed instead of reset");
        }
        state
    }

    fn broken() -> io::Error {
        io::Error::new(
            io::ErrorKind::ConnectionReset,
            "broken by the fault plan or the time limit",
        )
    }

    /// Reads and forgets, only to notice when the other side goes away.
    fn swallow(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut scratch = [0_u8; 1024];
        loop {
            let mut buffer = ReadBuf::new(&mut scratch);
            match Pin::new(&mut self.stream).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if buffer.filled().is_empty() => {
                    return Poll::Ready(Err(Self::broken()));
                }
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl AsyncRead for HouseConn {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.control.reader.register(cx.waker());
        match self.state() {
            CLOSED | RESET => Poll::Ready(Err(Self::broken())),
            SILENT => self.swallow(cx),
            _ => {
                let before = buffer.filled().len();
                let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
                let got = buffer.filled().len() - before;
                if polled.is_ready() && got == 0 {
                    self.control.gone.store(true, Ordering::Release);
                }
                if got > 0 && self.control.busy.load(Ordering::Acquire) == 0 {
                    let now_ms = self.control.timeline.now_ms();
                    // Only the first byte counts; the answer resets it.
                    let _first = self.control.head_since.compare_exchange(
                        0,
                        now_ms,
                        Ordering::AcqRel,
                        Ordering::Acquire,
                    );
                }
                polled
            }
        }
    }
}

impl AsyncWrite for HouseConn {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.control.writer.register(cx.waker());
        match self.state() {
            CLOSED | RESET => Poll::Ready(Err(Self::broken())),
            // To the rest of the house a dead line looks like one that works.
            SILENT => Poll::Ready(Ok(bytes.len())),
            _ => Pin::new(&mut self.stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.state() {
            SILENT => Poll::Ready(Ok(())),
            _ => Pin::new(&mut self.stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.state() {
            // A silent connection must not say goodbye either, as long as the other side stays.
            SILENT => match self.swallow(cx) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(_) => Poll::Ready(Ok(())),
            },
            RESET => Poll::Ready(Ok(())),
            _ => Pin::new(&mut self.stream).poll_shutdown(cx),
        }
    }
}
