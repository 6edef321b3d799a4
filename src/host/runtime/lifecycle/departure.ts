import { setTimeout as sleep, setImmediate as turnOfLoop } from 'node:timers/promises';
import { own } from '../../../base/owner.js';
import type { ReceivedConnection } from '../../../cluster/relay/receiver.js';
import type { Relay } from '../../../cluster/relay/relay.js';
import type { Buffering } from '../../../engine/delivery/buffer-budget.js';
import type { Engine } from '../../../engine/engine.js';
import { connections } from '../../../engine/http/exchange.js';
import type { DrainReason, OtherClients } from '../../../engine/other-clients.js';
import type { Session } from '../../../engine/session/session.js';
import type { Health } from '../../operations/health.js';
import type { RunningApplication } from '../application.js';
import { type DrainGroup, drain, LAST_CALL, waitedFor } from './drain.js';
import type { Moves } from './moves.js';
import type { Orders } from './orders.js';

/** The parts that a worker's clients are connected to. */
interface ServingParts {
  readonly engines: readonly Engine[];
  readonly relays: readonly Relay[];
  readonly moves: Moves;
}

type Served = Pick<RunningApplication, 'isBusy' | 'isIdle' | 'stopListening' | 'farewell'>;

/** Takes a worker from listening to its end, by the orders of the primary. */
export class Departure {
  private state: Health['state'] = 'not ready';
  private retired: Promise<void> | undefined;
  private readonly staying = new AbortController();
  private readonly stopNow = new AbortController();

  constructor(
    private readonly parts: ServingParts,
    private readonly application: Served,
    private readonly orders: Orders,
  ) {}

  /** @param isReady whether the application is ready for clients */
  stateOf(isReady: boolean): Health['state'] {
    return this.state === 'ready' && !isReady ? 'not ready' : this.state;
  }

  /** The worker listens, or needs no port. */
  listening(): void {
    this.state = 'ready';
    own('draining the machine', this.leaveWhenOrdered());
    own('retiring', this.retireWhenOrdered());
    own(
      'stopping at once',
      this.orders.next('stopNow').then(() => this.stopNow.abort()),
    );
  }

  private async leaveWhenOrdered(): Promise<void> {
    const { over } = await this.orders.next('leave');
    this.state = 'draining';
    await keepSendingAway(this.parts, this.application, over, this.staying.signal);
  }

  private async retireWhenOrdered(): Promise<void> {
    await this.orders.next('retire');
    await this.retire();
    this.orders.send({ type: 'retired' });
  }

  /**
   * Resolves when the primary has ordered the stop and the drain is over.
   * @param report called with the number of clients before and after the drain, and how long it took
   */
  async untilStopped(report: (drained: { clients: number; left: number; ms: number }) => void): Promise<void> {
    const { over, successor } = await this.orders.next('stop');
    this.staying.abort();
    const reason = this.retired ? 'restart' : 'stop';
    this.parts.moves.begin(successor, over * LAST_CALL);
    await this.retire();
    if (reason === 'stop') await this.application.farewell?.();
    const clients = countOf(this.parts);
    const start = performance.now();
    await sendAway(this.parts, this.application, reason, over, this.stopNow.signal);
    report({ clients, left: countOf(this.parts), ms: Math.round(performance.now() - start) });
  }

  private retire(): Promise<void> {
    this.state = 'draining';
    connections.areEnding = true;
    this.retired ??= stopListening(() => this.application.stopListening());
    return this.retired;
  }
}

/** Counts the clients, those besides the sessions included. */
function countOf({ engines }: ServingParts): number {
  let count = 0;
  for (const { clientsCount, otherClients } of engines) {
    count += clientsCount;
    for (const { all } of otherClients) count += all.size;
  }
  return count;
}

function isIdle(application: Served): boolean {
  return connections.waiting === 0 && application.isIdle();
}

/** Drains a worker over a number of ms. Requests of its clients are still answered. */
async function sendAway(
  parts: ServingParts,
  application: Served,
  reason: DrainReason,
  over: number,
  signal: AbortSignal,
): Promise<void> {
  // On a stop, no worker accepts the next poll of a client, so clients on polling cannot wait for their turn.
  const groups = [
    ...groupsOf(parts, application, reason, reason === 'stop'),
    ...parts.relays.map(relayedBy),
    // WebSockets whose clients have not read everything yet.
    ...parts.engines.map(({ closing }) => waitedFor(() => closing.size)),
    parts.moves.group,
  ];
  await drain({ groups, over, isIdle: () => isIdle(application), signal });
}

/** Drains a worker again and again, because new clients still connect. */
async function keepSendingAway(
  parts: ServingParts,
  application: Served,
  over: number,
  signal: AbortSignal,
): Promise<void> {
  const groups = groupsOf(parts, application, 'restart', false);
  while (!signal.aborted) {
    const turn = sleep(Math.max(over, MIN_ROUND_MS), undefined, { signal }).catch(() => {});
    await drain({ groups, over, isIdle: () => true, signal });
    await turn;
  }
}

const MIN_ROUND_MS = 1000;

function groupsOf(
  parts: ServingParts,
  application: Served,
  reason: DrainReason,
  isPollingUrgent: boolean,
): DrainGroup<object>[] {
  const sessions = parts.engines.map((engine) => sessionsOf(engine, application, parts.moves, isPollingUrgent));
  const others = parts.engines.flatMap(({ otherClients }) => [...otherClients].map((each) => othersOf(each, reason)));
  return [...sessions, ...others];
}

/**
 * A drain ends the Engine.IO session. The client finds its transport closed and reconnects by itself, which it would not
 * do after a Socket.IO disconnect. Source: Engine.IO v4, "Packet types", and socket.io-client's Manager.
 */
function sessionsOf(engine: Engine, application: Served, moves: Moves, isPollingUrgent: boolean): DrainGroup<Session> {
  return {
    get size() {
      return engine.clientsCount;
    },
    members: () => engine.all,
    isQuiet: (session) => !application.isBusy(session) && session.isQuiet && !moves.takes(session),
    isUrgent: (session) => isPollingUrgent && session.transport.name === 'polling',
    dismiss: (session) => moves.move(session) || session.dismiss(),
  };
}

function othersOf(clients: OtherClients, reason: DrainReason): DrainGroup<Buffering> {
  return {
    get size() {
      return clients.all.size;
    },
    members: () => clients.all,
    isQuiet: (client) => clients.isQuiet(client),
    dismiss: (client) => clients.dismiss(client, reason),
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
/** How long an idle turn is waited for, in ms. */
const MAX_WAIT_MS = 1000;

/**
 * Closes listen sockets. The kernel may reset connections that wait to be accepted (see `movesConnections`). They
 * are therefore closed right after an idle turn of the event loop, which has accepted all waiting connections.
 */
export async function stopListening(close: () => void): Promise<void> {
  const start = performance.now();
  for (let before = start, now = start; now - start < MAX_WAIT_MS; before = now) {
    await turnOfLoop();
    now = performance.now();
    if (now - before < SHORT_TURN_MS) break;
  }
  close();
}
