//! One connection: bytes in, lines to the world; the world's output back in random pieces.

use std::sync::{Arc, Mutex};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;

use super::world::World;

pub async fn serve<S: AsyncRead + AsyncWrite>(
    world: Arc<Mutex<World>>,
    wake: Arc<Notify>,
    session: usize,
    stream: S,
) {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let mut rng =
        SmallRng::seed_from_u64(world.lock().expect("not poisoned").seed ^ session as u64);
    let mut buffer = [0u8; 1024];
    let mut line: Vec<u8> = Vec::new();
    loop {
        // Registered before the outbox is looked at, so that nothing is missed in between.
        let notified = wake.notified();
        tokio::pin!(notified);
        notified.as_mut().enable();
        let (bytes, closed) = world.lock().expect("not poisoned").take_output(session);
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let length = if rng.random_bool(0.3) {
                1
            } else {
                rng.random_range(1..=40)
            }
            .min(rest.len());
            let (piece, tail) = rest.split_at(length);
            if writer.write_all(piece).await.is_err() {
                world.lock().expect("not poisoned").hung_up(session);
                wake.notify_waiters();
                return;
            }
            if rng.random_bool(0.2) {
                tokio::task::yield_now().await;
            }
            rest = tail;
        }
        if closed {
            // An error means that the other side was faster.
            drop(writer.shutdown().await);
            return;
        }
        if !bytes.is_empty() {
            continue;
        }
        let pending = world.lock().expect("not poisoned").next_delayed();
        let timer = async {
            match pending {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = &mut notified => {}
            () = timer => {}
            read = reader.read(&mut buffer) => {
                let Ok(count @ 1..) = read else {
                    world.lock().expect("not poisoned").hung_up(session);
                    wake.notify_waiters();
                    return;
                };
                let mut world = world.lock().expect("not poisoned");
                world.count_early(session, count);
                for byte in &buffer[..count] {
                    if *byte == b'\n' {
                        let taken = std::mem::take(&mut line);
                        world.input_bytes(session, &taken);
                    } else {
                        line.push(*byte);
                    }
                }
                drop(world);
                wake.notify_waiters();
            }
        }
    }
}
