import type { Primary } from '../cluster/primary/primary.js';
import type { AdminSource } from '../operations/admin/admin-server.js';
import { machineHealth } from '../operations/admin/machine-health.js';
import { promClient } from '../operations/metrics/prom-client.js';
import type { Answers } from '../runtime/answers.js';

/** The admin port's view of a primary. */
export function adminSource(primary: Primary, configured: number): AdminSource {
  return {
    health: async () => {
      const answers = (await primary.ask('health')) as Map<number, Answers['health'] | undefined>;
      return machineHealth(answers, configured, primary.isDraining);
    },
    metrics: async () => {
      promClient();
      // Each worker gathers the metrics of all. A stuck one does not answer.
      for (const worker of primary.listening) {
        const answer = (await primary.ask('metrics', [worker])).get(worker);
        if (typeof answer === 'string') return answer;
      }
      return undefined;
    },
    stats: async () => {
      const answers = (await primary.ask('stats')) as Map<number, Answers['stats'] | undefined>;
      const workers = [...answers].map(([id, stats]) => stats ?? { id, doesRespond: false });
      const known = [...answers.values()].filter((stats) => stats !== undefined);
      const namespaces: Record<string, number> = {};
      for (const stats of known) {
        for (const [name, count] of Object.entries(stats.namespaces)) {
          namespaces[name] = (namespaces[name] ?? 0) + count;
        }
      }
      return { ok: true, clients: known.reduce((sum, { clients }) => sum + clients, 0), namespaces, workers };
    },
    drain: () => primary.leave(),
    reload: () => void primary.reload(),
  };
}
