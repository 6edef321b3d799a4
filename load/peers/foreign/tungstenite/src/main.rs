//! tokio-tungstenite, with the events of connect, echo and marketdata. Tuned: tokio's current_thread runtime with tasks that
//! need no locks, small read buffers, what many clients get made once, everything that a client gets at once fed and then
//! flushed by one write, one timer for all pings; link-time optimization over everything.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{
    cell::{Cell, RefCell},
    io, iter, process,
    rc::{Rc, Weak},
    thread,
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    runtime, select,
    sync::Notify,
    task, time,
};
use tokio_tungstenite::{
    accept_async_with_config,
    tungstenite::{Message, Utf8Bytes, protocol::WebSocketConfig},
};

const MAX_PAYLOAD: usize = 1_000_000;
/// Clients are dealt out in turn to groups that are pinged one after the other, so that the pings of many clients are spread
/// over the interval and take one timer.
const PINGED: usize = 50;

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
    control(listener.local_addr().expect("address").port());
    let hub =
        Rc::new(Hub { settings, quotes: RefCell::default(), pinged: RefCell::new([const { Vec::new() }; PINGED]) });
    task::spawn_local(hub.clone().publish_quotes());
    task::spawn_local(hub.clone().ping());
    for dealt in 0.. {
        // A connection that cannot be accepted, for want of descriptors say, is its client's loss.
        if let Ok((stream, _)) = listener.accept().await {
            task::spawn_local(serve(stream, hub.clone(), dealt % PINGED));
        }
    }
}

/// Tells the harness that clients may come, answers its order "memory", one line of JSON each, and ends with it.
fn control(port: u16) {
    #[derive(Deserialize)]
    struct Order {
        id: u64,
    }
    println!(r#"{{"ready":true,"port":{port}}}"#);
    thread::spawn(|| {
        for line in io::stdin().lines().map_while(Result::ok) {
            let Order { id } = serde_json::from_str(&line).expect("order");
            // Gives the kernel back what is free.
            unsafe { libc::malloc_trim(0) };
            println!(r#"{{"id":{id},"result":{{}}}}"#);
        }
        process::exit(0);
    });
}

/// What the timer of pings knows of a client.
#[derive(Default)]
struct Member {
    due: Notify,
    /// Has been silent since the last ping.
    silent: Cell<bool>,
}

/// What clients share. All on one thread, so nothing here is locked.
struct Hub {
    settings: Settings,
    quotes: RefCell<Vec<Utf8Bytes>>,
    /// Those that have ended are dropped when their turn comes.
    pinged: RefCell<[Vec<Weak<Member>>; PINGED]>,
}

impl Hub {
    async fn publish_quotes(self: Rc<Self>) {
        let mut seconds = time::interval(Duration::from_secs(1));
        for second in 0.. {
            seconds.tick().await;
            *self.quotes.borrow_mut() = (0..10).map(|number| quote(number, second)).collect();
        }
    }

    async fn ping(self: Rc<Self>) {
        let mut ticks = time::interval(Duration::from_millis(self.settings.ping_interval) / PINGED as u32);
        for turn in (0..PINGED).cycle() {
            ticks.tick().await;
            self.pinged.borrow_mut()[turn]
                .retain(|member| member.upgrade().map(|member| member.due.notify_one()).is_some());
        }
    }
}

/// Workload 3's messages, as marketdata.js makes them.
fn quote(number: usize, second: usize) -> Utf8Bytes {
    let start = format!("{number} {second} ");
    let more = format!("quote {start}");
    let text: String =
        iter::once(start.as_str()).chain(iter::repeat(more.as_str())).flat_map(str::chars).take(10_000).collect();
    event_packet("data", &format!("\"{text}\""))
}

/// One client, from its connection to its end, which is `None` here.
async fn serve(stream: TcpStream, hub: Rc<Hub>, group: usize) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let config = WebSocketConfig::default()
        .read_buffer_size(4096)
        .max_message_size(Some(MAX_PAYLOAD))
        .max_frame_size(Some(MAX_PAYLOAD));
    let mut ws = accept_async_with_config(stream, Some(config)).await.ok()?;
    ws.send(Message::Text(open_packet(&hub.settings))).await.ok()?;
    let member = Rc::new(Member::default());
    hub.pinged.borrow_mut()[group].push(Rc::downgrade(&member));
    let mut replies = Vec::new();
    loop {
        select! {
            biased;
            message = ws.next() => match message?.ok()? {
                Message::Text(packet) => {
                    member.silent.set(false);
                    receive(&packet, &hub, &mut replies)?;
                }
                // tungstenite answers it itself.
                Message::Ping(_) => {}
                _ => return None,
            },
            // A client that has not answered the last ping by now is gone.
            () = member.due.notified() => match member.silent.replace(true) {
                true => return None,
                false => replies.push(Utf8Bytes::from_static("2")),
            },
        }
        for reply in replies.drain(..) {
            ws.feed(Message::Text(reply)).await.ok()?;
        }
        ws.flush().await.ok()?;
    }
}

fn open_packet(settings: &Settings) -> Utf8Bytes {
    format!(
        r#"0{{"sid":"{}","upgrades":[],"pingInterval":{},"pingTimeout":{},"maxPayload":{MAX_PAYLOAD}}}"#,
        session_id(),
        settings.ping_interval,
        settings.ping_timeout
    )
    .into()
}

fn session_id() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 15]>())
}

/// `value` is JSON already.
fn event_packet(name: &str, value: &str) -> Utf8Bytes {
    ["42[\"", name, "\",", value, "]"].concat().into()
}

/// Handles a packet. `None` when the client has to go for it.
fn receive(packet: &str, hub: &Hub, replies: &mut Vec<Utf8Bytes>) -> Option<()> {
    match packet {
        "3" => {}
        "40" => replies.push(format!(r#"40{{"sid":"{}"}}"#, session_id()).into()),
        _ => {
            // Values stay JSON: what is only passed on need not be decoded.
            let event: Vec<&RawValue> = serde_json::from_str(packet.strip_prefix("42")?).ok()?;
            match event.first()?.get() {
                r#""echo""# => replies.push(event_packet("echo", event.get(1)?.get())),
                r#""heartbeat""# => replies.extend(hub.quotes.borrow().iter().cloned()),
                _ => return None,
            }
        }
    }
    Some(())
}
