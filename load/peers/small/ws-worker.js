// A worker of ws-cluster.js: `ws` alone. Tuned: no compression, no list of clients but ours, what many clients get framed
// once, everything that goes to a client in one turn of the event loop as one write, one timer for all pings.

import { createServer } from 'node:http';
import { Sender, WebSocketServer } from 'ws';
import { ready, settings } from '../support/control.js';
import { everySecond } from '../support/marketdata.js';
import { eventPacket, MAX_PAYLOAD, openPacket, receive } from '../support/wire.js';

const { host, pingInterval } = settings;

/** A text as it is on the wire, for many clients. */
const framed = (text) =>
  Buffer.concat(Sender.frame(Buffer.from(text), { fin: true, opcode: 1, mask: false, readOnly: true }));

let quotes;
everySecond((texts) => {
  quotes = texts.map((text) => framed(eventPacket('data', text)));
});

const corked = [];
function uncork() {
  for (const socket of corked) socket.uncork();
  corked.length = 0;
}

class Client {
  /** Has sent something since the last ping. */
  alive = true;
  #joined = [];

  constructor(ws, socket) {
    this.ws = ws;
    this.socket = socket;
    ws.on('message', (data) => this.#receive(data));
    ws.on('close', () => {
      for (const room of this.#joined) room.delete(this);
    });
    // Its close event follows.
    ws.on('error', () => {});
  }

  /** @param {string} text */
  send(text) {
    this.#cork();
    this.ws.send(text);
  }

  /** @param {Buffer} frame */
  write(frame) {
    this.#cork();
    this.socket.write(frame);
  }

  /** @param {Set<Client>} room */
  join(room) {
    room.add(this);
    this.#joined.push(room);
  }

  #cork() {
    if (this.socket.writableCorked > 0) return;
    if (corked.length === 0) setImmediate(uncork);
    corked.push(this.socket);
    this.socket.cork();
  }

  #receive(data) {
    this.alive = true;
    if (!receive(this, data.toString(), handlers)) this.ws.close();
  }
}

const rooms = new Map();
function roomOf(name) {
  if (!rooms.has(name)) rooms.set(name, new Set());
  return rooms.get(name);
}

const handlers = {
  echo: (client, value) => client.send(eventPacket('echo', value)),
  upper: (client, text) => client.send(eventPacket('upper', text.toUpperCase())),
  join(client, room, ack) {
    client.join(roomOf(room));
    client.send(`43${ack}[]`);
  },
  publish(_client, { room, text }) {
    const frame = framed(eventPacket('message', text));
    for (const member of roomOf(room)) member.write(frame);
  },
  heartbeat(client) {
    for (const quote of quotes) client.write(quote);
  },
};

// Clients are dealt out in turn to rooms that are pinged one after the other, which spreads the pings over the interval.
const PING = framed('2');
const pinged = Array.from({ length: 50 }, () => new Set());
let dealt = 0;
let turn = 0;
setInterval(() => {
  for (const client of pinged[turn++ % pinged.length]) {
    // A client that has not answered the last ping by now is gone.
    if (client.alive) client.write(PING);
    else client.ws.terminate();
    client.alive = false;
  }
}, pingInterval / pinged.length);

const sockets = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: MAX_PAYLOAD,
});
const server = createServer();
server.on('upgrade', (request, socket, head) => {
  // The socket is ours to cork.
  sockets.handleUpgrade(request, socket, head, (ws) => {
    const client = new Client(ws, socket);
    client.send(openPacket());
    client.join(pinged[dealt++ % pinged.length]);
  });
});
server.listen(0, host, () => ready(server.address().port));
