import { type us_listen_socket, us_listen_socket_close } from 'uWebSockets.js';
import { setTimeout as sleep, setImmediate as turnOfLoop } from 'node:timers/promises';
import type { Chat } from '../chat/chat.js';
import type { ReceivedConnection } from '../cluster/relay/receiver.js';
import type { Relay } from '../cluster/relay/relay.js';
import type { Engine } from '../engine/engine.js';
import type { Session } from '../engine/session/session.js';
import { connections } from '../engine/uws/uws-exchange.js';
import type { PlainSocket } from '../plain/plain-socket.js';
import type { PlainWebSockets } from '../plain/plain-websockets.js';
import { type DrainGroup, drain } from './drain.js';

/** What a worker's clients are connected to. */
export interface ServingParts {
  engine: Engine;
  relay: Relay;
  plain: PlainWebSockets;
  chat: Chat;
}

/** Why clients are told to go: `restart`, another worker or machine takes them; `stop`, this server is no more. */
export type Why = 'restart' | 'stop';

/** How plain WebSockets are closed. Source: RFC 6455, section 7.4.1, and its registry of close codes. */
const closings = { restart: [1012, 'service restart'], stop: [1001, 'the server stops'] } as const;

/** Tells a worker's clients to go elsewhere, spread over so many ms, and answers what they have asked for. */
export async function sendAway(parts: ServingParts, why: Why, over: number, signal: AbortSignal): Promise<void> {
  // Where nobody listens any more polls have nowhere to go, so their clients cannot wait for their turn.
  const groups = [sessionsOf(parts, why === 'stop'), plainSocketsOf(parts.plain, why), passedOnBy(parts.relay)];
  await drain({ groups, over, isIdle: () => connections.waiting === 0, signal });
}

/** Sends the clients away, and those who come after them, again and again. */
export async function keepSendingAway(parts: ServingParts, over: number, signal: AbortSignal): Promise<void> {
  const groups = [sessionsOf(parts, false), plainSocketsOf(parts.plain, 'restart')];
  while (!signal.aborted) {
    const turn = sleep(Math.max(over, MIN_ROUND_MS), undefined, { signal }).catch(() => {});
    await drain({ groups, over, isIdle: () => true, signal });
    await turn;
  }
}

const MIN_ROUND_MS = 1000;

/**
 * A session is told by its end in order: the client finds its transport closed and connects again by itself, which it
 * would not after a disconnect of Socket.IO. Source: Engine.IO v4, "Packet types", and socket.io-client's Manager.
 */
function sessionsOf({ engine, chat }: ServingParts, isPollingUrgent: boolean): DrainGroup<Session> {
  return {
    get size() {
      return engine.clientsCount;
    },
    members: () => Object.values(engine.clients),
    isQuiet: (session) => session.isQuiet && !chat.isAnswering(session),
    isUrgent: (session) => isPollingUrgent && session.transport.name === 'polling',
    dismiss: (session) => session.close(),
  };
}

function plainSocketsOf(plain: PlainWebSockets, why: Why): DrainGroup<PlainSocket> {
  const [code, reason] = closings[why];
  return {
    get size() {
      return plain.all.size;
    },
    members: () => plain.all,
    isQuiet: (socket) => socket.isQuiet,
    dismiss: (socket) => socket.end(code, reason),
  };
}

/** Requests and WebSockets that came in here, and whose sessions are another worker's. */
function passedOnBy(relay: Relay): DrainGroup<ReceivedConnection> {
  return {
    get size() {
      return relay.receivedConnections.length;
    },
    members: () => relay.receivedConnections,
    isQuiet: () => true,
    dismiss: (connection) => connection.leave(),
  };
}

/** In ms. */
const SHORT_TURN_MS = 0.2;
const MAX_TURNS = 1000;

/**
 * Closes the listen socket. The kernel may reset the connections that wait there to be accepted (`movesConnections`
 * says when it does not), so that it is done right after a turn of the loop that had nothing to do: whoever waited then
 * has been accepted in it.
 */
export async function stopListening(socket: us_listen_socket): Promise<void> {
  let before = performance.now();
  for (let turns = 0; turns < MAX_TURNS; turns++) {
    await turnOfLoop();
    const now = performance.now();
    if (now - before < SHORT_TURN_MS) break;
    before = now;
  }
  us_listen_socket_close(socket);
}
