/** How often errors of one kind are written, in ms. */
const INTERVAL_MS = 10_000;
/** How many kinds are told apart. What exceeds that counts as one more. */
const MAX_KINDS = 32;

const given = new Set<string>();

/**
 * Emits a warning of the process once, with the page that explains it.
 * @param key what it is about, if the message differs each time
 */
export function warnOnce(code: string, message: string, key = message, page = 'docs/compatibility.md'): void {
  if (given.has(key)) return;
  given.add(key);
  process.emitWarning(`${message} See ${page} of gjallar.`, { type: 'GjallarWarning', code });
}

/**
 * Writes errors as warnings of the process. Clients may control how many there are, so each kind of error has one line in 10 s
 * at most, with the number of those before it that have none.
 */
export function seldomWarnings(now = () => performance.now()): (error: unknown) => void {
  const kinds = new Set<string>();
  const lines = new Seldom(INTERVAL_MS, now);
  return (error) => {
    const { code, name, message } = (error ?? {}) as Partial<Error & { code: unknown }>;
    const named = String(code ?? name);
    if (kinds.size < MAX_KINDS) kinds.add(named);
    const count = lines.due(kinds.has(named) ? named : 'others');
    if (count === undefined) return;
    const left = count > 1 ? ` (${count - 1} more of this kind since the last warning)` : '';
    process.emitWarning(`gjallar: ${message ?? error}${left}`);
  };
}

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
