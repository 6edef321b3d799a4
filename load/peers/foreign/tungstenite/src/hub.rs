//! What clients share. All on one thread, so nothing here is locked.

use crate::{Settings, protocol};
use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    iter, mem,
    rc::{Rc, Weak},
    time::Duration,
};
use tokio::{sync::Notify, time};
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// What others know of a client: where to leave messages for it.
pub struct Member {
    waiting: RefCell<Vec<Utf8Bytes>>,
    posted: Notify,
    /// Has sent something since the last ping.
    pub alive: Cell<bool>,
    dismissed: Cell<bool>,
}

impl Member {
    pub fn new() -> Self {
        Self { waiting: RefCell::default(), posted: Notify::new(), alive: Cell::new(true), dismissed: Cell::new(false) }
    }

    /// For the client's own task, which writes once it has handled what it read.
    pub fn reply(&self, message: Utf8Bytes) {
        self.waiting.borrow_mut().push(message);
    }

    /// For broadcasts. Until the client's task runs, more may gather.
    pub fn post(&self, message: Utf8Bytes) {
        self.reply(message);
        self.posted.notify_one();
    }

    pub async fn posted(&self) {
        self.posted.notified().await;
    }

    fn dismiss(&self) {
        self.dismissed.set(true);
        self.posted.notify_one();
    }

    /// All that waits, or `None` when the client has to go.
    pub fn take(&self) -> Option<Vec<Utf8Bytes>> {
        (!self.dismissed.get()).then(|| mem::take(&mut *self.waiting.borrow_mut()))
    }
}

/// Members that have ended are dropped when the room is next used.
#[derive(Default)]
struct Room(RefCell<Vec<Weak<Member>>>);

impl Room {
    fn add(&self, member: &Rc<Member>) {
        self.0.borrow_mut().push(Rc::downgrade(member));
    }

    fn each(&self, mut use_member: impl FnMut(&Member)) {
        self.0.borrow_mut().retain(|member| member.upgrade().map(|member| use_member(&member)).is_some());
    }
}

/// Clients are dealt out in turn to rooms that are pinged one after the other, so that the pings of many clients are spread
/// over the interval and take one timer.
const PINGED: usize = 50;

pub struct Hub {
    pub settings: Settings,
    quotes: RefCell<Vec<Utf8Bytes>>,
    rooms: RefCell<HashMap<String, Room>>,
    pinged: [Room; PINGED],
    dealt: Cell<usize>,
}

impl Hub {
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            quotes: RefCell::default(),
            rooms: RefCell::default(),
            pinged: [const { Room(RefCell::new(Vec::new())) }; PINGED],
            dealt: Cell::default(),
        }
    }

    pub fn join(&self, name: String, member: &Rc<Member>) {
        self.rooms.borrow_mut().entry(name).or_default().add(member);
    }

    pub fn publish(&self, name: &str, message: &Utf8Bytes) {
        if let Some(room) = self.rooms.borrow().get(name) {
            room.each(|member| member.post(message.clone()));
        }
    }

    pub fn reply_quotes(&self, member: &Member) {
        for quote in self.quotes.borrow().iter() {
            member.reply(quote.clone());
        }
    }

    pub async fn publish_quotes(self: Rc<Self>) {
        let mut seconds = time::interval(Duration::from_secs(1));
        for second in 0.. {
            seconds.tick().await;
            *self.quotes.borrow_mut() = (0..10).map(|number| quote(number, second)).collect();
        }
    }

    pub fn deal(&self, member: &Rc<Member>) {
        let turn = self.dealt.replace(self.dealt.get() + 1);
        self.pinged[turn % PINGED].add(member);
    }

    pub async fn ping(self: Rc<Self>) {
        let ping = Utf8Bytes::from_static("2");
        let mut ticks = time::interval(Duration::from_millis(self.settings.ping_interval) / PINGED as u32);
        for room in self.pinged.iter().cycle() {
            ticks.tick().await;
            room.each(|member| {
                // A client that has not answered the last ping by now is gone.
                if member.alive.replace(false) {
                    member.post(ping.clone());
                } else {
                    member.dismiss();
                }
            });
        }
    }
}

/// Workload 3's messages, as marketdata.js beside this folder makes them.
fn quote(number: usize, second: usize) -> Utf8Bytes {
    let start = format!("{number} {second} ");
    let more = format!("quote {start}");
    let text: String =
        iter::once(start.as_str()).chain(iter::repeat(more.as_str())).flat_map(str::chars).take(10_000).collect();
    protocol::event_packet("data", &format!("\"{text}\""))
}
