import type { Engine } from '../../engine/engine.js';
import type { PlainWebSockets } from '../../plain/plain-websockets.js';
import { counter, gauge, type Metric } from './metric.js';

/** Who is connected, and what goes to them and comes from them. */
export function clientMetrics(engine: Engine, plain: PlainWebSockets): Metric[] {
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
      read: () => [...Object.entries(engine.clientsByTransport), ['plain', plain.size]],
    },
    {
      name: 'gjallar_connections_opened_total',
      type: 'counter',
      help: 'Connections that were opened.',
      labels: ['kind'],
      read: () => [
        ['socketio', counters.opened],
        ['plain', plain.counters.opened],
      ],
    },
    {
      name: 'gjallar_connections_closed_total',
      type: 'counter',
      help: 'Connections that have ended, by reason: of Socket.IO its own, of plain WebSockets the close code.',
      labels: ['kind', 'reason'],
      read: () => [
        ...Object.entries(counters.closed).map(([reason, count]) => ['socketio', reason, count] as const),
        ...[...plain.counters.closed].map(([code, count]) => ['plain', code, count] as const),
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
        ['plain', plain.counters.received],
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
      'gjallar_deliveries_skipped_total',
      'Deliveries that were dropped because too much waited for the client already.',
      () => engine.droppedDeliveries,
    ),
    gauge('gjallar_outbox_messages', 'Messages that are held until the next flush.', () => outbox.waiting),
  ];
}
