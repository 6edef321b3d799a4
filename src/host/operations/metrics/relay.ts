import { counter, gauge, type Metric } from '../../../base/metric.js';
import type { BackplaneTraffic } from '../../../cluster/backplanes/index.js';
import { type Relay, type Scope, scopes } from '../../../cluster/relay/relay.js';

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
