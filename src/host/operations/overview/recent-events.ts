/** A rejected client, a warning or an error, as the operator's page lists it. */
export interface RecentEvent {
  /** The level of the log line. */
  level: string;
  message: string;
  /** The error code, if it has one. */
  code: string | undefined;
  /** How often it has happened since `since`. */
  count: number;
  /** When it happened for the first and for the last time, in ms since 1970. */
  since: number;
  at: number;
  /** The details of the latest one, such as `address`, `path`, `user`, `worker` and `error`. */
  details: Record<string, string>;
}

/** How many different events are kept. */
export const MAX_RECENT = 50;
/** The details of an event are read at most once in this time, in ms. */
const DETAILS_INTERVAL_MS = 500;
/** Clients choose some of these texts. */
const MAX_CHARACTERS = 200;
/** The fields of a log line that are shown. */
const SHOWN = ['address', 'user', 'path', 'origin', 'namespace', 'reason', 'worker', 'signal', 'session', 'error'];

/** The latest events of a process. Events that are alike are counted together, so a flood pushes no other event out. */
export class RecentEvents {
  private readonly events = new Map<string, RecentEvent>();

  constructor(private readonly now = () => Date.now()) {}

  /**
   * @param fields the fields of the log line
   * @param code one of a fixed list
   */
  add(level: string, message: string, fields: () => object, code?: string): void {
    const at = this.now();
    const key = `${code ?? ''}\n${message}`;
    const known = this.events.get(key);
    // The latest one is the last one.
    this.events.delete(key);
    const isFresh = known !== undefined && at - known.at < DETAILS_INTERVAL_MS;
    this.events.set(key, {
      ...{ level, message, code, count: (known?.count ?? 0) + 1, since: known?.since ?? at, at },
      details: isFresh ? known.details : shown(fields()),
    });
    if (this.events.size <= MAX_RECENT) return;
    const [oldest] = this.events.keys();
    this.events.delete(oldest!);
  }

  /** Adds a line of the log. */
  readonly addLine = ({ level, message, fields }: { level: string; message: string; fields: object }): void => {
    this.add(level, message, () => fields);
  };

  /** The events, the latest one first. */
  get all(): RecentEvent[] {
    return [...this.events.values()].reverse();
  }
}

function shown(fields: object): Record<string, string> {
  const given = fields as Record<string, unknown>;
  const details: Record<string, string> = {};
  for (const name of SHOWN) {
    const value = given[name];
    if (value === undefined || value === null || value === '') continue;
    details[name] = (value instanceof Error ? value.message : String(value)).slice(0, MAX_CHARACTERS);
  }
  return details;
}

/** The events of several processes together, the latest one first. Those that are alike are added up. */
export function mergeEvents(lists: readonly (readonly RecentEvent[])[]): RecentEvent[] {
  const merged = new Map<string, RecentEvent>();
  for (const event of lists.flat()) {
    const key = `${event.code ?? ''}\n${event.message}`;
    const known = merged.get(key);
    if (!known) merged.set(key, event);
    else {
      const latest = event.at > known.at ? event : known;
      const since = Math.min(event.since, known.since);
      merged.set(key, { ...latest, since, count: known.count + event.count });
    }
  }
  return [...merged.values()].sort((one, other) => other.at - one.at).slice(0, MAX_RECENT);
}
