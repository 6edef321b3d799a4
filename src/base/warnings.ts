import { pageOf } from './package.js';
/** Lets something happen at most once in a time, such as a line of the log, and counts how often it was due. */
export class Seldom {
  private readonly kinds = new Map<string, { at: number; count: number }>();

  constructor(
    private readonly ms: number,
    private readonly now = () => performance.now(),
  ) {}

  /**
   * @param kind each kind has a time of its own; one of a bounded list
   * @param by how often it is due at once
   * @returns how often it was due since the last time, this time included; undefined if it is too early
   */
  due(kind = '', by = 1): number | undefined {
    const known = this.kinds.get(kind);
    const count = (known?.count ?? 0) + by;
    const now = this.now();
    if (known && now - known.at < this.ms) {
      known.count = count;
      return undefined;
    }
    this.kinds.set(kind, { at: now, count: 0 });
    return count;
  }
}

const advice = new Seldom(Number.POSITIVE_INFINITY);
const errors = new Seldom(10_000);

/**
 * Emits a warning of the process once, with the page that explains it.
 * @param key what it is about, if the message differs each time
 */
export function warnOnce(code: string, message: string, key = message, page = 'docs/compatibility.md'): void {
  if (advice.due(key) === undefined) return;
  process.emitWarning(`${message} See ${pageOf(page)}.`, { type: 'GjallarWarning', code });
}

/** Emits a warning about an error at most once in 10 s for each kind: clients may control how many there are. */
export function warnOfError(kind: string, message: string): void {
  const count = errors.due(kind);
  if (count === undefined) return;
  const left = count > 1 ? ` (${count - 1} more of this kind since the last warning)` : '';
  process.emitWarning(`gjallar: ${message}${left}`);
}
