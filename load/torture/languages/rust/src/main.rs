//! Arguments: url, transport, number of clients. Prints a line for each thing that a client notices.

use rust_socketio::{client::Client, ClientBuilder, Event, TransportType};
use std::{env, io, time::Duration};

fn start(index: usize, url: &str, transport: TransportType) -> Client {
    ClientBuilder::new(url)
        .transport_type(transport)
        .on(Event::Connect, move |_, socket| {
            let ready = move |_, _| println!("{index} ready");
            let echo = socket.emit_with_ack("echo", serde_json::json!(1), Duration::from_secs(20), ready);
            if let Err(error) = echo {
                println!("{index} failed {error}");
            }
        })
        .on(Event::Close, move |_, _| println!("{index} disconnect []"))
        .connect()
        .expect("the first connection")
}

fn main() {
    let arguments: Vec<String> = env::args().collect();
    let transport = match arguments[2].as_str() {
        "polling" => TransportType::Polling,
        _ => TransportType::Websocket,
    };
    let count: usize = arguments[3].parse().expect("a number of clients");
    let _clients: Vec<Client> = (0..count).map(|index| start(index, &arguments[1], transport.clone())).collect();
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    std::process::exit(0);
}
