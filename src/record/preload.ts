/**
 * `gjallar record` loads this before the application: it runs the application on gjallar, and writes what clients send.
 * The query of the module's URL has the path of the file, its maximum size, and the time at which the recording began.
 */
import '../server/register.js';
import { randomBytes } from 'node:crypto';
import { Server as HttpServer, type IncomingMessage } from 'node:http';
import { isMainThread } from 'node:worker_threads';
import type { Server } from 'socket.io';
import { onServer } from '../server/install.js';
import { type RecordedConnection, recordClient } from './client-recorder.js';
import { Secrets } from './secrets.js';
import type { Step } from './steps.js';
import { TrafficFile } from './traffic-file.js';

if (isMainThread) record(new URL(import.meta.url).searchParams);

function record(parameters: URLSearchParams): void {
  const path = parameters.get('file')!;
  const maxBytes = Number(parameters.get('maxBytes'));
  const began = Number(parameters.get('began'));
  const secrets = new Secrets();
  const counts = { clients: 0, steps: 0, requests: 0, olderClients: 0 };
  const say = (text: string) => process.stderr.write(`gjallar: ${text}\n`);
  let isOver = false;
  const file = new TrafficFile({
    path,
    maxBytes,
    onFailed: ({ message }) => {
      isOver = true;
      say(`recording stopped: cannot write ${path} (${message}); the application goes on`);
    },
    onFull: () => say(`recording stopped: ${path} has reached ${maxBytes} bytes; give --max-bytes for more`),
  });
  const add = (step: object) => {
    if (!file.isOpen) return;
    counts.steps++;
    file.add({ at: Math.max(0, Date.now() - began), ...step } as Step);
  };
  // Processes that the application starts itself write to the same file.
  const prefix = randomBytes(3).toString('hex');
  const paths = new Set<string>();

  onServer((io) => {
    watchEngine(io, (connection) => {
      if (!file.isOpen) return;
      // Clients of Socket.IO 2 speak another protocol.
      if (connection.protocol !== 4) counts.olderClients++;
      else recordClient(connection, `${prefix}-${++counts.clients}`, secrets, add);
    });
    paths.add(io.path());
  });

  watchRequests((request) => {
    const url = request.url ?? '';
    if (!file.isOpen || !url.startsWith('/') || [...paths].some((one) => url.startsWith(one))) return;
    counts.requests++;
    add({ do: 'request', method: request.method, path: secrets.path(url) });
  });

  const finish = () => {
    file.write();
    if (isOver || counts.steps === 0) return;
    isOver = true;
    const removed = [
      `${secrets.removed} secrets`,
      file.leftOut > 0 ? `${file.leftOut} steps that were too large` : '',
      counts.olderClients > 0 ? `${counts.olderClients} clients of Socket.IO 2` : '',
    ];
    say(
      `recorded ${counts.steps} steps of ${counts.clients} clients and ${counts.requests} requests to ${path}, and left out ` +
        removed.filter(Boolean).join(', '),
    );
  };
  process.on('exit', finish);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.prependOnceListener(signal, () => {
      finish();
      // Without a listener of the application, the signal ends it.
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    });
  }
}

/** Calls back with each connection of a server, whichever engine is bound to it. */
function watchEngine(io: Server, listener: (connection: RecordedConnection) => void): void {
  const bind = io.bind.bind(io);
  io.bind = (engine) => {
    engine.on('connection', listener);
    return bind(engine);
  };
}

/** Calls back with each request of every HTTP server. */
function watchRequests(listener: (request: IncomingMessage) => void): void {
  const { prototype } = HttpServer as unknown as { prototype: { emit: (...values: unknown[]) => boolean } };
  const { emit } = prototype;
  prototype.emit = function (event, ...values) {
    if (event === 'request') listener(values[0] as IncomingMessage);
    return emit.call(this, event, ...values);
  };
}
