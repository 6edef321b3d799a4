// `ws` on the cluster module, with the events of connect, echo and marketdata. One worker, as all peers have one core. Tuned:
// no compression, no list of clients but ours, what many clients get framed once, everything that goes to a client in one turn
// of the event loop as one write, one timer for all pings.

import cluster from 'node:cluster';
import { createServer } from 'node:http';

if (cluster.isPrimary) {
  // In turns is Node's default; a single worker accepts faster by itself.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  const worker = cluster.fork();
  worker.on('message', (message) =>
    process.send(message.ready ? { ...message, pids: [process.pid, worker.process.pid] } : message),
  );
  worker.on('exit', () => process.exit(1));
  process.on('message', (order) => worker.send(order));
  process.on('disconnect', () => process.exit());
} else {
  await serve();
}

async function serve() {
  const { Sender, WebSocketServer } = await import('ws');
  const { ready, settings } = await import('./support/control.js');
  const { everySecond } = await import('./support/marketdata.js');
  const { eventPacket, MAX_PAYLOAD, openPacket, receive } = await import('./support/wire.js');

  /** A text as it is on the wire, for many clients. */
  const framed = (text) =>
    Buffer.concat(Sender.frame(Buffer.from(text), { fin: true, opcode: 1, mask: false, readOnly: true }));
  const PING = framed('2');

  let quotes;
  everySecond((texts) => {
    quotes = texts.map((text) => framed(eventPacket('data', text)));
  });

  const corked = [];
  function cork(socket) {
    if (socket.writableCorked > 0) return socket;
    if (corked.length === 0) setImmediate(uncork);
    corked.push(socket);
    socket.cork();
    return socket;
  }
  function uncork() {
    for (const socket of corked) socket.uncork();
    corked.length = 0;
  }

  const handlers = {
    echo: (client, value) => client.send(eventPacket('echo', value)),
    heartbeat(client) {
      for (const quote of quotes) cork(client.socket).write(quote);
    },
  };

  class Client {
    /** Has sent something since the last ping. */
    alive = true;

    constructor(ws, socket, group) {
      this.ws = ws;
      this.socket = socket;
      group.add(this);
      ws.on('message', (data) => {
        this.alive = true;
        if (!receive(this, data.toString(), handlers)) ws.close();
      });
      ws.on('close', () => group.delete(this));
      // Its close event follows.
      ws.on('error', () => {});
    }

    /** @param {string} text */
    send(text) {
      cork(this.socket);
      this.ws.send(text);
    }
  }

  // Clients are dealt out in turn to groups that are pinged one after the other, which spreads the pings over the interval.
  const pinged = Array.from({ length: 50 }, () => new Set());
  let dealt = 0;
  let turn = 0;
  setInterval(() => {
    for (const client of pinged[turn++ % pinged.length]) {
      // A client that has not answered the last ping by now is gone.
      if (client.alive) cork(client.socket).write(PING);
      else client.ws.terminate();
      client.alive = false;
    }
  }, settings.pingInterval / pinged.length);

  const options = { noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload: MAX_PAYLOAD };
  const sockets = new WebSocketServer(options);
  const server = createServer();
  server.on('upgrade', (request, socket, head) => {
    // The socket is ours to cork.
    sockets.handleUpgrade(request, socket, head, (ws) => {
      new Client(ws, socket, pinged[dealt++ % pinged.length]).send(openPacket());
    });
  });
  server.listen(0, settings.host, () => ready(server.address().port));
}
