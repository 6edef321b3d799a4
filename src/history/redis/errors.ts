import { HistoryError } from '../errors.js';

/** Answers that say nothing about the command, only that it cannot be served at present. */
const notNow = ['LOADING', 'MASTERDOWN', 'CLUSTERDOWN', 'TRYAGAIN', 'NOREPLICAS', 'BUSY'];

/** What an append's failure means for the message. */
export function appendError(error: unknown): HistoryError {
  return answer(error) ?? new HistoryError('HISTORY_UNCERTAIN', error);
}

/** A failed read has changed nothing. */
export function readError(error: unknown): HistoryError {
  return answer(error) ?? new HistoryError('HISTORY_UNAVAILABLE', error);
}

/** An error that Redis itself has answered with, or that came before anything was sent: nothing was done. */
function answer(error: unknown): HistoryError | undefined {
  if (error instanceof HistoryError) return error;
  if (!(error instanceof Error)) return undefined;
  if (error.message.includes('enableOfflineQueue')) return new HistoryError('HISTORY_UNAVAILABLE', error);
  if (error.name !== 'ReplyError') return undefined;
  const code = error.message.split(' ', 1)[0] ?? '';
  return new HistoryError(notNow.includes(code) ? 'HISTORY_UNAVAILABLE' : 'HISTORY_REFUSED', error);
}
