//! tokio-tungstenite. Tuned: tokio's current_thread runtime with tasks that need no locks, small read buffers, messages of
//! many receivers made once, everything that waits for a client fed and then flushed by one write, one timer for all
//! pings; link-time optimization over everything.

mod client;
mod control;
mod hub;
mod protocol;

use hub::Hub;
use serde::Deserialize;
use std::rc::Rc;
use tokio::{net::TcpListener, runtime, task};

/// Where to listen and how often to ping, in milliseconds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Settings {
    host: String,
    ping_interval: u64,
    ping_timeout: u64,
}

fn main() {
    let argument = std::env::args().nth(1).expect("settings");
    let settings: Settings = serde_json::from_str(&argument).expect("settings");
    let runtime = runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    task::LocalSet::new().block_on(&runtime, listen(settings));
}

async fn listen(settings: Settings) {
    let listener = TcpListener::bind((settings.host.as_str(), 0)).await.expect("bind");
    control::start(listener.local_addr().expect("address").port());
    let hub = Rc::new(Hub::new(settings));
    task::spawn_local(hub.clone().publish_quotes());
    task::spawn_local(hub.clone().ping());
    loop {
        // A connection that cannot be accepted, for want of descriptors say, is its client's loss.
        if let Ok((stream, _)) = listener.accept().await {
            task::spawn_local(client::serve(stream, hub.clone()));
        }
    }
}
