//! A plug between a client and a server on this machine: bytes pass both ways until it is pulled; then every connection breaks
//! and nobody listens any more, as when a server or the line to it is gone.

use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::daemon_rig::PATIENCE;

/// The plug. It ends with its owner.
pub struct Plug {
    port: u16,
    server: u16,
    passing: JoinSet<()>,
}

impl Plug {
    /// In front of the server at this port, put in.
    pub async fn of(server: u16) -> Plug {
        let mut plug = Plug {
            port: 0,
            server,
            passing: JoinSet::new(),
        };
        plug.put_back().await;
        plug
    }

    /// The port where the server is reached as long as the plug is in.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Pulls it.
    pub async fn pull(&mut self) {
        self.passing.shutdown().await;
    }

    /// Puts it back, at the same port.
    pub async fn put_back(&mut self) {
        let begun = Instant::now();
        let listener = loop {
            match TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).await {
                Ok(listener) => break listener,
                // Somebody else's outgoing connection may have this port for a moment.
                Err(error) => assert!(begun.elapsed() < PATIENCE, "port {}: {error}", self.port),
            }
            sleep(Duration::from_millis(50)).await;
        };
        self.port = listener.local_addr().expect("a bound socket").port();
        self.passing.spawn(pass(listener, self.server));
    }
}

/// Passes on until it is dropped, and all connections with it.
async fn pass(listener: TcpListener, server: u16) {
    let mut connections = JoinSet::new();
    while let Ok((mut near, _)) = listener.accept().await {
        connections.spawn(async move {
            let Ok(mut far) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).await else {
                return;
            };
            for stream in [&near, &far] {
                stream.set_nodelay(true).expect("an open socket");
            }
            // How it ends is for the two ends to judge.
            drop(tokio::io::copy_bidirectional(&mut near, &mut far).await);
        });
        while connections.try_join_next().is_some() {}
    }
}
