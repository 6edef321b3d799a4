import { type us_listen_socket, us_listen_socket_close } from 'uWebSockets.js';
import { setTimeout as sleep, setImmediate as turnOfLoop } from 'node:timers/promises';
import type { ReceivedConnection } from '../cluster/relay/receiver.js';
import type { Relay } from '../cluster/relay/relay.js';
import type { Engine } from '../engine/engine.js';
import type { Session } from '../engine/session/session.js';
import { connections } from '../engine/uws/response.js';
import type { Health } from '../operations/health.js';
import type { DrainReason, RunningApplication } from './application.js';
import { type DrainGroup, drain } from './drain.js';
import type { Orders } from './orders.js';

/** What a worker's clients are connected to. */
export interface ServingParts {
  engine: Engine;
  relay: Relay;
  application: RunningApplication;
}

/** A worker's way from listening to its end, as the primary orders it. */
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

  /** @param isReady whether the application may get clients */
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
   * Resolves when the primary has ordered the stop and the clients are gone, or had their time.
   * @param report called with how many sessions there were, and how many are left
   */
  async untilStopped(report: (clients: number, left: number) => void): Promise<void> {
    const { over } = await this.orders.next('stop');
    this.staying.abort();
    const reason = this.retired ? 'restart' : 'stop';
    await this.retire();
    const { engine } = this.parts;
    const { clientsCount } = engine;
    await sendAway(this.parts, reason, over, this.stopNow.signal);
    report(clientsCount, engine.clientsCount);
  }

  private retire(): Promise<void> {
    this.state = 'draining';
    connections.areEnding = true;
    this.retired ??= stopListening(this.listenSocket!);
    return this.retired;
  }
}

/** Tells a worker's clients to go elsewhere, spread over so many ms, and answers what they have asked for. */
async function sendAway(parts: ServingParts, reason: DrainReason, over: number, signal: AbortSignal): Promise<void> {
  // Where no worker listens any more polls have nowhere to go, so their clients cannot wait for their turn.
  const groups = [...groupsOf(parts, reason, reason === 'stop'), relayedBy(parts.relay)];
  await drain({ groups, over, isIdle: () => connections.waiting === 0, signal });
}

/** Sends the clients away, and those who come after them, again and again. */
async function keepSendingAway(parts: ServingParts, over: number, signal: AbortSignal): Promise<void> {
  const groups = groupsOf(parts, 'restart', false);
  while (!signal.aborted) {
    const turn = sleep(Math.max(over, MIN_ROUND_MS), undefined, { signal }).catch(() => {});
    await drain({ groups, over, isIdle: () => true, signal });
    await turn;
  }
}

const MIN_ROUND_MS = 1000;

function groupsOf(parts: ServingParts, reason: DrainReason, isPollingUrgent: boolean): DrainGroup<never>[] {
  return [sessionsOf(parts, isPollingUrgent), ...parts.application.drainGroups(reason)] as DrainGroup<never>[];
}

/**
 * A session is told by its end in order: the client finds its transport closed and connects again by itself, which it
 * would not after a disconnect of Socket.IO. Source: Engine.IO v4, "Packet types", and socket.io-client's Manager.
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

/** Requests and WebSockets that came in here, and whose sessions are another worker's. */
function relayedBy(relay: Relay): DrainGroup<never> {
  const group: DrainGroup<ReceivedConnection> = {
    get size() {
      return relay.receivedConnections.length;
    },
    members: () => relay.receivedConnections,
    isQuiet: () => true,
    dismiss: (connection) => connection.leave(),
  };
  return group as DrainGroup<never>;
}

const SHORT_TURN_MS = 0.2;
const MAX_TURNS = 1000;

/**
 * Closes the listen socket. The kernel may reset the connections that wait there to be accepted (`movesConnections`
 * says when it does not), so it is done right after a turn of the loop that had nothing to do: connections that waited
 * then have been accepted in it.
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
