import { counter, type Metric } from '../../operations/metrics/metric.js';
import type { LossWatch } from './watch.js';

/** What was lost, as this worker has found it. */
export function lossMetrics(loss: LossWatch): Metric[] {
  return [
    counter(
      'gjallar_history_losses_total',
      'How often the worker has found that the store lost messages that it had confirmed.',
      () => loss.found,
    ),
    {
      name: 'gjallar_history_new_epochs_total',
      type: 'counter',
      help: 'New epochs of conversations, by what became of the messages that the worker had delivered: continued, uncertain, lost.',
      labels: ['result'],
      read: () => loss.results,
    },
  ];
}
