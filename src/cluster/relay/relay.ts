import type { Closing } from '../../engine/delivery/closing.js';
import type { HttpExchange, UpgradeExchange } from '../../engine/http/exchange.js';
import type { MovingSession } from '../../engine/session/pending-sessions.js';
import { type Kind, kinds, type Mesh } from '../mesh/mesh.js';
import {
  decodeBody,
  decodeMessage,
  encodeBody,
  encodeMessage,
  type MovedSession,
  ops,
  type RelayedClose,
  type RelayedProgress,
  type RelayedRequest,
} from './messages.js';
import { type ClientGuards, RelayedExchange, RelayedUpgrade } from './owner.js';
import { type Forward, type ReceivedConnection, ReceivedRequest, ReceivedUpgrade } from './receiver.js';

/** What the relay needs of the engine: to hand it what other workers have received. */
export interface RelayTarget extends ClientGuards {
  readonly closing: Closing;
  onRequest(exchange: HttpExchange): void;
  onUpgrade(exchange: UpgradeExchange): void;
  /** Gives a session away; undefined where it has to stay. */
  release(sid: string): { moving: MovingSession; poll: HttpExchange | undefined } | undefined;
  /** Goes on with a session that another worker has given away. */
  adopt(session: MovingSession): void;
}

const KIND: Kind = kinds.relay;

/** For how long a session that needs no more requests may still get some that were on their way, in ms. */
const LATE_REQUESTS_MS = 10_000;

/** What the ids of a worker's sessions begin with, so that every worker knows whose a session is. */
export function idPrefixOf(worker: number): string {
  return `${worker}.`;
}

function workerOf(sid: string): number | undefined {
  const match = /^(\d{1,9})\./.exec(sid);
  return match ? Number(match[1]) : undefined;
}

/**
 * Passes requests that the kernel gave to this worker on to the worker that has their session, and takes those that
 * other workers pass on to this one. This is what makes sticky sessions unnecessary.
 */
export class Relay {
  /** Connections on this worker's port, by requestId. */
  private readonly received = new Map<number, { owner: number; connection: ReceivedConnection }>();
  /** Connections on other workers' ports, by worker and requestId. */
  private readonly relayed = new Map<string, { receiver: number; exchange: RelayedExchange | RelayedUpgrade }>();
  /** Where sessions have moved to whose ids name this worker. */
  private readonly movedTo = new Map<string, number>();
  /** Whose ids sessions bear that have moved here. */
  private readonly movedFrom = new Map<string, number>();
  private lastRequestId = 0;

  constructor(
    private readonly mesh: Mesh,
    private readonly target: RelayTarget,
  ) {
    mesh.listenTo(KIND, (from, payload) => this.onMessage(from, payload));
    mesh.onLeave((id) => this.onWorkerGone(id));
  }

  /** Passes a request on. Returns false when the session's worker is not there. */
  request(sid: string, exchange: HttpExchange): boolean {
    return this.passOn(sid, exchange, (forward, onEnd) => new ReceivedRequest(exchange, forward, onEnd));
  }

  /** Passes a request for a WebSocket on. Returns false when the session's worker is not there. */
  upgrade(sid: string, exchange: UpgradeExchange): boolean {
    return this.passOn(sid, exchange, (forward, onEnd, owner) => {
      const adopt = (body: Buffer) => this.adopt(owner, body, exchange);
      return new ReceivedUpgrade(exchange, forward, onEnd, adopt, this.target.closing);
    });
  }

  /** Connections on this worker's port that are other workers' affair. */
  get receivedConnections(): ReceivedConnection[] {
    return [...this.received.values()].map(({ connection }) => connection);
  }

  get hasOthers(): boolean {
    return this.mesh.members.length > 0;
  }

  noMoreRequests(sid: string): void {
    const from = this.movedFrom.get(sid);
    if (from === undefined) return;
    this.movedFrom.delete(sid);
    this.mesh.send(from, KIND, encodeMessage(ops.noMoreRequests, 0, sid));
  }

  /** Takes a session, and the WebSocket that it moves for, unless its client has gone meanwhile. */
  private adopt(from: number, body: Buffer, exchange?: UpgradeExchange): void {
    const session = decodeSession(body);
    this.movedFrom.set(session.id, from);
    this.target.adopt(session);
    if (exchange) this.target.onUpgrade(exchange);
  }

  private passOn(
    sid: string,
    exchange: HttpExchange,
    make: (forward: Forward, over: () => void, owner: number) => ReceivedConnection & { start(): void },
  ): boolean {
    // What another worker has passed on goes to where the session has moved, and never back to that worker: the two
    // would pass it to and fro for ever once the session has ended.
    const owner = this.movedTo.get(sid) ?? (exchange instanceof RelayedExchange ? undefined : workerOf(sid));
    if (owner === undefined || !this.mesh.has(owner)) return false;
    this.lastRequestId = (this.lastRequestId + 1) >>> 0;
    const requestId = this.lastRequestId;
    const connection = make(
      (op, body) => this.mesh.send(owner, KIND, encodeMessage(op, requestId, body)),
      () => this.received.delete(requestId),
      owner,
    );
    this.received.set(requestId, { owner, connection });
    connection.start();
    return true;
  }

  private onMessage(from: number, payload: Buffer): void {
    const { op, requestId, body } = decodeMessage(payload);
    const key = `${from}:${requestId}`;
    switch (op) {
      case ops.request:
      case ops.upgrade:
        return this.acceptRelayed(from, requestId, key, op === ops.upgrade, body);
      case ops.abort:
        return this.relayed.get(key)?.exchange.abort();
      case ops.answerNow:
        return this.relayed.get(key)?.exchange.onAnswerNow?.();
      case ops.noMoreRequests: {
        const sid = body.toString();
        setTimeout(() => this.movedTo.delete(sid), LATE_REQUESTS_MS).unref();
        return;
      }
      case ops.closed: {
        const { code, reason } = JSON.parse(body.toString()) as RelayedClose;
        return this.webSocketOf(key)?.closed(code, reason);
      }
      case ops.progress:
        return this.webSocketOf(key)?.onProgress(JSON.parse(body.toString()) as RelayedProgress);
      case ops.overflow:
        return this.webSocketOf(key)?.receiver.onOverflow();
      case ops.clientText:
      case ops.clientBinary:
        return this.webSocketOf(key)?.onMessage(body, op === ops.clientBinary);
      default: {
        const received = this.received.get(requestId);
        if (received?.owner === from) received.connection.onReply(op, body);
        else if (op === ops.move) this.adopt(from, body);
      }
    }
  }

  private acceptRelayed(from: number, requestId: number, key: string, isUpgrade: boolean, body: Buffer): void {
    const { value, rest } = decodeBody<RelayedRequest>(body);
    const reply: Forward = (op, answer) => this.mesh.send(from, KIND, encodeMessage(op, requestId, answer));
    const onEnd = () => this.relayed.delete(key);
    const exchange = new (isUpgrade ? RelayedUpgrade : RelayedExchange)(value, rest, reply, onEnd, this.target);
    this.relayed.set(key, { receiver: from, exchange });
    if (!(exchange instanceof RelayedUpgrade)) return this.target.onRequest(exchange);
    const released = this.target.release(exchange.request._query.sid ?? '');
    if (!released) return this.target.onUpgrade(exchange);
    const { moving, poll } = released;
    onEnd();
    this.movedTo.set(moving.id, from);
    reply(ops.move, encodeSession(moving));
    if (poll) this.request(moving.id, poll);
  }

  private webSocketOf(key: string) {
    const exchange = this.relayed.get(key)?.exchange;
    return exchange instanceof RelayedUpgrade ? exchange.webSocket : undefined;
  }

  private onWorkerGone(id: number): void {
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
      const webSocket = exchange instanceof RelayedUpgrade ? exchange.webSocket : undefined;
      if (webSocket) webSocket.closed(1006, '');
      else exchange.abort();
    }
  }
}

function encodeSession({ id, parts, early }: MovingSession): Buffer {
  const moved: MovedSession = {
    id,
    parts,
    early: early.map((data) => (typeof data === 'string' ? { text: data } : { base64: data.toString('base64') })),
  };
  return encodeBody(moved);
}

function decodeSession(body: Buffer): MovingSession {
  const { id, parts, early } = decodeBody<MovedSession>(body).value;
  return { id, parts, early: early.map((data) => ('text' in data ? data.text : Buffer.from(data.base64, 'base64'))) };
}
