import { redisCause } from '../../backplanes/redis-cause.js';

/** Why Redis takes no writes. Version 6 puts the code of an error inside a script behind other words. */
const REJECTED = /\b(OOM|READONLY|MISCONF|NOREPLICAS|WRONGTYPE)\b/;
const CONSEQUENCE = 'state rooms are not stored';

/** What is down, in public words. */
export function problemOf(reason: string): string {
  const cause = redisCause(reason);
  if (cause) return `${cause.text}: ${CONSEQUENCE}`;
  const code = REJECTED.exec(reason)?.[1];
  return code ? `Redis rejects writes (${code}): ${CONSEQUENCE}` : `Redis is unreachable: ${CONSEQUENCE}`;
}

export interface HealthEvents {
  /** Called when an outage begins, and when its reason changes; `former` is the problem until then. */
  onDown(problem: string, reason: string, former: string | undefined): void;
  onUp(problem: string): void;
  /** Called instead of `onUp` when no failing room is left because the last one was closed. */
  onClosed(problem: string): void;
}

/** The rooms of a connection that cannot be stored. An outage lasts while there are any. */
export class StoreHealth {
  outages = 0;
  failures = 0;
  private readonly failing = new Set<object>();
  private problem = '';

  constructor(private readonly events: HealthEvents) {}

  get isUp(): boolean {
    return this.failing.size === 0;
  }

  isFailing(room: object): boolean {
    return this.failing.has(room);
  }

  failed(room: object, reason: string): void {
    this.failures++;
    if (this.isUp) this.outages++;
    this.failing.add(room);
    const problem = problemOf(reason);
    const former = this.problem;
    if (problem === former) return;
    this.problem = problem;
    this.events.onDown(problem, reason, former || undefined);
  }

  /** The room is stored again. */
  works(room: object): void {
    const problem = this.remove(room);
    if (problem) this.events.onUp(problem);
  }

  closed(room: object): void {
    const problem = this.remove(room);
    if (problem) this.events.onClosed(problem);
  }

  /** @returns the problem that ends with this room */
  private remove(room: object): string | undefined {
    if (!this.failing.delete(room) || !this.isUp) return undefined;
    const { problem } = this;
    this.problem = '';
    return problem;
  }
}
