import type { Engine } from '../../engine/engine.js';
import { counter, gauge, type Metric } from './metric.js';

/** Clients that are connected in another way than by Engine.IO. */
export interface OtherClients {
  /** What their transport is called in the metrics. */
  kind: string;
  clients: {
    readonly size: number;
    /** Since the start; `closed` by reason. */
    readonly counters: { opened: number; received: number; closed: ReadonlyMap<string, number> };
  };
}

/** Who is connected, and what goes to them and comes from them. */
export function clientMetrics(engine: Engine, others: readonly OtherClients[]): Metric[] {
  const { counters, outbox } = engine;
  const refused = new Map<string, number>();
  engine.on('connection_error', ({ message }: { message: string }) => {
    refused.set(message, (refused.get(message) ?? 0) + 1);
  });
  return [
    {
      name: 'gjallar_clients',
      type: 'gauge',
      help: 'Connected clients: Socket.IO over polling or websocket, and plain WebSockets.',
      labels: ['transport'],
      read: () => [
        ...Object.entries(engine.clientsByTransport),
        ...others.map(({ kind, clients }) => [kind, clients.size] as const),
      ],
    },
    {
      name: 'gjallar_connections_opened_total',
      type: 'counter',
      help: 'Connections that were opened.',
      labels: ['kind'],
      read: () => [
        ['socketio', counters.opened],
        ...others.map(({ kind, clients }) => [kind, clients.counters.opened] as const),
      ],
    },
    {
      name: 'gjallar_connections_closed_total',
      type: 'counter',
      help: 'Connections that have ended, by reason: of Socket.IO its own, of plain WebSockets the close code.',
      labels: ['kind', 'reason'],
      read: () => [
        ...Object.entries(counters.closed).map(([reason, count]) => ['socketio', reason, count] as const),
        ...others.flatMap(({ kind, clients }) =>
          [...clients.counters.closed].map(([reason, count]) => [kind, reason, count] as const),
        ),
      ],
    },
    {
      name: 'gjallar_handshakes_refused_total',
      type: 'counter',
      help: 'Requests that the engine has refused, by what it answered.',
      labels: ['reason'],
      read: () => refused,
    },
    {
      name: 'gjallar_clients_refused_total',
      type: 'counter',
      help: 'Clients that were not let in for a limit or for the origin of their page, plain WebSockets too.',
      labels: ['code'],
      read: () => Object.entries(counters.refused),
    },
    counter(
      'gjallar_messages_over_limit_total',
      'Messages from clients that had sent more than RATE_LIMIT allows already.',
      () => counters.overLimit,
    ),
    {
      name: 'gjallar_messages_received_total',
      type: 'counter',
      help: 'Messages that came from clients; of Socket.IO also acknowledgements and connects.',
      labels: ['kind'],
      read: () => [
        ['socketio', counters.received],
        ...others.map(({ kind, clients }) => [kind, clients.counters.received] as const),
      ],
    },
    counter('gjallar_messages_sent_total', 'Messages to one client each, replies too.', () => counters.sent),
    counter('gjallar_broadcasts_total', 'Messages to the members of a room.', () => outbox.published),
    counter(
      'gjallar_deliveries_total',
      'What broadcasts made: one for each member who is reached by topic, skipped or not.',
      () => outbox.deliveries,
    ),
    counter(
      'gjallar_deliveries_dropped_total',
      'Deliveries that were dropped because too much waited for the client already.',
      () => engine.droppedDeliveries,
    ),
    counter(
      'gjallar_deliveries_skipped_total',
      'The former name of gjallar_deliveries_dropped_total.',
      () => engine.droppedDeliveries,
    ),
    {
      name: 'gjallar_floods_total',
      type: 'counter',
      help: 'Clients that were cut off because they sent more in one turn of the event loop than it can take.',
      labels: ['kind'],
      read: () => [
        ['websocket', engine.frameGuard.floods],
        ['http', engine.requestGuard.floods],
      ],
    },
    gauge(
      'gjallar_frames_waiting_bytes',
      'Bytes of WebSocket messages that wait to be handled: clients send faster than the worker can follow.',
      () => engine.frameGuard.waitingBytes,
    ),
    gauge('gjallar_outbox_messages', 'Messages that are held until the next flush.', () => outbox.waiting),
  ];
}
