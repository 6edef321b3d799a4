import session from 'express-session';
import helmet from 'helmet';
import type { Server, Socket } from 'socket.io';

/** What the application has seen, in order. */
export type Seen = unknown[][];

/** The names and values of an object's own properties that are in the list. */
function pick(from: object, names: string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, (from as Record<string, unknown>)[name]]));
}

/**
 * A Socket.IO application that uses everything an application can see of the engine. It knows nothing of what it runs
 * on; `seen` is where it writes down what it sees there.
 */
export function wholeApplication(io: Server, seen: Seen): void {
  const { engine } = io;
  let lastId = 0;
  engine.generateId = (request) => Promise.resolve(`${request.method}-${++lastId}`);
  engine.use(session({ secret: 'secret', resave: true, saveUninitialized: true, name: 'session' }));
  engine.use(helmet());
  engine.use((request: { headers: Record<string, string> }, response: Response, next: (error?: Error) => void) => {
    if (request.headers['x-ended']) response.writeHead(503, { 'x-why': 'ended' }).end('no');
    else next(request.headers['x-failing'] ? new Error('middleware') : undefined);
  });
  engine.on('initial_headers', (headers: Record<string, string>, request: { _query: { transport: string } }) => {
    headers['x-initial'] = request._query.transport;
  });
  engine.on('headers', (headers: Record<string, string>) => {
    headers['x-each'] = 'yes';
  });
  engine.on('connection_error', ({ code, message, context, req }: ConnectionError) => {
    seen.push(['connection_error', code, message, context, req.method]);
  });
  engine.on('connection', (conn: Socket['conn']) =>
    seen.push(['engine', pick(conn, ['id', 'readyState', 'protocol'])]),
  );

  io.use((socket, next) => {
    socket.join('from-middleware');
    if (socket.handshake.auth.token === 'wrong') next(Object.assign(new Error('not you'), { data: { retry: false } }));
    else next();
  });
  io.on('connection', (socket) => serve(io, socket, seen));
  io.of('/other').on('connection', (socket) => socket.emit('hello', socket.nsp.name));
}

interface ConnectionError {
  code: number;
  message: string;
  context: object;
  req: { method: string };
}

interface Response {
  writeHead(status: number, headers: Record<string, string>): Response;
  end(body: string): void;
}

function serve(io: Server, socket: Socket, seen: Seen): void {
  const { conn, handshake } = socket;
  const events: string[] = [];
  conn.once('upgrade', (transport) => events.push(`upgrade to ${transport.name}`));
  conn.on('packet', ({ type }) => events.push(`packet ${type}`));
  conn.once('packetCreate', ({ type, options }) => events.push(`packetCreate ${type} ${options?.compress}`));
  conn.once('drain', () => events.push(`drain ${pendingOf(conn).length}`));
  conn.once('close', (reason) => seen.push(['conn closed', reason, conn.readyState, pendingOf(conn).length]));
  socket.on('disconnect', (reason) => seen.push(['disconnected', reason]));

  socket.on('handshake', (reply) => {
    const { url, time, issued, headers, ...rest } = handshake;
    reply({
      ...rest,
      url: url.replace(/[?&]t=[^&]+/, ''),
      time: Number.isFinite(Date.parse(time)),
      issued: typeof issued,
      headers: pick(headers, ['x-custom', 'user-agent', 'cookie']),
      hasHost: typeof headers.host,
    });
  });
  socket.on('conn', (reply) => {
    const { request } = conn as unknown as { request: SessionRequest };
    const visits = (request.session.visits ?? 0) + 1;
    request.session.visits = visits;
    reply({
      ...pick(conn, ['readyState', 'protocol', 'remoteAddress', 'upgraded', 'upgrading']),
      hasId: typeof (conn as unknown as { id: string }).id,
      transport: conn.transport.name,
      writable: typeof conn.transport.writable,
      request: pick(request, ['method', '_query']).method,
      EIO: request._query.EIO,
      address: request.connection.remoteAddress,
      visits,
      clientsCount: io.engine.clientsCount,
    });
  });
  socket.on('events', (reply) => reply(events));
  socket.on('echo', (...values) => values.pop()(...values));
  socket.on('burst', (count: number) => {
    for (let number = 0; number < count; number++)
      socket.compress(number % 2 === 0).emit('number', number, 'x'.repeat(300));
  });
  socket.on('shout', (room: string, ...values) => io.to(room).emit('shout', ...values));
  socket.on('ask', (reply) =>
    socket.timeout(30_000).emit('question', (_error: unknown, answer: unknown) => reply(answer)),
  );
  socket.on('out', () => socket.disconnect(true));
}

interface SessionRequest {
  session: { visits?: number };
  connection: { remoteAddress: string };
  _query: Record<string, string>;
}

function pendingOf(conn: Socket['conn']): unknown[] {
  return (conn as unknown as { writeBuffer: unknown[] }).writeBuffer;
}
