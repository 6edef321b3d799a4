import type { Backplane } from '../../backplanes/index.js';
import { outcomes, type RecoveryState } from '../../recovery/index.js';
import type { Labelled, Metric } from './metric.js';

const kinds = ['packets', 'sessions'] as const;

/**
 * The metrics of connection state recovery. They have no values while no server of the worker uses it.
 * @param backplanes those of the worker's Socket.IO servers
 */
export function recoveryMetrics(backplanes: readonly Backplane[]): Metric[] {
  const by = <T extends string>(labels: readonly T[], valueIn: (state: RecoveryState, label: T) => number) => {
    const states = backplanes.map(({ recovery }) => recovery).filter((state) => state !== undefined);
    if (states.length === 0) return undefined;
    return labels.map((label): Labelled => [label, states.reduce((sum, state) => sum + valueIn(state, label), 0)]);
  };
  return [
    {
      name: 'gjallar_recovery_kept',
      type: 'gauge',
      help: 'What the worker keeps for connection state recovery: packets, or sessions of disconnected clients.',
      labels: ['kind'],
      read: () => by(kinds, (state, kind) => state[kind]),
    },
    {
      name: 'gjallar_recovery_kept_bytes',
      type: 'gauge',
      help: 'Approximate memory of these packets and sessions. Each kind is bounded.',
      labels: ['kind'],
      read: () => by(kinds, ({ bytes }, kind) => bytes[kind]),
    },
    {
      name: 'gjallar_recovery_dropped_total',
      type: 'counter',
      help: 'Packets and sessions that the worker dropped before their time because a bound was reached.',
      labels: ['kind'],
      read: () => by(kinds, ({ dropped }, kind) => dropped[kind]),
    },
    {
      name: 'gjallar_recovery_attempts_total',
      type: 'counter',
      help: 'Clients that tried to recover their session, by result. All but "recovered" got a new session.',
      labels: ['result'],
      read: () => by(outcomes, ({ outcomes: counts }, outcome) => counts[outcome]),
    },
  ];
}
