import type { Logger } from 'pino';
import { GjallarError } from '../../base/errors.js';

/** The caller of an action. */
export interface Caller {
  /** The name of the operator's account. */
  operator: string;
  /** The address that the request came from. */
  address: string | undefined;
}

/**
 * Carries out an action of the operator, and logs one line about it, whatever `LOG_LEVEL` is.
 * @param target what the action is about
 * @param work resolves with the result
 */
export async function audited<Result extends object>(
  log: Logger,
  caller: Caller,
  action: string,
  target: object,
  work: () => Promise<Result> | Result,
): Promise<Result> {
  const write = (result: object) => {
    log.child({}, { level: 'info' }).info({ ...caller, action, target, result }, 'the operator acted');
  };
  try {
    const result = await work();
    write(result);
    return result;
  } catch (error) {
    write({ code: error instanceof GjallarError ? error.code : 'INTERNAL' });
    throw error;
  }
}
