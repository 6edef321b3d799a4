import { type StateFigures, type StateStoreFigures, stateRooms, stateStores } from '../../rooms/stores.js';
import { counter, gauge, type Metric } from './metric.js';

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
