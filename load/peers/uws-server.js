// uWebSockets.js alone, speaking the wire format of Engine.IO v4 and Socket.IO v5 by hand, for WebSocket clients on
// namespace "/" only: what is left when there is no library between the application and uWS.

import { randomBytes } from 'node:crypto';
import { settings } from './control.js';
import { everySecond } from './marketdata.js';
import { app, listen, maxBackpressure } from './uws-app.js';

const { pingInterval, pingTimeout } = settings;

const eventPacket = (name, value) => `42${JSON.stringify([name, value])}`;
const sessionId = () => randomBytes(15).toString('base64url');

let quotes;
everySecond((texts) => {
  // The same bytes go to everyone, so they are encoded once a second and not once a client.
  quotes = texts.map((text) => Buffer.from(eventPacket('data', text)));
});

// Heartbeats as topics: every client is in one of these, and each tick one topic gets its ping. Clients are dealt out in
// turn, so the pings of many clients are spread over the interval.
const PING_TOPICS = 50;
let dealt = 0;
let pinged = 0;
setInterval(() => app.publish(`ping ${pinged++ % PING_TOPICS}`, '2'), pingInterval / PING_TOPICS);

/** @param {(topic: string, message: string) => void} publish how a message gets from a handler to `app.publish` */
export function serve(publish) {
  const handlers = {
    echo: (ws, value) => ws.send(eventPacket('echo', value)),
    upper: (ws, text) => ws.send(eventPacket('upper', text.toUpperCase())),
    join(ws, room, ack) {
      ws.subscribe(`room ${room}`);
      ws.send(`43${ack}[]`);
    },
    publish: (_ws, { room, text }) => publish(`room ${room}`, eventPacket('message', text)),
    // uWS corks the socket while it runs a handler, so these ten leave together.
    heartbeat(ws) {
      for (const quote of quotes) ws.send(quote, false);
    },
  };

  app.ws('/socket.io/', {
    maxBackpressure,
    maxPayloadLength: 1e6,
    // Whoever answers no ping sends nothing; uWS takes seconds in steps of 4, at least 8, and its timer is a cheap one.
    idleTimeout: Math.max(8, Math.ceil((pingInterval + pingTimeout) / 4000) * 4),
    sendPingsAutomatically: false,

    open(ws) {
      const open = { sid: sessionId(), upgrades: [], pingInterval, pingTimeout, maxPayload: 1e6 };
      ws.send(`0${JSON.stringify(open)}`);
      ws.subscribe(`ping ${dealt++ % PING_TOPICS}`);
    },

    message(ws, data) {
      const packet = Buffer.from(data).toString();
      if (packet === '3') return;
      if (packet === '40') {
        ws.send(`40{"sid":"${sessionId()}"}`);
        return;
      }
      // 42["event",…] or, with the number under which an acknowledgement is expected, 420["event",…]
      const start = packet.indexOf('[');
      if (!packet.startsWith('42') || start === -1) return ws.close();
      const [name, value] = JSON.parse(packet.slice(start));
      handlers[name](ws, value, packet.slice(2, start));
    },
  });

  listen();
}
