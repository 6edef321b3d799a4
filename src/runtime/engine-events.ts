import type { Logger } from 'pino';
import type { Server } from 'socket.io';
import { onUnknownNamespace } from '../compat/socket-io-server.js';
import type { Engine } from '../engine/engine.js';
import type { EngineRequest } from '../engine/http/request.js';
import { type LoadLevel, levels } from '../engine/limits/load-monitor.js';
import { type CloseReason, closeErrors } from '../engine/protocol/close-reasons.js';
import type { Session } from '../engine/session/session.js';
import { handshakeErrors } from '../errors.js';
import { shownId } from '../operations/connection-log.js';
import type { Refusals } from '../operations/refusals.js';
import type { Warnings } from '../operations/warnings.js';

const FULL = 'the worker is about to run out of file descriptors: it turns new connections away';
const OVERLOADED = 'the worker is overloaded: it turns new clients away';

const FLOOD = 'a client sent far more than RATE_LIMIT allows, and was disconnected';
const HTTP_FLOOD = 'too many requests of one address in one turn of the event loop';
const BUFFERS_FULL = 'too many bytes waited for and from clients (MAX_BUFFERED): those with the most were disconnected';
/** At most one such line in the log in this time, in ms. */
const BUFFERS_LOG_MS = 10_000;
/** How long a warning stays after the last such client, in ms. */
const WARNING_MS = 60_000;

/** From this level on, being overloaded is a problem that operators are told of. */
const PROBLEM_FROM: LoadLevel = 2;

/** Logs what the engine protects itself from, once when it begins and once when it ends. */
export function reportEngine(engine: Engine, problems: Set<string>, log: Logger): void {
  engine.connectionGuard.onChange = (isFull) => {
    const { max } = engine.connectionGuard;
    if (isFull) log.error({ max }, `${FULL}; raise the limit of open files (ulimit -n), or add workers`);
    else log.info('new connections are accepted again');
    toggle(problems, FULL, isFull);
  };
  engine.load.onChange = (level) => {
    const isProblem = level >= PROBLEM_FROM;
    if (isProblem === problems.has(OVERLOADED)) return;
    const delayMs = Math.round(engine.load.delayMs);
    if (isProblem) log.warn({ level: levels[level].name, delayMs }, OVERLOADED);
    else log.info('the worker is no longer overloaded');
    toggle(problems, OVERLOADED, isProblem);
  };
}

/** Reports the clients that are disconnected because the waiting bytes of all of them are too many. */
export function reportBuffers({ bufferBudget }: Engine, warnings: Warnings, log: Logger): void {
  let loggedAt = Number.NEGATIVE_INFINITY;
  let count = 0;
  bufferBudget.onFreed = (clients, bytes) => {
    warnings.note(BUFFERS_FULL, WARNING_MS);
    count += clients;
    const now = performance.now();
    if (now - loggedAt < BUFFERS_LOG_MS) return;
    loggedAt = now;
    log.warn({ clients: count, bytes }, BUFFERS_FULL);
    count = 0;
  };
}

/** The argument of the engine's event `connection_error`. */
interface ConnectionError {
  req: EngineRequest;
  code: number;
  context: { name?: unknown; sid?: unknown };
}

/** Reports the clients that the engine rejects. */
export function reportRefusals(engine: Engine, refusals: Refusals, warnings: Warnings): void {
  engine.onRefused = (code, request) => refusals.note(code, request);
  engine.onFlood = (request) => refusals.disconnected('RATE_LIMITED', request, { reason: HTTP_FLOOD });
  engine.on('connection_error', ({ req, code, context: { name, sid } }: ConnectionError) => {
    const isCode = typeof name === 'string' && name in handshakeErrors;
    refusals.note(isCode ? name : nameOf(code), req, {
      ...(typeof name === 'string' && !isCode && { reason: name }),
      ...(typeof sid === 'string' && { session: shownId(sid.slice(0, MAX_SHOWN_SID)) }),
    });
  });
  engine.on('limit', (session: Session, reason: CloseReason) => {
    if (reason === 'rate limit') warnings.note(FLOOD, WARNING_MS);
    refusals.disconnected(closeErrors[reason]!, session.request, { session: shownId(session.id), reason });
  });
}

/** Reports the clients that ask a Socket.IO server for a namespace that it does not have. */
export function reportUnknownNamespaces(io: Server, refusals: Refusals): void {
  onUnknownNamespace(
    io,
    () => (io.engine as unknown as Engine | undefined)?.sender,
    (namespace, session) => {
      refusals.note('UNKNOWN_NAMESPACE', session?.request, {
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

function toggle(problems: Set<string>, problem: string, isOn: boolean): void {
  if (isOn) problems.add(problem);
  else problems.delete(problem);
}
