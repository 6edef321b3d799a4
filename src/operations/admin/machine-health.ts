import type { Health } from '../health.js';

/** The health of all workers of a machine together. */
export interface MachineHealth extends Health {
  /** The number of workers that answer. */
  readonly workers: number;
}

/**
 * Sums up the health of the workers. A machine is ready if one of its workers is.
 * @param answers the health by the id of the worker; undefined for workers that do not respond
 * @param configured the number of workers that should run
 */
export function machineHealth(
  answers: ReadonlyMap<number, Health | undefined>,
  configured: number,
  isLeaving: boolean,
): MachineHealth {
  const known = [...answers.values()].filter((health) => health !== undefined);
  const problems = new Set(known.flatMap((health) => health.problems));
  const warnings = new Set(known.flatMap((health) => health.warnings));
  for (const [id, health] of answers) if (!health) problems.add(`worker ${id} does not respond`);
  const missing = configured - answers.size;
  if (missing > 0) problems.add(`${missing} of ${configured} workers ${missing === 1 ? 'is' : 'are'} not running`);
  const isReady = known.some(({ state }) => state === 'ready');
  const state = isLeaving ? 'draining' : isReady ? 'ready' : 'not ready';
  return { state, problems: [...problems], warnings: [...warnings], workers: known.length };
}
