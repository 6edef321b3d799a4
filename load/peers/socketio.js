// An application on Socket.IO's API, in one process. The setting `base` says what is under it; everything else has its default.

import { createServer } from 'node:http';
import { Server } from 'socket.io';
import { applications } from './applications.js';
import { ready, settings } from './support/control.js';

const { base, sockets, application = 'small', host, port = 0, pingInterval, pingTimeout, flushMs } = settings;
const options = {
  ...{ pingInterval, pingTimeout },
  ...(settings.recovers ? { connectionStateRecovery: {} } : {}),
};

/** As an application has it that was written for node:http. */
async function onHttp(Server, given) {
  const { listener, run } = applications[application];
  const server = createServer(await listener?.());
  await run(new Server(server, given), settings);
  server.listen({ host, port, backlog: 4096 }, () => ready(server.address().port));
}

const bases = {
  /** Stock socket.io on node:http and ws. */
  ws: () => onHttp(Server, options),

  /** gjallar's `Server` in the place of socket.io's, and nothing else changed. */
  async swap() {
    // Read once, when the library is loaded.
    if (sockets) process.env.GJALLAR_SOCKETS = sockets;
    const gjallar = await import('../../dist/index.js');
    // As for the other peers, no limit for one client, unless the row has one.
    const { maxBackpressure = 0 } = settings;
    const given = Object.entries({ ...options, flushMs, maxBackpressure });
    await onHttp(gjallar.Server, Object.fromEntries(given.filter(([, value]) => value !== undefined)));
  },

  /** Stock socket.io on uWebSockets.js, through its own `attachApp`. */
  async uws() {
    const { app, listen, maxBackpressure } = await import('./support/uws.js');
    const io = new Server(options);
    io.attachApp(app, { maxBackpressure });
    await applications[application].run(io, settings);
    listen();
  },

  /** gjallar's engine and adapter under socket.io's Server. */
  async gjallar() {
    const { app, listen, maxBackpressure } = await import('./support/uws.js');
    const { createAdapter, Engine, parser } = await import('../../dist/index.js');
    const engine = new Engine({ ...options, maxBackpressure, flushMs });
    engine.attach(app, { path: '/socket.io/' });
    const io = new Server({ parser });
    io.bind(engine);
    io.adapter(createAdapter(engine));
    await applications[application].run(io, settings);
    listen();
  },
};

await bases[base]();
