//! The wire format of Engine.IO 4 and Socket.IO 5, namespace "/" alone.

use crate::{
    Settings,
    hub::{Hub, Member},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::rc::Rc;
use tokio_tungstenite::tungstenite::Utf8Bytes;

pub const MAX_PAYLOAD: usize = 1_000_000;

fn session_id() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 15]>())
}

pub fn open_packet(settings: &Settings) -> Utf8Bytes {
    format!(
        r#"0{{"sid":"{}","upgrades":[],"pingInterval":{},"pingTimeout":{},"maxPayload":{MAX_PAYLOAD}}}"#,
        session_id(),
        settings.ping_interval,
        settings.ping_timeout
    )
    .into()
}

/// `value` is JSON already.
pub fn event_packet(name: &str, value: &str) -> Utf8Bytes {
    ["42[\"", name, "\",", value, "]"].concat().into()
}

/// Handles a packet. `None` when the client has to go for it.
pub fn receive(packet: &str, member: &Rc<Member>, hub: &Hub) -> Option<()> {
    match packet {
        "3" => {}
        "40" => member.reply(format!(r#"40{{"sid":"{}"}}"#, session_id()).into()),
        _ => {
            // 42["event",…] or, with the number under which an acknowledgement is expected, 420["event",…]
            let numbered = packet.strip_prefix("42")?;
            let start = numbered.find('[')?;
            // Values stay JSON: what is only passed on need not be decoded.
            let event: Vec<&RawValue> = serde_json::from_str(&numbered[start..]).ok()?;
            let value = event.get(1).map_or("null", |value| value.get());
            handle(event.first()?.get(), value, &numbered[..start], member, hub)?;
        }
    }
    Some(())
}

#[derive(Deserialize)]
struct Publication<'a> {
    room: String,
    #[serde(borrow)]
    text: &'a RawValue,
}

fn handle(name: &str, value: &str, ack: &str, member: &Rc<Member>, hub: &Hub) -> Option<()> {
    match name {
        r#""echo""# => member.reply(event_packet("echo", value)),
        r#""upper""# => {
            let text: String = serde_json::from_str(value).ok()?;
            member.reply(event_packet("upper", &serde_json::to_string(&text.to_uppercase()).ok()?));
        }
        r#""join""# => {
            hub.join(serde_json::from_str(value).ok()?, member);
            member.reply(format!("43{ack}[]").into());
        }
        r#""publish""# => {
            let publication: Publication = serde_json::from_str(value).ok()?;
            hub.publish(&publication.room, &event_packet("message", publication.text.get()));
        }
        r#""heartbeat""# => hub.reply_quotes(member),
        _ => return None,
    }
    Some(())
}
