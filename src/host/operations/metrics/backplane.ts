import { counter, gauge, type Metric } from '../../../base/metric.js';
import type { Backplane, BackplaneTraffic, SentFrames } from '../../../cluster/backplanes/index.js';
import type { Mesh } from '../../../cluster/mesh/mesh.js';
import { type Relay, type Scope, scopes } from '../../../cluster/relay/relay.js';

/**
 * The metrics of the connections between workers.
 * @param backplanes those of the worker's Socket.IO servers, all of the same name
 */
export function backplaneMetrics(backplanes: readonly Backplane[], mesh: Mesh): Metric[] {
  const sum = (valueIn: (traffic: BackplaneTraffic) => number) =>
    backplanes.reduce((total, { traffic }) => total + valueIn(traffic), 0);
  return [
    {
      name: 'gjallar_bus_up',
      type: 'gauge',
      help: 'Whether the bus of the worker is up.',
      labels: ['bus'],
      read: () =>
        backplanes
          .slice(0, 1)
          .map(({ name }) => [name, Number(backplanes.every(({ traffic }) => traffic.isUp))] as const),
    },
    counter('gjallar_bus_messages_total', 'Messages to other workers that were sent in frames.', () =>
      sentBy(backplanes, ({ messages }) => messages),
    ),
    counter('gjallar_bus_frames_total', 'Frames that carried them: one for each destination and window.', () =>
      sentBy(backplanes, ({ frames }) => frames),
    ),
    counter(
      'gjallar_bus_late_rooms_total',
      'Announcements of rooms that came so late that messages to the rooms may be missing.',
      () => sentBy(backplanes, ({ lateRooms }) => lateRooms),
    ),
    counter(
      'gjallar_bus_gaps_total',
      'How often frames of another worker were missing or did not continue, or a paused worker was heard of late, so that messages may be missing.',
      () => sum(({ gaps = 0 }) => gaps),
    ),
    counter('gjallar_bus_outages_total', 'Outages of the bus.', () => sum(({ outages }) => outages)),
    counter(
      'gjallar_bus_unsent_total',
      'Messages to other workers that were dropped because the bus was down or too slow.',
      () => sum(({ unsent }) => unsent),
    ),
    gauge('gjallar_bus_pending_bytes', 'Bytes sent to the bus that it has not confirmed yet.', () =>
      sum(({ pendingBytes }) => pendingBytes),
    ),
    gauge(
      'gjallar_mesh_pending_bytes',
      'Bytes that other workers of this machine have not read yet. They grow when a worker is stuck.',
      () => mesh.pendingBytes,
    ),
  ];
}

/** Has no value on a backplane without frames. */
function sentBy(backplanes: readonly Backplane[], valueIn: (sent: SentFrames) => number): number | undefined {
  const counts = backplanes.flatMap(({ sent }) => (sent ? [valueIn(sent)] : []));
  return counts.length > 0 ? counts.reduce((a, b) => a + b) : undefined;
}

/**
 * The metrics of the relays, one for each engine.
 * @param machines the traffic to other machines; undefined if there are none
 */
export function relayMetrics(relays: readonly Relay[], machines: BackplaneTraffic | undefined): Metric[] {
  const byScope = (countsOf: (relay: Relay) => Record<Scope, number>) =>
    scopes.map((scope) => [scope, relays.reduce((sum, relay) => sum + countsOf(relay)[scope], 0)] as const);
  return [
    {
      name: 'gjallar_relayed_requests_total',
      type: 'counter',
      help: 'Requests and WebSockets passed on to the worker with their session, by where it is: worker (of this machine) or machine.',
      labels: ['to'],
      read: () => byScope((relay) => relay.passedOn),
    },
    {
      name: 'gjallar_relay_moved_sessions_total',
      type: 'counter',
      help: 'Sessions that moved to this worker because their WebSocket reached it, by where they were: worker or machine.',
      labels: ['from'],
      read: () => byScope((relay) => relay.adopted),
    },
    {
      name: 'gjallar_relayed_connections',
      type: 'gauge',
      help: 'Requests and WebSockets on this worker whose session is elsewhere, by where it is: worker or machine.',
      labels: ['to'],
      read: () => byScope((relay) => relay.waiting),
    },
    gauge('gjallar_relay_up', 'Whether the worker can pass requests on to other machines.', () =>
      machines ? Number(machines.isUp) : undefined,
    ),
    counter('gjallar_relay_outages_total', 'Outages of the relay to other machines.', () => machines?.outages),
    counter(
      'gjallar_relay_unsent_total',
      'Messages to other machines that were dropped because Redis was down or too slow.',
      () => machines?.unsent,
    ),
    gauge(
      'gjallar_relay_pending_bytes',
      'Bytes for other machines that Redis has not confirmed yet.',
      () => machines?.pendingBytes,
    ),
  ];
}
