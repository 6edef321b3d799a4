import { serialize } from 'node:v8';
import { setImmediate } from '../../base/clock.js';
import { MalformedMessage } from '../../base/errors.js';
import { own } from '../../base/owner.js';
import { WORKER_NAME } from '../../base/worker-name.js';
import type { Closing } from '../../engine/delivery/closing.js';
import type { HttpExchange, UpgradeExchange } from '../../engine/http/exchange.js';
import type { MovingSession, ReleasedSession } from '../../engine/session/pending-sessions.js';
import { channels, type Node } from '../node.js';
import { types } from '../wire/types.js';
import {
  asArrival,
  asClose,
  asProgress,
  asRequest,
  decodeBody,
  decodeMove,
  decodeRelayMessage,
  parseRelayJson,
  type SendOp,
} from './messages.js';
import { type ClientGuards, RelayedExchange, RelayedUpgrade } from './owner.js';
import { type ReceivedConnection, ReceivedRequest, ReceivedUpgrade } from './receiver.js';

/** The engine as the relay uses it: it handles the connections that other workers have received. */
interface RelayTarget extends ClientGuards {
  readonly closing: Closing;
  onRequest(exchange: HttpExchange): void;
  onUpgrade(exchange: UpgradeExchange): void;
  /** Hands over a session; undefined if it has to stay. */
  release(sid: string): Pick<ReleasedSession, 'moving' | 'requests'> | undefined;
  /** Continues a session that another worker has handed over, and upgrades it to the WebSocket that is requested. */
  adopt(session: MovingSession, upgrade?: UpgradeExchange): void;
}

/** How many workers pass a request on while its session moves. */
const MAX_HOPS = 3;

/** Workers, each with the one that replaces it. */
export type Successors = readonly (readonly [worker: string, successor: string])[];

/** How long requests that are already on their way may still arrive for a session on a WebSocket, in ms. */
const LATE_REQUESTS_MS = 10_000;

/** The worker that a session id names. */
function workerOf(sid: string, isAlone: boolean): string | undefined {
  return (isAlone ? /^\d{1,9}(?=\.)/ : WORKER_NAME).exec(sid)?.[0];
}

/**
 * Passes requests that reached this worker on to the worker with their session, and accepts requests that other workers
 * pass on. This makes sticky sessions unnecessary.
 */
export class Relay {
  /** Connections on this worker's port, by requestId. */
  private readonly received = new Map<number, { owner: string; connection: ReceivedConnection }>();
  /** Connections on other workers' ports, by worker and requestId. */
  private readonly relayed = new Map<string, { receiver: string; exchange: RelayedExchange | RelayedUpgrade }>();
  /** The new workers of sessions that have left this one, by session id. */
  private readonly movedTo = new Map<string, string>();
  /** The old workers of sessions that have moved here, by session id. */
  private readonly movedFrom = new Map<string, string>();
  /** Called with a session on polling that a replaced worker hands over. */
  onHandOver: (from: string, session: Buffer) => void = () => {};
  /** Called when the successor of this worker tells that a session goes on there, or why it cannot. */
  onArrived: (sid: string, failure?: string) => void = () => {};
  /** Called with sessions that a replaced worker is about to hand over. Resolves when they can be. */
  onPrepare: (sessions: Buffer) => Promise<unknown> = () => Promise.resolve();
  /** Called when the successor of this worker is prepared. */
  onPrepared: (number: number) => void = () => {};
  private lastRequestId = 0;
  private readonly requestId = Buffer.alloc(4);
  /** Requests and WebSockets passed on since the start, by where their owner is. */
  readonly passedOn = { worker: 0, machine: 0 };
  /** Sessions that have moved here since the start, by where they were. */
  readonly adopted = { worker: 0, machine: 0 };

  /**
   * @param part the number of the engine within its worker
   * @param successors the workers that were replaced, or are about to be, each with the one that gets its sessions
   */
  constructor(
    private readonly node: Node,
    private readonly target: RelayTarget,
    private readonly part = 0,
    private readonly successors: () => Successors = () => [],
  ) {
    node.on(channels.relay, part, {
      onMessage: (from, payload, type) => this.onMessage(from, payload, type),
      onGone: (worker) => this.onWorkerGone(worker),
    });
  }

  /** Passes a request on. Returns false if the session's worker is gone. */
  request(sid: string, exchange: HttpExchange): boolean {
    return this.passOn(sid, exchange, (forward, onEnd, hops) => new ReceivedRequest(exchange, forward, onEnd, hops));
  }

  /** Passes a request for a WebSocket on. Returns false if the session's worker is gone. */
  upgrade(sid: string, exchange: UpgradeExchange): boolean {
    return this.passOn(sid, exchange, (forward, onEnd, hops, owner) => {
      const adopt = (body: Buffer) => this.adopt(owner, body, exchange);
      return new ReceivedUpgrade(exchange, forward, onEnd, adopt, this, hops);
    });
  }

  get closing(): Closing {
    return this.target.closing;
  }

  get slow(): ClientGuards['slow'] {
    return this.target.slow;
  }

  /** Connections on this worker's port whose sessions are on other workers. */
  get receivedConnections(): ReceivedConnection[] {
    return [...this.received.values()].map(({ connection }) => connection);
  }

  /** The number of these connections by where their owner is. */
  get waiting(): Record<Scope, number> {
    const counts = { worker: 0, machine: 0 };
    for (const { owner } of this.received.values()) counts[this.scopeOf(owner)]++;
    return counts;
  }

  /** Whether there may be another worker. */
  get hasOthers(): boolean {
    const { neighbours, isAlone, isUp } = this.node;
    return neighbours.length > 0 || (!isAlone && isUp);
  }

  private scopeOf(worker: string): Scope {
    return this.node.isElsewhere(worker) ? 'machine' : 'worker';
  }

  /** What cannot be sent to a worker of another machine shows that it is gone. */
  private send(to: string, type: number, requestId: number, body: string | Uint8Array = ''): void {
    this.requestId.writeUInt32LE(requestId);
    const isSent = this.node.send(to, type, this.part, this.requestId, body);
    if (!isSent && this.node.isElsewhere(to)) setImmediate(() => this.onWorkerGone(to));
  }

  noMoreRequests(sid: string): void {
    const from = this.movedFrom.get(sid);
    if (from === undefined) return;
    this.movedFrom.delete(sid);
    this.send(from, types.noMoreRequests, 0, sid);
  }

  /** Hands a session on polling over to the worker that replaces this one, with its waiting poll. Later requests follow. */
  handOver(to: string, sid: string, session: Buffer, poll: HttpExchange | undefined): void {
    this.movedTo.set(sid, to);
    this.send(to, types.handOver, 0, session);
    if (poll) this.request(sid, poll);
  }

  /** Prepares the worker that replaces this one for sessions. */
  prepare(to: string, number: number, sessions: Buffer): void {
    this.send(to, types.prepare, number, sessions);
  }

  /** Tells the worker where a session was that it goes on here, or why it cannot. */
  tellArrived(from: string, sid: string, failure?: string): void {
    this.send(from, types.arrived, 0, JSON.stringify({ sid, failure }));
  }

  /** The worker that has a session, as far as its id tells. */
  private ownerOf(sid: string, exchange: HttpExchange): string | undefined {
    const { node } = this;
    const relayed = exchange instanceof RelayedExchange ? exchange : undefined;
    const named = workerOf(sid, node.isAlone);
    const successors = this.successors();
    const successor = successors.find(([replaced]) => replaced === named)?.[1];
    if (successor === node.id) {
      // The one that this worker replaces may still have it.
      const before = successors.find(([replaced, by]) => by === node.id && node.has(replaced))?.[0];
      return before === relayed?.receiver ? undefined : before;
    }
    const owner = successor !== undefined && node.has(successor) ? successor : named;
    // In a reload, another worker may have passed it on that knew more, or less. Once the session has ended, they would
    // otherwise pass it back and forth endlessly.
    return relayed && (owner === relayed.receiver || relayed.hops >= MAX_HOPS) ? undefined : owner;
  }

  /** Adopts a session and its WebSocket. There is no WebSocket if the client has disconnected meanwhile. */
  private adopt(from: string, body: Buffer, exchange?: UpgradeExchange): void {
    const session = decodeMove(body);
    this.movedFrom.set(session.id, from);
    this.adopted[this.scopeOf(from)]++;
    this.target.adopt(session, exchange);
  }

  private passOn(
    sid: string,
    exchange: HttpExchange,
    make: (forward: SendOp, over: () => void, hops: number, owner: string) => ReceivedConnection & { start(): void },
  ): boolean {
    const owner = this.movedTo.get(sid) ?? this.ownerOf(sid, exchange);
    if (owner === undefined || !this.node.has(owner)) return false;
    this.passedOn[this.scopeOf(owner)]++;
    this.lastRequestId = (this.lastRequestId + 1) >>> 0;
    const requestId = this.lastRequestId;
    const connection = make(
      (type, body) => this.send(owner, type, requestId, body),
      () => this.received.delete(requestId),
      exchange instanceof RelayedExchange ? exchange.hops + 1 : 1,
      owner,
    );
    this.received.set(requestId, { owner, connection });
    connection.start();
    return true;
  }

  private onMessage(from: string, payload: Buffer, type: number): void {
    const { requestId, body } = decodeRelayMessage(payload);
    const key = `${from}:${requestId}`;
    switch (type) {
      case types.request:
      case types.upgrade:
        return this.acceptRelayed(from, requestId, key, type === types.upgrade, body);
      case types.abort:
        return this.relayed.get(key)?.exchange.abort();
      case types.written:
        return this.relayed.get(key)?.exchange.end();
      case types.answerNow:
        return this.relayed.get(key)?.exchange.onAnswerNow?.();
      case types.noMoreRequests: {
        const sid = body.toString();
        setTimeout(() => this.movedTo.delete(sid), LATE_REQUESTS_MS).unref();
        return;
      }
      case types.prepare: {
        const prepared = this.onPrepare(body).then(() => this.send(from, types.prepared, requestId));
        return own('preparing for sessions', prepared);
      }
      case types.prepared:
        return this.onPrepared(requestId);
      case types.handOver:
        return this.onHandOver(from, body);
      case types.arrived: {
        const { sid, failure } = asArrival(parseRelayJson(body.toString()));
        return this.onArrived(sid, failure);
      }
      case types.closed: {
        const { code, reason } = asClose(parseRelayJson(body.toString()));
        return this.webSocketOf(key)?.closed(code ?? 1006, reason ?? '');
      }
      case types.progress:
        return this.webSocketOf(key)?.onProgress(asProgress(parseRelayJson(body.toString())));
      case types.overflow:
        return this.webSocketOf(key)?.receiver.onOverflow();
      case types.clientText:
      case types.clientBinary:
        return this.webSocketOf(key)?.onMessage(body, type === types.clientBinary);
      default: {
        const received = this.received.get(requestId);
        if (received?.owner === from) this.onReply(requestId, received.connection, type, body);
        else if (type === types.move) this.adopt(from, body);
      }
    }
  }

  /** A client whose reply cannot be read is answered as if the owner were gone. */
  private onReply(requestId: number, connection: ReceivedConnection, type: number, body: Buffer): void {
    try {
      connection.onReply(type, body);
    } catch (error) {
      if (error instanceof MalformedMessage && this.received.delete(requestId)) connection.onOwnerGone();
      throw error;
    }
  }

  private acceptRelayed(from: string, requestId: number, key: string, isUpgrade: boolean, body: Buffer): void {
    const { value, rest } = decodeBody(body, asRequest);
    const reply: SendOp = (type, answer) => this.send(from, type, requestId, answer);
    const onEnd = () => this.relayed.delete(key);
    const exchange = new (isUpgrade ? RelayedUpgrade : RelayedExchange)(value, rest, reply, onEnd, this.target);
    exchange.receiver = from;
    this.relayed.set(key, { receiver: from, exchange });
    if (!(exchange instanceof RelayedUpgrade)) return this.target.onRequest(exchange);
    const released = this.target.release(exchange.request._query.sid ?? '');
    if (!released) return this.target.onUpgrade(exchange);
    const { moving, requests } = released;
    onEnd();
    this.movedTo.set(moving.id, from);
    reply(types.move, serialize(moving));
    for (const waiting of requests) this.request(moving.id, waiting);
  }

  private webSocketOf(key: string) {
    const exchange = this.relayed.get(key)?.exchange;
    return exchange instanceof RelayedUpgrade ? exchange.webSocket : undefined;
  }

  private onWorkerGone(id: string): void {
    for (const moved of [this.movedTo, this.movedFrom]) {
      for (const [sid, worker] of moved) if (worker === id) moved.delete(sid);
    }
    for (const [requestId, { owner, connection }] of this.received) {
      if (owner !== id) continue;
      this.received.delete(requestId);
      connection.onOwnerGone();
    }
    for (const [key, { receiver, exchange }] of this.relayed) {
      if (receiver !== id) continue;
      this.relayed.delete(key);
      exchange.abort();
    }
  }
}

/** Where another worker is, as the metrics call it: on this machine, or on another one. */
export const scopes = ['worker', 'machine'] as const;
export type Scope = (typeof scopes)[number];
