import { type DurableFigures, durableStores, lossyStores } from '../../rooms/stores.js';
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
