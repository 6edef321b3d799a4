import { createHash, timingSafeEqual } from 'node:crypto';
import { GjallarError } from '../../base/errors.js';
import { Seldom } from '../../base/warnings.js';
import { type Clock, systemClock } from '../../engine/clock.js';
import type { EngineRequest } from '../../engine/http/request.js';
import { addressKey } from '../../engine/limits/address-limits.js';
import { isCrossSite, isForeign } from '../../engine/limits/origin.js';
import { Allowances } from '../../engine/limits/rates.js';

/** The name and password of the operator's account. */
export interface Admin {
  user: string;
  password: string;
}

/** The operator's account from the configuration, if there is one. */
function adminOf(config: { adminUser?: string; adminPassword?: string }): Admin | undefined {
  const { adminUser: user, adminPassword: password } = config;
  return user && password ? { user, password } : undefined;
}

/** How many wrong passwords an address may send at once; each minute, it may send as many again. */
export const MAX_WRONG = 10;
const WRONG_MS = 60_000;
/** How long the response to a wrong password takes, in ms. */
const DELAY_MS = 1000;
/** At most one line about wrong passwords in this time, in ms. */
const LOG_MS = 10_000;

/** A request as it is checked. */
interface Request {
  readonly headers: { readonly authorization?: string | undefined };
  /** The client's address; undefined on a Unix socket. */
  readonly address: string | undefined;
}

/** Takes note of wrong passwords. */
interface Log {
  warn(fields: object, message: string): void;
}

/** Checks requests by the operator's password (HTTP basic authentication, RFC 7617), and slows down guesses. */
export class AdminGuard {
  private readonly wrong = new Allowances({ amount: MAX_WRONG, per: WRONG_MS });
  private readonly lines: Seldom;

  constructor(
    private readonly admin: Admin,
    private readonly log: Log,
    private readonly clock: Clock = systemClock,
  ) {
    this.lines = new Seldom(LOG_MS, () => clock.now());
  }

  /** The name of the operator. */
  get user(): string {
    return this.admin.user;
  }

  /**
   * Resolves if the request has the operator's password.
   * @throws GjallarError ADMIN_ONLY, a moment after a wrong password; RATE_LIMITED after too many of them
   */
  async require({ headers, address = '' }: Request): Promise<void> {
    const given = /^Basic +([\w+/]+=*)$/i.exec(headers.authorization ?? '')?.[1];
    // A browser sends its first request without a password.
    if (given === undefined) throw new GjallarError('ADMIN_ONLY');
    const now = this.clock.now();
    const key = addressKey(address);
    if (this.wrong.get(key)?.has(1, now) === false) {
      throw new GjallarError(
        'RATE_LIMITED',
        `This IP address has sent ${MAX_WRONG} wrong passwords, so no password of it is checked. Try again in a minute.`,
        WRONG_MS / 1000,
      );
    }
    const { user, password } = this.admin;
    if (isSame(Buffer.from(given, 'base64').toString(), `${user}:${password}`)) return;
    this.wrong.of(key, now).consume(1, now);
    this.note(address);
    await new Promise<void>((resolve) => {
      this.clock.setTimeout(resolve, DELAY_MS);
    });
    throw new GjallarError('ADMIN_ONLY');
  }

  /**
   * Resolves if the request has the operator's password, and no page of another origin has made it.
   * @param isProxied whether the proxies' headers about the host are trusted
   * @throws GjallarError as require(), and ORIGIN_FORBIDDEN
   */
  async requireOwnPage(request: EngineRequest, isProxied: boolean): Promise<void> {
    const { headers, connection } = request;
    await this.require({ headers, address: connection.remoteAddress });
    // A browser adds the operator's password to requests that a foreign page makes.
    if (isForeign(request, [], isProxied) || isCrossSite(headers)) {
      throw new GjallarError(
        'ORIGIN_FORBIDDEN',
        'Pages of other origins may not use this path. Send the request from a tool or from a page of this server.',
      );
    }
  }

  private note(address: string): void {
    const count = this.lines.due();
    if (count !== undefined) this.log.warn({ address, count }, 'wrong password for ADMIN_USER');
  }
}

/** The guard of the operator's account, if there is one. */
export function adminGuardOf(config: { adminUser?: string; adminPassword?: string }, log: Log): AdminGuard | undefined {
  const admin = adminOf(config);
  return admin && new AdminGuard(admin, log);
}

/** Compares two strings. The time it takes reveals neither where they differ nor their lengths. */
export function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
