import { HistoryError } from '../errors.js';

/** Error replies that say only that Redis cannot serve the command at present. It has then stored nothing. */
const notNow = ['LOADING', 'MASTERDOWN', 'CLUSTERDOWN', 'TRYAGAIN', 'NOREPLICAS', 'BUSY', 'READONLY'];

/** The error for an append that failed. */
export function appendError(error: unknown): HistoryError {
  return answer(error) ?? new HistoryError('HISTORY_UNCERTAIN', error);
}

/** The error for a read that failed, which has changed nothing. */
export function readError(error: unknown): HistoryError {
  return answer(error) ?? new HistoryError('HISTORY_UNAVAILABLE', error);
}

/** The error if Redis has replied with one, or if nothing was sent: then nothing was kept. */
function answer(error: unknown): HistoryError | undefined {
  if (error instanceof HistoryError) return error;
  if (!(error instanceof Error)) return undefined;
  if (error.message.includes('enableOfflineQueue')) return new HistoryError('HISTORY_UNAVAILABLE', error);
  if (error.name !== 'ReplyError') return undefined;
  // Redis 6 puts the code of an error inside a script behind other words.
  const code = /^ERR Error running script .* -([A-Z]+) /.exec(error.message)?.[1] ?? error.message.split(' ', 1)[0]!;
  return new HistoryError(notNow.includes(code) ? 'HISTORY_UNAVAILABLE' : 'HISTORY_REFUSED', error);
}
