const messages = {
  HISTORY_UNAVAILABLE: 'The history cannot be reached, so nothing was kept; try again.',
  HISTORY_REFUSED: 'The history refused to keep the message; look into the log of the server for the reason.',
  HISTORY_UNCERTAIN:
    'The history did not answer in time, so the message may or may not be kept; repeat it with its key.',
} as const;

export type HistoryErrorCode = keyof typeof messages;

/** Why the history did not do what it was asked to. Only after `HISTORY_UNCERTAIN` may something have been kept. */
export class HistoryError extends Error {
  readonly code: HistoryErrorCode;

  /** @param cause what the database said */
  constructor(code: HistoryErrorCode, cause?: unknown) {
    const detail = cause instanceof Error ? ` (${cause.message})` : '';
    super(messages[code] + detail, { cause });
    this.name = 'HistoryError';
    this.code = code;
  }
}
