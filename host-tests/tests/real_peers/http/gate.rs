//! Stands before a server, and holds back what it says while the gate is shut: on the connections of calls, or on
//! others.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub(crate) struct Gate {
    pub(crate) address: SocketAddr,
    open: watch::Sender<bool>,
}

impl Gate {
    /// Shut, for the answers to calls.
    pub(crate) async fn before(server: SocketAddr) -> io::Result<Gate> {
        let gate = Gate::on(server, b"\"tools/call\"").await?;
        gate.shut();
        Ok(gate)
    }

    /// Open, on the connections whose requests hold these words.
    pub(crate) async fn on(server: SocketAddr, words: &'static [u8]) -> io::Result<Gate> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (open, opened) = watch::channel(true);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let opened = opened.clone();
                // Either side may go at any time: then the other is let go too.
                tokio::spawn(
                    async move { pass(client, TcpStream::connect(server).await?, words, opened).await },
                );
            }
        });
        Ok(Gate { address, open })
    }

    pub(crate) fn open(&self) {
        self.open.send_replace(true);
    }

    pub(crate) fn shut(&self) {
        self.open.send_replace(false);
    }
}

/// One connection: one request, since the client makes a fresh one for each.
async fn pass(
    client: TcpStream,
    server: TcpStream,
    words: &[u8],
    mut opened: watch::Receiver<bool>,
) -> io::Result<()> {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let (tell, is_meant) = watch::channel(false);
    let there = async {
        let (mut buffer, mut seen) = (vec![0; 64 << 10], Vec::new());
        loop {
            let count = from_client.read(&mut buffer).await?;
            if count == 0 {
                return Ok(());
            }
            seen.extend_from_slice(&buffer[..count]);
            tell.send_replace(memchr::memmem::find(&seen, words).is_some());
            to_server.write_all(&buffer[..count]).await?;
        }
    };
    let back = async {
        let mut buffer = vec![0; 64 << 10];
        loop {
            let count = from_server.read(&mut buffer).await?;
            if count == 0 {
                return Ok(());
            }
            if *is_meant.borrow() {
                // It fails if there is nobody left who could open it.
                let _ = opened.wait_for(|open| *open).await;
            }
            to_client.write_all(&buffer[..count]).await?;
        }
    };
    tokio::select! {
        ended = there => ended,
        ended = back => ended,
    }
}
