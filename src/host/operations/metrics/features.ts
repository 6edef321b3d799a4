import { counter, gauge, type Labelled, type Metric } from '../../../base/metric.js';
import type { Backplane } from '../../../cluster/backplanes/index.js';
import { outcomes, type RecoveryState } from '../../../features/recovery/index.js';
import {
  type DurableFigures,
  durableStores,
  lossyStores,
  type StateFigures,
  type StateStoreFigures,
  stateRooms,
  stateStores,
} from '../../../io/rooms/stores.js';

/** The metrics of durable rooms. They have no values while the application has none. */
export function durableMetrics(): Metric[] {
  const of = (name: keyof DurableFigures) => () => durableStores.figures()?.[name];
  return [
    gauge('gjallar_durable_up', '1 if messages of durable rooms can be stored and read, 0 if not.', of('up')),
    counter(
      'gjallar_durable_failures_total',
      'Attempts to store or read messages of durable rooms that failed.',
      of('failures'),
    ),
    counter(
      'gjallar_durable_outages_total',
      'How often messages of durable rooms could not be stored or read.',
      of('outages'),
    ),
  ];
}

/** What was lost of the messages of durable rooms and of the chat, as this worker has found it. */
export function lossMetrics(): Metric[] {
  return [
    counter(
      'gjallar_history_losses_total',
      'How often the worker has found that the store lost messages that it had confirmed.',
      () => lossyStores.figures()?.losses,
    ),
    {
      name: 'gjallar_history_new_epochs_total',
      type: 'counter',
      help: 'New epochs of conversations, by what became of the messages that the worker had delivered: continued, uncertain, lost.',
      labels: ['result'],
      read: () => {
        const figures = lossyStores.figures();
        return figures && (['continued', 'uncertain', 'lost'] as const).map((result) => [result, figures[result]]);
      },
    },
  ];
}

/** The metrics of state rooms. They have no values while the application has none. */
export function stateMetrics(): Metric[] {
  const of = (name: keyof StateFigures) => () => stateRooms.figures()?.[name];
  const stored = (name: keyof StateStoreFigures) => () => stateStores.figures()?.[name];
  return [
    gauge('gjallar_state_rooms', 'State rooms of the worker.', of('rooms')),
    gauge('gjallar_state_keys', 'Keys in the state rooms of the worker.', of('keys')),
    gauge('gjallar_state_bytes', 'Bytes of these keys and their values.', of('bytes')),
    gauge(
      'gjallar_state_fullness_ratio',
      'Share of maxKeys or maxBytes that is in use, in the fullest state room of the worker.',
      () => stateRooms.fullness,
    ),
    gauge('gjallar_state_members', 'Members of state rooms on the worker.', of('members')),
    gauge(
      'gjallar_state_members_behind',
      'Members of state rooms that lack changes because they read slowly, have a pace, or have just joined.',
      of('behind'),
    ),
    counter('gjallar_state_changes_total', 'Changes in state rooms, those of other workers included.', of('changes')),
    counter(
      'gjallar_state_conflated_total',
      'Changes that were not sent to a member because a newer one replaced them, over all members.',
      of('conflated'),
    ),
    counter('gjallar_state_saved_bytes_total', 'Approximate bytes that this has saved.', of('savedBytes')),
    gauge(
      'gjallar_state_members_behind_long',
      'Members of state rooms without a pace that have been behind for more than 30 s.',
      of('behindLong'),
    ),
    gauge(
      'gjallar_state_unstored',
      'Keys in state rooms that the worker has changed, and that are not in Redis yet.',
      () => stateStores.figures() && stateRooms.figures()?.unstored,
    ),
    gauge(
      'gjallar_state_store_up',
      '1 if state rooms with store: "redis" can be stored in Redis, 0 if not.',
      stored('up'),
    ),
    counter(
      'gjallar_state_store_written_total',
      'Changes of state rooms that were written to Redis.',
      stored('written'),
    ),
    counter(
      'gjallar_state_store_failures_total',
      'Attempts to read or write state rooms in Redis that failed.',
      stored('failures'),
    ),
    counter(
      'gjallar_state_store_outages_total',
      'How often state rooms could not be stored in Redis.',
      stored('outages'),
    ),
    counter(
      'gjallar_state_store_losses_total',
      'How often a state room found that Redis had lost what it had.',
      stored('losses'),
    ),
  ];
}

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
      help: 'What the machine keeps for connection state recovery: packets, or sessions of disconnected clients. One worker reports it.',
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
      help: 'Packets and sessions that the machine dropped before their time because a bound was reached. One worker reports it.',
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
