import type { Question } from '../cluster/protocol.js';
import type { Health } from '../operations/health.js';
import { sendToPrimary } from './lifecycle/orders.js';
import type { MachineWorker } from './machine-worker.js';
import { statsOf, type WorkerStats } from './stats.js';

/** The answers of a worker to the primary, by question. */
export interface Answers {
  health: Health;
  /** The metrics of all workers, in the text format of Prometheus. */
  metrics: string;
  stats: WorkerStats;
}

/** Answers the questions of the primary, which it asks for the admin port. */
export function answerPrimary(
  worker: MachineWorker,
  { health, metrics }: { health(): Health; metrics(): Promise<string> },
): void {
  const answers: { [question in Question]: () => Answers[question] | Promise<Answers[question]> } = {
    health,
    metrics,
    stats: () => statsOf(worker),
  };
  worker.orders.on('ask', async ({ id, question }: { id: number; question: Question }) => {
    try {
      sendToPrimary({ type: 'answer', id, answer: await answers[question]() });
    } catch (error) {
      worker.log.error({ error, question }, 'a question of the primary failed');
      sendToPrimary({ type: 'answer', id, answer: undefined });
    }
  });
}
