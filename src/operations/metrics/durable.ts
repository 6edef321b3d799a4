import { type DurableFigures, durableStores } from '../../rooms/stores.js';
import { counter, gauge, type Metric } from './metric.js';

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
    counter(
      'gjallar_durable_losses_total',
      'How often a durable room began again without messages that the worker had delivered.',
      of('losses'),
    ),
  ];
}
