import type { Server } from 'socket.io';
import { handshakeErrors } from '../../base/errors.js';
import { Outage } from '../../base/outage.js';
import type { Reason } from '../../base/problems.js';
import { thisProcess } from '../../base/process.js';
import { Seldom } from '../../base/warnings.js';
import { type CloseReason, closeErrors } from '../../engine/counters.js';
import type { Engine } from '../../engine/engine.js';
import type { EngineRequest } from '../../engine/http/request.js';
import { type LoadLevel, levels } from '../../engine/limits/load-monitor.js';
import type { Session } from '../../engine/session/session.js';
import { onUnknownNamespace } from '../../io/socket-io-server.private.js';
import { shownId } from '../operations/connection-log.js';

const FULL: Reason = {
  code: 'NO_DESCRIPTORS',
  text: 'the worker is about to run out of file descriptors: it turns new connections away',
};
const OVERLOADED: Reason = { code: 'OVERLOADED', text: 'the worker is overloaded: it turns new clients away' };
const FLOOD: Reason = {
  code: 'CLIENT_FLOODS',
  text: 'a client sent far more than RATE_LIMIT allows, and was disconnected',
};
const HTTP_FLOOD = 'too many requests of one address in one turn of the event loop';
const BUFFERS_FULL: Reason = {
  code: 'BUFFERS_FULL',
  text: 'too many bytes waited for and from clients (MAX_BUFFERED): those with the most were disconnected',
};
/** At most one such line in the log in this time, in ms. */
const BUFFERS_LOG_MS = 10_000;
/** How long a warning stays after the last such client, in ms. */
const WARNING_MS = 60_000;

/** From this level on, being overloaded is a problem that operators are told of. */
const PROBLEM_FROM: LoadLevel = 2;

/** Reports what the engine protects itself from. */
export function reportEngine(engine: Engine): void {
  const full = new Outage({ over: 'new connections are accepted again' });
  engine.connectionGuard.onChange = (isFull) => {
    if (isFull) full.begin(FULL, { max: engine.connectionGuard.max });
    else full.end();
  };
  const overloaded = new Outage({ over: 'the worker is no longer overloaded', level: 'warn' });
  engine.load.onChange = (level) => {
    if (level < PROBLEM_FROM) return overloaded.end();
    overloaded.begin(OVERLOADED, { level: levels[level].name, delayMs: Math.round(engine.load.delayMs) });
  };
  const freed = new Seldom(BUFFERS_LOG_MS);
  engine.bufferBudget.onFreed = (clients, bytes) => {
    const { log, problems } = thisProcess.reports;
    problems.raise(BUFFERS_FULL, BUFFERS_FULL, WARNING_MS);
    const count = freed.due('', clients);
    if (count !== undefined) log.warn({ code: BUFFERS_FULL.code, clients: count, bytes }, BUFFERS_FULL.text);
  };
}

/** The argument of the engine's event `connection_error`. */
interface ConnectionError {
  req: EngineRequest;
  code: number;
  context: { name?: unknown; sid?: unknown };
}

/** Reports the clients that the engine rejects. */
export function reportRejections(engine: Engine): void {
  const { reports } = thisProcess;
  engine.onFlood = (request) => reports.disconnected('RATE_LIMITED', request, { reason: HTTP_FLOOD });
  engine.on('connection_error', ({ req, code, context: { name, sid } }: ConnectionError) => {
    const isCode = typeof name === 'string' && name in handshakeErrors;
    reports.rejected(isCode ? name : nameOf(code), req, {
      ...(typeof name === 'string' && !isCode && { reason: name }),
      ...(typeof sid === 'string' && { session: shownId(sid.slice(0, MAX_SHOWN_SID)) }),
    });
  });
  engine.on('limit', (session: Session, reason: CloseReason) => {
    if (reason === 'rate limit') reports.problems.raise(FLOOD, FLOOD, WARNING_MS);
    reports.disconnected(closeErrors[reason]!, session.request, { session: shownId(session.id), reason });
  });
}

/** Reports the clients that ask a Socket.IO server for a namespace that it does not have. */
export function reportUnknownNamespaces(io: Server): void {
  onUnknownNamespace(
    io,
    () => (io.engine as unknown as Engine | undefined)?.sender,
    (namespace, session) => {
      thisProcess.reports.rejected('UNKNOWN_NAMESPACE', session?.request, {
        namespace: namespace.slice(0, MAX_SHOWN_NAMESPACE),
        ...(session && { session: shownId(session.id) }),
      });
    },
  );
}

/** Clients choose these texts. */
const MAX_SHOWN_SID = 40;
const MAX_SHOWN_NAMESPACE = 100;

function nameOf(code: number): string {
  const found = Object.entries(handshakeErrors).find(([, error]) => error.code === code);
  return found?.[0] ?? 'BAD_REQUEST';
}
