import type { us_listen_socket } from 'uWebSockets.js';
import { setTimeout as sleep, setImmediate as turnOfLoop } from 'node:timers/promises';
import type { ReceivedConnection } from '../cluster/relay/receiver.js';
import type { Relay } from '../cluster/relay/relay.js';
import { us_listen_socket_close } from '../compat/uws.js';
import type { Engine } from '../engine/engine.js';
import type { Session } from '../engine/session/session.js';
import { connections } from '../engine/uws/response.js';
import type { Health } from '../operations/health.js';
import type { DrainReason, RunningApplication } from './application.js';
import { type DrainGroup, drain } from './drain.js';
import type { Orders } from './orders.js';

/** The parts that a worker's clients are connected to. */
export interface ServingParts {
  engine: Engine;
  relay: Relay;
  application: RunningApplication;
}

/** Takes a worker from listening to its end, by the orders of the primary. */
export class Departure {
  private state: Health['state'] = 'not ready';
  private listenSocket: us_listen_socket | undefined;
  private retired: Promise<void> | undefined;
  private readonly staying = new AbortController();
  private readonly stopNow = new AbortController();

  constructor(
    private readonly parts: ServingParts,
    private readonly orders: Orders,
  ) {}

  /** @param isReady whether the application is ready for clients */
  stateOf(isReady: boolean): Health['state'] {
    return this.state === 'ready' && !isReady ? 'not ready' : this.state;
  }

  listening(socket: us_listen_socket): void {
    this.listenSocket = socket;
    this.state = 'ready';
    void this.orders.next('leave').then(({ over }) => {
      this.state = 'draining';
      return keepSendingAway(this.parts, over, this.staying.signal);
    });
    void this.orders.next('retire').then(() => this.retire());
    void this.orders.next('stopNow').then(() => this.stopNow.abort());
  }

  /**
   * Resolves when the primary has ordered the stop and the drain is over.
   * @param report called with the number of clients before and after the drain, plain WebSockets included
   */
  async untilStopped(report: (clients: number, left: number) => void): Promise<void> {
    const { over } = await this.orders.next('stop');
    this.staying.abort();
    const reason = this.retired ? 'restart' : 'stop';
    await this.retire();
    const before = clientsOf(this.parts);
    await sendAway(this.parts, reason, over, this.stopNow.signal);
    report(before, clientsOf(this.parts));
  }

  private retire(): Promise<void> {
    this.state = 'draining';
    connections.areEnding = true;
    this.retired ??= stopListening(this.listenSocket!);
    return this.retired;
  }
}

function clientsOf({ engine, application }: ServingParts): number {
  return application.otherClients.reduce((sum, { clients }) => sum + clients.size, engine.clientsCount);
}

/** Drains a worker over a number of ms. Requests of its clients are still answered. */
async function sendAway(parts: ServingParts, reason: DrainReason, over: number, signal: AbortSignal): Promise<void> {
  // On a stop, no worker accepts the next poll of a client, so clients on polling cannot wait for their turn.
  const groups = [...groupsOf(parts, reason, reason === 'stop'), relayedBy(parts.relay)];
  await drain({ groups, over, isIdle: () => connections.waiting === 0, signal });
}

/** Drains a worker again and again, because new clients still connect. */
async function keepSendingAway(parts: ServingParts, over: number, signal: AbortSignal): Promise<void> {
  const groups = groupsOf(parts, 'restart', false);
  while (!signal.aborted) {
    const turn = sleep(Math.max(over, MIN_ROUND_MS), undefined, { signal }).catch(() => {});
    await drain({ groups, over, isIdle: () => true, signal });
    await turn;
  }
}

const MIN_ROUND_MS = 1000;

function groupsOf(parts: ServingParts, reason: DrainReason, isPollingUrgent: boolean): DrainGroup<object>[] {
  return [sessionsOf(parts, isPollingUrgent), ...parts.application.drainGroups(reason)];
}

/**
 * A drain closes the Engine.IO session. The client finds its transport closed and reconnects by itself, which it would
 * not do after a Socket.IO disconnect. Source: Engine.IO v4, "Packet types", and socket.io-client's Manager.
 */
function sessionsOf({ engine, application }: ServingParts, isPollingUrgent: boolean): DrainGroup<Session> {
  return {
    get size() {
      return engine.clientsCount;
    },
    members: () => Object.values(engine.clients),
    isQuiet: (session) => session.isQuiet && !application.isBusy(session),
    isUrgent: (session) => isPollingUrgent && session.transport.name === 'polling',
    dismiss: (session) => session.close(),
  };
}

/** Requests and WebSockets on this worker's port whose sessions are on other workers. */
function relayedBy(relay: Relay): DrainGroup<ReceivedConnection> {
  return {
    get size() {
      return relay.receivedConnections.length;
    },
    members: () => relay.receivedConnections,
    isQuiet: () => true,
    dismiss: (connection) => connection.leave(),
  };
}

const SHORT_TURN_MS = 0.2;
const MAX_TURNS = 1000;

/**
 * Closes the listen socket. The kernel may reset connections that wait to be accepted (see `movesConnections`). The
 * socket is therefore closed right after an idle turn of the event loop, which has accepted all waiting connections.
 */
async function stopListening(socket: us_listen_socket): Promise<void> {
  let before = performance.now();
  for (let turns = 0; turns < MAX_TURNS; turns++) {
    await turnOfLoop();
    const now = performance.now();
    if (now - before < SHORT_TURN_MS) break;
    before = now;
  }
  us_listen_socket_close(socket);
}
