import { distinct, type Problems, type Reason } from '../../../base/problems.js';
import type { Health } from '../health.js';

/** The health of all workers of a machine together. */
export interface MachineHealth extends Health {
  /** The number of workers that answer. */
  readonly workers: number;
}

/** What the primary knows by itself. */
export interface MachineFacts {
  /** The number of workers that should run. */
  readonly configuredWorkers: number;
  readonly isLeaving: boolean;
  /** Why lines of the primary's own log are lost; undefined if they are not. */
  readonly logWarning: string | undefined;
  /** The problems that only the primary knows. */
  readonly problems: Problems;
}

/**
 * Sums up the health of the workers. A machine is ready if one of its workers is.
 * @param answers the health by the id of the worker; undefined for workers that do not respond
 */
export function machineHealth(
  answers: ReadonlyMap<number, Health | undefined>,
  { configuredWorkers, isLeaving, logWarning, problems }: MachineFacts,
): MachineHealth {
  const known = [...answers.values()].filter((health) => health !== undefined);
  const own: Reason[] = [];
  for (const [id, health] of answers) {
    if (!health) own.push({ code: 'WORKER_SILENT', text: `worker ${id} does not respond` });
  }
  const missing = configuredWorkers - answers.size;
  if (missing > 0) {
    const text = `${missing} of ${configuredWorkers} workers ${missing === 1 ? 'is' : 'are'} not running`;
    own.push({ code: 'WORKERS_MISSING', text });
  }
  if (logWarning !== undefined) own.push({ code: 'LOG_LOST', text: logWarning });
  problems.replace(own);
  const isReady = known.some(({ state }) => state === 'ready');
  return {
    state: isLeaving ? 'draining' : isReady ? 'ready' : 'not ready',
    problems: distinct([...known.flatMap((health) => health.problems), ...problems.down]),
    warnings: distinct([...known.flatMap((health) => health.warnings), ...problems.warnings]),
    workers: known.length,
  };
}
