import { redisCause } from '../../backplanes/redis-cause.js';
import { Outage } from '../../base/outage.js';
import type { Reason } from '../../base/problems.js';

/** Why Redis takes no writes. Version 6 puts the code of an error inside a script behind other words. */
const REJECTED = /\b(OOM|READONLY|MISCONF|NOREPLICAS|WRONGTYPE)\b/;

/** What is down, in public words. */
export function reasonOf(reason: string): Reason {
  const [, word] = REJECTED.exec(reason) ?? [];
  const rejected: Reason | undefined = word
    ? { code: 'REDIS_WRITES_REJECTED', text: `Redis rejects writes (${word})` }
    : undefined;
  const unreachable: Reason = { code: 'REDIS_UNREACHABLE', text: 'Redis is unreachable' };
  const { code, text } = redisCause(reason) ?? rejected ?? unreachable;
  return { code, text: `${text}: state rooms are not stored` };
}

/** The rooms of a connection that cannot be stored. An outage lasts while there are any. */
export class StoreHealth {
  outages = 0;
  failures = 0;
  private readonly failing = new Set<object>();
  private readonly outage = new Outage();

  /** @param onUp called when the last failing room is stored again */
  constructor(private readonly onUp: () => void) {}

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
    this.outage.begin(reasonOf(reason), { reason });
  }

  /** The room is stored again. */
  works(room: object): void {
    if (!this.failing.delete(room) || !this.isUp) return;
    this.outage.end();
    this.onUp();
  }

  /** If no failing room is left, that does not mean that Redis works. */
  closed(room: object): void {
    if (this.failing.delete(room) && this.isUp) this.outage.close();
  }
}
