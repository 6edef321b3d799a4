//! One client, from its connection to its end: a task that reads from it and writes to it.

use crate::{
    hub::{Hub, Member},
    protocol,
};
use futures_util::{SinkExt, StreamExt};
use std::rc::Rc;
use tokio::{net::TcpStream, select};
use tokio_tungstenite::{
    WebSocketStream, accept_async_with_config,
    tungstenite::{Message, Utf8Bytes, protocol::WebSocketConfig},
};

/// `None`, as everywhere here, is the end of the client.
pub async fn serve(stream: TcpStream, hub: Rc<Hub>) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let config = WebSocketConfig::default()
        .read_buffer_size(4096)
        .max_message_size(Some(protocol::MAX_PAYLOAD))
        .max_frame_size(Some(protocol::MAX_PAYLOAD));
    let mut ws = accept_async_with_config(stream, Some(config)).await.ok()?;
    let member = Rc::new(Member::new());
    member.reply(protocol::open_packet(&hub.settings));
    write(&mut ws, member.take()?).await?;
    hub.deal(&member);
    loop {
        select! {
            biased;
            message = ws.next() => match message?.ok()? {
                Message::Text(packet) => {
                    member.alive.set(true);
                    protocol::receive(&packet, &member, &hub)?;
                }
                // tungstenite answers it itself.
                Message::Ping(_) => {}
                _ => return None,
            },
            () = member.posted() => {}
        }
        write(&mut ws, member.take()?).await?;
    }
}

async fn write(ws: &mut WebSocketStream<TcpStream>, messages: Vec<Utf8Bytes>) -> Option<()> {
    for message in messages {
        ws.feed(Message::Text(message)).await.ok()?;
    }
    ws.flush().await.ok()
}
