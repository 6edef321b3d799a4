// The control row of the benchmark "state": uWebSockets.js alone, which publishes each change as a packet of the same bytes.

import { settings, unavailable } from '../support/control.js';
import { app, listen, maxBackpressure } from '../support/uws-app.js';
import { eventPacket, MAX_PAYLOAD, openPacket, receive } from '../support/wire.js';
import { stateSource } from './state-source.js';

const source = stateSource(settings, (key, value) => app.publish('quotes', eventPacket('state', [[key, value]], {})));

const handlers = {
  join(ws, _options, ack) {
    ws.subscribe('quotes');
    ws.send(`43${ack}[{"ok":true}]`);
  },
  start: () => source.start(),
};

app.ws('/socket.io/', {
  maxBackpressure,
  maxPayloadLength: MAX_PAYLOAD,
  idleTimeout: 0,
  sendPingsAutomatically: false,
  open: (ws) => ws.send(openPacket()),
  message(ws, data) {
    if (!receive(ws, Buffer.from(data).toString(), handlers)) ws.close();
  },
});

if (settings.filled) unavailable('it keeps no values');
else listen();
