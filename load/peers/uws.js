// The control row: the applications `small` and `state` on uWebSockets.js alone, publishing from the message handler, as its
// examples do. It is what is left when there is no library between the application and uWS.

import { settings, unavailable } from './support/control.js';
import { everySecond } from './support/marketdata.js';
import { stateSource } from './support/state-source.js';
import { app, listen, maxBackpressure } from './support/uws.js';
import { eventPacket, MAX_PAYLOAD, openPacket, receive } from './support/wire.js';

const { application = 'small', pingInterval, pingTimeout } = settings;

// Heartbeats as topics: every client is in one of these, and each tick one topic gets its ping. Clients are dealt out in
// turn, so the pings of many clients are spread over the interval.
const PING_TOPICS = 50;
let dealt = 0;
let pinged = 0;
setInterval(() => app.publish(`ping ${pinged++ % PING_TOPICS}`, '2'), pingInterval / PING_TOPICS);

function small() {
  let quotes;
  everySecond((texts) => {
    // The same bytes go to everyone, so they are encoded once a second and not once a client.
    quotes = texts.map((text) => Buffer.from(eventPacket('data', text)));
  });
  return {
    echo: (ws, value) => ws.send(eventPacket('echo', value)),
    upper: (ws, text) => ws.send(eventPacket('upper', text.toUpperCase())),
    join(ws, room, ack) {
      ws.subscribe(`room ${room}`);
      ws.send(`43${ack}[]`);
    },
    publish: (_ws, { room, text }) => app.publish(`room ${room}`, eventPacket('message', text)),
    // uWS corks the socket while it runs a handler, so these ten leave together.
    heartbeat(ws) {
      for (const quote of quotes) ws.send(quote, false);
    },
  };
}

/** Publishes each change as a packet of the same bytes. It keeps no values. */
function state() {
  const source = stateSource(settings, (key, value) => app.publish('quotes', eventPacket('state', [[key, value]], {})));
  return {
    join(ws, _options, ack) {
      ws.subscribe('quotes');
      ws.send(`43${ack}[{"ok":true}]`);
    },
    start: () => source.start(),
  };
}

const handlers = { small, state }[application]();

app.ws('/socket.io/', {
  maxBackpressure,
  maxPayloadLength: MAX_PAYLOAD,
  // A client that answers no ping sends nothing; uWS takes seconds in steps of 4, at least 8, and its timer is a cheap one.
  idleTimeout: Math.max(8, Math.ceil((pingInterval + pingTimeout) / 4000) * 4),
  sendPingsAutomatically: false,
  open(ws) {
    ws.send(openPacket());
    ws.subscribe(`ping ${dealt++ % PING_TOPICS}`);
  },
  message(ws, data) {
    if (!receive(ws, Buffer.from(data).toString(), handlers)) ws.close();
  },
});

if (settings.filled) unavailable('it keeps no values');
else listen();
