import type { Logger } from 'pino';
import type { Server, Socket } from 'socket.io';
import type { Engine } from '../../engine/engine.js';
import type { Session } from '../../engine/session/session.js';
import { privateParts } from '../../io/socket-io-server.private.js';
import { fieldsOf } from './reports.js';

/** With the whole id, a reader of the log could take over the session. */
const HIDDEN_CHARACTERS = 10;

/** The beginning of a session's id, under which the log tells its story. */
export const shownId = (sid: string): string => sid.slice(0, -HIDDEN_CHARACTERS);

/** With LOG_LEVEL=debug, logs what happens to each session, from its handshake to its end. */
export function logSessions(engine: Engine, log: Logger): void {
  if (!log.isLevelEnabled('debug')) return;
  engine.on('connection', (session: Session) => {
    const openedAt = performance.now();
    const named = { session: shownId(session.id) };
    const transport = session.transport.name;
    const agent = session.request.headers['user-agent']?.slice(0, 200);
    log.debug({ ...named, ...fieldsOf(session.request), transport, agent }, 'session opened');
    session.on('upgrade', () => log.debug({ ...named, transport: session.transport.name }, 'session upgraded'));
    session.on('close', (reason: string, description: unknown) => {
      const error = description instanceof Error ? description.message : undefined;
      const ms = Math.round(performance.now() - openedAt);
      log.debug({ ...named, reason, error, ms }, 'session closed');
    });
  });
}

/** With LOG_LEVEL=debug, logs the connects to namespaces, and their ends. */
export function logSockets(io: Server, log: Logger): void {
  if (!log.isLevelEnabled('debug')) return;
  const onSocket = (socket: Socket) => {
    const { id, nsp, conn, data } = socket;
    const named = { session: shownId((conn as unknown as Session).id), socket: id, namespace: nsp.name };
    log.debug({ ...named, user: (data as { name?: unknown }).name }, 'socket connected');
    socket.on('disconnect', (reason) => log.debug({ ...named, reason }, 'socket disconnected'));
  };
  // The server may still be in its constructor, without namespaces.
  queueMicrotask(() => {
    for (const namespace of privateParts(io)._nsps.values()) namespace.on('connection', onSocket);
    io.on('new_namespace', (namespace) => namespace.on('connection', onSocket));
  });
}
