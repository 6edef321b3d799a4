import type { Server } from 'socket.io';
import type { Readings } from '../../../base/figures.js';
import type { Backplane } from '../../../cluster/backplanes/index.js';
import { type Relay, scopes } from '../../../cluster/relay/relay.js';
import type { Engine } from '../../../engine/engine.js';
import { outcomes } from '../../../features/recovery/index.js';
import { privateParts } from '../../../io/socket-io-server.private.js';

/** The figures of one engine: its clients and their messages. */
export function engineReadings(engine: Engine): Readings {
  const { counters, outbox, frameGuard, requestGuard, connectionGuard, bufferBudget } = engine;
  return {
    gjallar_clients: Object.entries(engine.clientsByTransport),
    gjallar_connections_opened_total: [['socketio', counters.opened]],
    gjallar_connections_closed_total: Object.entries(counters.closed).map(
      ([reason, count]) => ['socketio', reason, count] as const,
    ),
    gjallar_messages_received_total: [['socketio', counters.received]],
    gjallar_messages_over_limit_total: counters.overLimit,
    gjallar_messages_sent_total: counters.sent,
    gjallar_broadcasts_total: counters.broadcasts,
    gjallar_calls_dropped_total: counters.tooManyRooms,
    gjallar_deliveries_total: outbox.deliveries,
    gjallar_floods_total: [
      ['websocket', frameGuard.floods],
      ['http', requestGuard.floods],
    ],
    gjallar_connections_open: connectionGuard.open,
    gjallar_connections_turned_away_total: connectionGuard.refused,
    gjallar_buffered_bytes: bufferBudget.buffered,
    gjallar_incoming_bytes: engine.incoming.total,
    gjallar_buffered_closed_total: [
      ['out', bufferBudget.closed],
      ['in', bufferBudget.closedIncoming],
    ],
    gjallar_load_level: engine.load.level,
  };
}

/** The figures of one relay, which each engine has. */
export function relayReadings({ passedOn, adopted, waiting }: Relay): Readings {
  return {
    gjallar_relayed_requests_total: scopes.map((scope) => [scope, passedOn[scope]] as const),
    gjallar_relayed_connections: scopes.map((scope) => [scope, waiting[scope]] as const),
    gjallar_relay_moved_sessions_total: scopes.map((scope) => [scope, adopted[scope]] as const),
  };
}

/** The figures of the server that the backplanes of several Socket.IO servers may share. */
export function busReadings({ name, health }: Backplane): Readings {
  return {
    gjallar_bus_up: [[name, Number(health.isUp)]],
    gjallar_bus_gaps_total: health.gaps,
    gjallar_bus_outages_total: health.outages,
    gjallar_bus_unsent_total: health.unsent,
    gjallar_bus_pending_bytes: health.pendingBytes,
  };
}

/** The figures of what one Socket.IO server sends to other workers, and of its connection state recovery. */
export function backplaneReadings({ sent, recovery }: Backplane): Readings {
  return {
    gjallar_bus_messages_total: sent?.messages,
    gjallar_bus_frames_total: sent?.frames,
    gjallar_bus_gaps_total: sent?.lateRooms,
    ...(recovery && {
      gjallar_recovery_kept: kinds.map((kind) => [kind, recovery[kind]] as const),
      gjallar_recovery_dropped_total: kinds.map((kind) => [kind, recovery.dropped[kind]] as const),
      gjallar_recovery_attempts_total: outcomes.map((outcome) => [outcome, recovery.outcomes[outcome]] as const),
    }),
  };
}

const kinds = ['packets', 'sessions'] as const;

/** The largest number of namespaces with a count of their own. Applications may create one for each user. */
const MAX_NAMESPACES = 100;
/** The longest name that is a label, in UTF-16 characters. Clients choose the names of dynamic namespaces. */
const MAX_LENGTH = 128;
/** The name under which all other namespaces are counted. */
const OTHERS = '(others)';

/**
 * The sockets in each namespace. A name keeps its label for the life of the process: namespaces that come and go would
 * otherwise leave a new time series each.
 */
export function namespaceReadings(servers: readonly Server[]): () => Readings {
  const labels = new Set<string>();
  const labelOf = (name: string): string => {
    if (labels.has(name)) return name;
    if (labels.size >= MAX_NAMESPACES || name.length > MAX_LENGTH) return OTHERS;
    labels.add(name);
    return name;
  };
  return () => ({
    gjallar_namespace_sockets: servers.flatMap((server) =>
      [...privateParts(server)._nsps].map(([name, { sockets }]) => [labelOf(name), sockets.size] as const),
    ),
  });
}
