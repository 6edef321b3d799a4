import { EventEmitter } from 'node:events';
import { type Clock, systemClock } from './clock.js';
import { EngineCounters } from './counters.js';
import { DeadlineQueue } from './deadlines.js';
import { BufferBudget, type Buffering } from './delivery/buffer-budget.js';
import { Closing } from './delivery/closing.js';
import type { HeldBytes } from './delivery/held-bytes.js';
import { Apps, Outbox } from './delivery/outbox.js';
import { SlowClients } from './delivery/slow-clients.js';
import { IncompletePackets } from './incoming/incomplete-packets.js';
import { AddressLimits } from './limits/address-limits.js';
import { ConnectionGuard } from './limits/connection-guard.js';
import { FrameGuard } from './limits/frame-guard.js';
import { LoadMonitor } from './limits/load-monitor.js';
import { MessageLimits } from './limits/rates.js';
import { RequestCosts } from './limits/request-costs.js';
import { RequestGuard } from './limits/request-guard.js';
import { type EngineOptions, type EngineSettings, settingsFrom } from './options.js';
import type { OtherClients } from './other-clients.js';
import { RoundTrips } from './round-trips.js';
import type { Session } from './session/session.js';
import { LatePolls, UnusedSessions } from './session/unused-sessions.js';
import { TopKeys } from './top-keys.js';
import type { TemplatedApp } from './uws/app.js';

/** The parts of an engine: queues, limits, guards and counts, made from its options. */
export abstract class EngineParts extends EventEmitter {
  /** The options with all defaults in place. */
  readonly settings: EngineSettings;
  readonly pingQueue: DeadlineQueue<Session>;
  /** The sessions that have to answer a ping, and those of them that have sent something else meanwhile. */
  readonly silenceQueue: DeadlineQueue<Session>;
  readonly lastSilenceQueue: DeadlineQueue<Session>;
  readonly silenceQueueV3: DeadlineQueue<Session>;

  /** Counts of its sessions since the start. */
  readonly counters = new EngineCounters();
  /** Applies `slowPolicy` to slow clients. */
  readonly slow: SlowClients;
  /** Closes WebSockets once their client has read the waiting bytes. */
  readonly closing: Closing;
  /** Keeps the frames of one client from occupying the worker. */
  readonly frameGuard: FrameGuard;
  /** Keeps the requests of one client from occupying the worker. */
  readonly requestGuard: RequestGuard;
  /** Limits the messages of each client; undefined without limits. */
  readonly messageLimits: MessageLimits | undefined;
  /** Charges clients for requests that cost the worker more than they send. */
  readonly costs: RequestCosts;
  /** Limits the connections of each address; undefined without limits. */
  readonly addresses: AddressLimits | undefined;
  /** The addresses that send the most messages. */
  readonly talkers: TopKeys;
  /** The rooms with the most broadcasts, by the name of their topic. */
  readonly busyRooms: TopKeys;
  readonly roundTrips: RoundTrips;
  /** Holds messages to WebSockets, and sends them together. */
  readonly outbox: Outbox;

  /** Counts the connections on the port. */
  readonly connectionGuard = new ConnectionGuard();
  /** Decides what the worker rejects when it is overloaded. */
  readonly load: LoadMonitor;
  /** The packets of which some attachments are missing. */
  readonly incompletePackets: IncompletePackets;
  /** Bounds the bytes that wait for and from all clients together. */
  readonly bufferBudget: BufferBudget;
  /** Clients besides the sessions. */
  readonly otherClients = new Set<OtherClients>();

  /** The sessions with a listener of `packetCreate`. */
  readonly packetListeners = new Set<object>();

  protected readonly unused: UnusedSessions;
  protected readonly latePolls: LatePolls;
  protected readonly apps: TemplatedApp[] = [];
  protected readonly sessions = new Map<string, Session>();

  /** @param clock the clock of all timers and limits */
  constructor(options: EngineOptions, clock: Clock) {
    super();
    this.settings = settingsFrom(options);
    const { pingInterval, pingTimeout, flushMs, rateLimit, maxConnectionsPerIp } = this.settings;
    this.pingQueue = new DeadlineQueue(pingInterval, (session) => this.onPingDue(session), clock);
    const silent = (session: Session) => session.onDeadline(true);
    this.silenceQueue = new DeadlineQueue(pingTimeout, silent, clock);
    this.lastSilenceQueue = new DeadlineQueue(pingTimeout, silent, clock);
    this.silenceQueueV3 = new DeadlineQueue(pingInterval + pingTimeout, silent, clock);
    this.slow = new SlowClients(this.settings);
    this.closing = new Closing(clock);
    this.requestGuard = new RequestGuard(clock);
    // How late the event loop is, a test's clock cannot tell.
    this.load = new LoadMonitor(systemClock, () => this.outbox.lateMs);
    const { maxBuffered, maxIncoming } = this.settings;
    this.bufferBudget = new BufferBudget(maxBuffered, () => this.bufferingClients(), clock, maxIncoming);
    this.frameGuard = new FrameGuard(clock, this.incoming);
    // No packet of a WebSocket takes longer: its client's answer to a ping waits behind it.
    this.incompletePackets = new IncompletePackets(this.settings, pingInterval + pingTimeout, this.incoming, clock);
    this.talkers = new TopKeys(clock);
    this.busyRooms = new TopKeys(clock);
    this.roundTrips = new RoundTrips(clock);
    this.unused = new UnusedSessions(clock);
    this.latePolls = new LatePolls(clock);
    this.outbox = new Outbox(new Apps(this.apps), flushMs, clock, this.slow, this.bufferBudget);
    this.messageLimits = MessageLimits.of(rateLimit, clock);
    this.costs = new RequestCosts(rateLimit.bytes, clock);
    this.addresses = AddressLimits.of(maxConnectionsPerIp, rateLimit.connections, clock);
  }

  /** The bytes that came in and wait. */
  get incoming(): HeldBytes {
    return this.bufferBudget.incoming;
  }

  /** The bytes of responses that wait for their clients. */
  get outgoing(): HeldBytes {
    return this.bufferBudget.outgoing;
  }

  private *bufferingClients(): Iterable<Buffering> {
    yield* this.sessions.values();
    yield* this.closing.clients();
    for (const { all } of this.otherClients) yield* all;
  }

  /** The session's next ping is due. */
  protected abstract onPingDue(session: Session): void;

  /** Ends all timers and queues. */
  protected closeParts(): void {
    this.load.close();
    this.bufferBudget.close();
    this.unused.close();
    this.latePolls.close();
    this.pingQueue.close();
    this.silenceQueue.close();
    this.lastSilenceQueue.close();
    this.silenceQueueV3.close();
    this.incompletePackets.close();
    this.closing.close();
  }
}
