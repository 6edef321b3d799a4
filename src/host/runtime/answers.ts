import { owned } from '../../base/owner.js';
import type { FromPrimary, QuestionKind } from '../../cluster/protocol.js';
import type { Health } from '../operations/health.js';
import type { ClientList, ClientQuery } from '../operations/overview/clients.js';
import type { WorkerReport } from '../operations/overview/worker-report.js';
import type { MachineWorker } from './machine-worker.js';
import type { Action } from './operator/actions.js';
import { findClients } from './operator/clients.js';
import type { Report } from './operator/operator.js';
import { Reporter } from './overview/reporter.js';

/** The answers of a worker to the primary, by question. */
export interface Answers {
  health: Health;
  figures: WorkerReport;
  clients: ClientList;
  /** What this worker, and perhaps the workers of other machines, have done for the operator. */
  act: Report;
}

/** What a worker must know to act for the operator. */
export interface ActInput {
  action: Action;
  /** Whether this worker passes the action on to the workers of other machines. */
  isEverywhere: boolean;
}

/** Answers the questions of the primary, which it asks for /metrics and the admin port. */
export function answerPrimary(worker: MachineWorker): Reporter {
  const reporter = new Reporter(worker);
  const answers: { [question in QuestionKind]: (input: unknown) => Answers[question] | Promise<Answers[question]> } = {
    health: () => worker.health,
    figures: (hasLists) => reporter.report(hasLists === true),
    clients: (query) => findClients(query as ClientQuery, worker.servers, worker.seam, worker.view),
    act: async (input) => {
      const { action, isEverywhere } = input as ActInput;
      if (isEverywhere) return worker.operator.actEverywhere(action);
      return { acted: [await worker.operator.act(action)], complete: true };
    },
  };
  const answer = async ({ id, question, input }: Extract<FromPrimary, { type: 'ask' }>) => {
    try {
      worker.orders.send({ type: 'answer', id, answer: await answers[question](input) });
    } catch (error) {
      worker.log.error({ error, question }, 'a question of the primary failed');
      worker.orders.send({ type: 'answer', id, answer: undefined });
    }
  };
  worker.orders.on('ask', owned('answering a question of the primary', answer));
  return reporter;
}
