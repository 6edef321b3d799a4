import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from '@jest/globals';
import { Engine } from '../../../src/engine/engine.js';
import type { HttpExchange } from '../../../src/engine/http/exchange.js';
import { routeHttp } from '../../../src/engine/routes.js';
import type { Session } from '../../../src/engine/session/session.js';
import { App } from '../../../src/engine/sockets.js';
import { Server } from '../../../src/index.js';
import { closeAll, closeLater } from '../../io/server/support/servers.js';
import { until } from '../../support/until.js';
import { handshake } from '../bases/support/frames.js';
import { closeEngines, listen } from '../support/engine.js';
import { closeConnections, RawConnection } from '../support/tcp.js';

/** Every byte that waits for a client counts in the one budget, whatever part of the server has written it. */

afterEach(async () => {
  closeConnections();
  await closeAll();
  closeEngines();
});

const MB = 1_000_000;
/** The kernel takes some of it. */
const BODY = 40 * MB;
const text = () => 'x'.repeat(BODY);
const ENGINE = '/socket.io/?EIO=4';
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

interface Place {
  engine: Engine;
  port: number;
}

/** A route of the service's own. */
async function route(answer: (exchange: HttpExchange) => void): Promise<Place> {
  const engine = closeLater(new Engine());
  const app = App();
  engine.attach(app);
  routeHttp(app, engine, { pattern: '/big', secure: false, handle: answer });
  return { engine, port: await listen(app) };
}

/** An engine whose sessions get much. */
async function sessions(give: (session: Session) => void): Promise<Place> {
  const engine = closeLater(new Engine({ maxHttpBufferSize: BODY }));
  engine.on('connection', give);
  const app = App();
  engine.attach(app);
  return { engine, port: await listen(app) };
}

/** Clients that ask, and do not read what they get. */
const asks = (request: string) => async (port: number) => {
  (await RawConnection.to(port, false)).write(request);
};

async function polls(port: number): Promise<void> {
  const connection = (await RawConnection.to(port)).write(get(`${ENGINE}&transport=polling`));
  await connection.responses(1);
  await until(() => connection.received.includes('"sid"'));
  const [, sid] = /"sid":"([^"]+)"/.exec(connection.received)!;
  await asks(get(`${ENGINE}&transport=polling&sid=${sid}`))(port);
}

const webSocket = asks(handshake(`${ENGINE}&transport=websocket`));

const places: [name: string, start: () => Promise<Place>, ask: (port: number) => Promise<void>][] = [
  ['a response', () => route((exchange) => exchange.send(200, {}, text())), asks(get('/big'))],
  [
    'a streamed response',
    () =>
      route(async (exchange) => {
        const body = exchange.stream!(200, {});
        if (await body.write(text())) body.end();
      }),
    asks(get('/big')),
  ],
  ['packets of a session on polling', () => sessions((session) => session.send(text())), polls],
  ['frames of a session on WebSocket', () => sessions((session) => session.send(text())), webSocket],
  [
    'frames of a session that is closing',
    () =>
      sessions((session) => {
        session.send(text());
        session.close();
      }),
    webSocket,
  ],
  [
    'a poll on a port of node:http',
    async () => {
      const http = closeLater(createServer());
      http.listen(0, '127.0.0.1');
      await once(http, 'listening');
      const io = closeLater(new Server(http, { maxHttpBufferSize: BODY }));
      const engine = io.engine as unknown as Engine;
      engine.on('connection', (session: Session) => session.send(text()));
      return { engine, port: (http.address() as AddressInfo).port };
    },
    polls,
  ],
];

test.each(places)('%s that is not read counts, and no longer once its client is gone', async (_name, start, ask) => {
  const { engine, port } = await start();
  const { bufferBudget } = engine;
  bufferBudget.start();
  await ask(port);
  // What the kernel keeps is out of reach.
  await until(() => bufferBudget.buffered > BODY / 2);
  closeConnections();
  await until(() => bufferBudget.buffered === 0);
});

/**
 * The files of src that write a response or a frame to a client, and who counts what they write. Whoever adds a file says
 * here how its output is counted, and adds a row above if that is a way of its own.
 */
const writers: Readonly<Record<string, string>> = {
  'service/api/operator.ts': 'a streamed response',
  'cluster/relay/receiver.ts': 'a WebSocket whose session is on another worker, which counts it',
  'engine/delivery/closing.ts': 'frames of a session that is closing',
  'engine/delivery/outbox.ts': 'frames of a session on WebSocket',
  'engine/http/middleware.ts': 'a response',
  'engine/http/response-headers.ts': 'heads of responses',
  'engine/node/app.ts': 'responses of a few bytes',
  'engine/node/connection-pipe.private.ts': 'messages to another process of this machine, with bounds in moves.ts',
  'engine/node/exchange.ts': 'a response',
  'engine/node/web-socket.ts': 'frames of a session on WebSocket',
  'engine/node/writer.ts': 'the same',
  'engine/session/handshake.ts': 'ends WebSockets',
  'engine/uws/cork-holder.ts': 'this process itself is the client',
  'engine/uws/response.ts': 'a response',
  'engine/uws/uws-exchange.ts': 'a streamed response',
  'host/operations/admin/admin-server.ts': 'the port of the operator, with 256 connections',
  'io/plain/plain-websockets.ts': 'ends plain WebSockets',
  'io/server/listeners.ts': 'a response of a few bytes, and ends sockets',
};

/** Links to other processes have bounds of their own. */
const links = ['cluster/backplanes/', 'cluster/mesh/', 'host/runtime/machines/', 'cli/'];

test('no other part of the server writes to clients', () => {
  const source = fileURLToPath(new URL('../../../src', import.meta.url));
  const calls =
    /\b(?:res|ws|webSocket|socket|response|body|publisher|inside|writer|refusal)!?\.(?:write|end|tryEnd|endWithoutBody|send|publish|writeHead|pipe)\(/;
  const found = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !links.some((folder) => file.startsWith(folder)))
    .filter((file) => calls.test(readFileSync(join(source, file), 'utf8')));
  expect(found.sort()).toEqual(Object.keys(writers).sort());
});
