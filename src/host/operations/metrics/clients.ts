import { counter, gauge, type Metric } from '../../../base/metric.js';
import type { Engine } from '../../../engine/engine.js';

/** Clients that are not connected over Engine.IO. */
export interface OtherClients {
  /** The name of their transport in the metrics. */
  kind: string;
  clients: {
    readonly size: number;
    /** Since the start; `closed` by reason. */
    readonly counters: { opened: number; received: number; closed: ReadonlyMap<string, number> };
  };
}

/** Counts the rejected Engine.IO requests of engines, by error message. */
export class RejectedRequests {
  readonly counts = new Map<string, number>();

  watch(engine: Engine): void {
    engine.on('connection_error', ({ message }: { message: string }) => {
      this.counts.set(message, (this.counts.get(message) ?? 0) + 1);
    });
  }
}

/**
 * The metrics of clients and their messages.
 * @param engines the engines of the worker; values with the same labels are added up
 */
export function clientMetrics(
  engines: readonly Engine[],
  rejected: RejectedRequests,
  others: readonly OtherClients[],
): Metric[] {
  const sum = (valueIn: (engine: Engine) => number) => engines.reduce((total, engine) => total + valueIn(engine), 0);
  return [
    {
      name: 'gjallar_clients',
      type: 'gauge',
      help: 'Connected clients, by transport: polling, websocket, or plain for plain WebSockets.',
      labels: ['transport'],
      read: () => [
        ...engines.flatMap(({ clientsByTransport }) => Object.entries(clientsByTransport)),
        ...others.map(({ kind, clients }) => [kind, clients.size] as const),
      ],
    },
    {
      name: 'gjallar_connections_opened_total',
      type: 'counter',
      help: 'Connections opened.',
      labels: ['kind'],
      read: () => [
        ['socketio', sum(({ counters }) => counters.opened)],
        ...others.map(({ kind, clients }) => [kind, clients.counters.opened] as const),
      ],
    },
    {
      name: 'gjallar_connections_closed_total',
      type: 'counter',
      help: 'Connections closed, by reason: that of Socket.IO, or the close code of a plain WebSocket.',
      labels: ['kind', 'reason'],
      read: () => [
        ...engines.flatMap(({ counters }) =>
          Object.entries(counters.closed).map(([reason, count]) => ['socketio', reason, count] as const),
        ),
        ...others.flatMap(({ kind, clients }) =>
          [...clients.counters.closed].map(([reason, count]) => [kind, reason, count] as const),
        ),
      ],
    },
    {
      name: 'gjallar_handshakes_refused_total',
      type: 'counter',
      help: 'Engine.IO requests rejected, by error message.',
      labels: ['reason'],
      read: () => rejected.counts,
    },
    counter('gjallar_messages_over_limit_total', 'Messages from clients beyond RATE_LIMIT.', () =>
      sum(({ counters }) => counters.overLimit),
    ),
    {
      name: 'gjallar_messages_received_total',
      type: 'counter',
      help: 'Messages received from clients, including the acknowledgements and connects of Socket.IO.',
      labels: ['kind'],
      read: () => [
        ['socketio', sum(({ counters }) => counters.received)],
        ...others.map(({ kind, clients }) => [kind, clients.counters.received] as const),
      ],
    },
    counter('gjallar_messages_sent_total', 'Messages sent to single clients, including replies.', () =>
      sum(({ counters }) => counters.sent),
    ),
    counter('gjallar_broadcasts_total', 'Messages sent to rooms.', () => sum(({ counters }) => counters.broadcasts)),
    counter('gjallar_calls_dropped_total', 'Broadcasts and the like that named more rooms than maxRoomsPerCall.', () =>
      sum(({ counters }) => counters.tooManyRooms),
    ),
    counter('gjallar_deliveries_total', 'Deliveries of broadcasts: one per member that a topic reaches.', () =>
      sum(({ outbox }) => outbox.deliveries),
    ),
    {
      name: 'gjallar_floods_total',
      type: 'counter',
      help: 'Clients disconnected because they sent more in one turn of the event loop than the worker can handle.',
      labels: ['kind'],
      read: () => [
        ['websocket', sum(({ frameGuard }) => frameGuard.floods)],
        ['http', sum(({ requestGuard }) => requestGuard.floods)],
      ],
    },
    gauge(
      'gjallar_frames_waiting_bytes',
      'Bytes of WebSocket messages that wait to be handled because clients send faster than the worker can follow.',
      () => sum(({ frameGuard }) => frameGuard.waitingBytes),
    ),
    gauge('gjallar_connections_open', 'Open connections on the port, HTTP and WebSockets.', () => {
      return sum(({ connectionGuard }) => connectionGuard.open);
    }),
    counter(
      'gjallar_connections_turned_away_total',
      'Connections closed at once because the worker was about to run out of file descriptors.',
      () => sum(({ connectionGuard }) => connectionGuard.refused),
    ),
    gauge('gjallar_buffered_bytes', 'Bytes that wait for slow clients, all together.', () => {
      return sum(({ bufferBudget }) => bufferBudget.buffered);
    }),
    counter(
      'gjallar_buffered_closed_total',
      'Clients disconnected because too many bytes waited for all clients together (MAX_BUFFERED).',
      () => sum(({ bufferBudget }) => bufferBudget.closed),
    ),
    gauge(
      'gjallar_incoming_bytes',
      'Memory of what came in and waits: incomplete packets and bodies, and messages not handled yet.',
      () => sum(({ incoming }) => incoming.total),
    ),
    counter(
      'gjallar_incoming_closed_total',
      'Incomplete packets and bodies dropped because too many bytes waited from all clients together (MAX_BUFFERED).',
      () => sum(({ bufferBudget }) => bufferBudget.closedIncoming),
    ),
    gauge(
      'gjallar_load_level',
      'What gives way: 0 nothing, 1 volatile messages, 2 new clients, 3 new messages too.',
      () => Math.max(0, ...engines.map(({ load }) => load.level)),
    ),
    gauge('gjallar_outbox_messages', 'Messages that the outbox holds until its next flush.', () =>
      sum(({ outbox }) => outbox.waiting),
    ),
  ];
}
