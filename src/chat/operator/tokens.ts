import { normalForm } from '../../accounts/normal-form.js';
import type { Revocation } from '../../accounts/revocation-record.js';
import {
  CLOCK_MS,
  idOfAll,
  idOfToken,
  idOfUser,
  MAX_REVOCATIONS,
  type RevokedTokens,
} from '../../accounts/revocations.js';
import { GjallarError } from '../../errors.js';
import { readName, readObject } from '../input.js';

/** How long a revocation is kept if the request does not say when the tokens expire, in ms: a year. */
export const DEFAULT_KEPT_MS = 366 * 24 * 3_600_000;
const MAX_TOKEN_ID = 256;

/** Revokes tokens for the operator. */
export class TokenRevocation {
  /** @param changed announces a change to the other workers and machines */
  constructor(
    private readonly tokens: RevokedTokens | undefined,
    private readonly changed: () => void,
  ) {}

  /**
   * Revokes `{ jti }`, `{ user, before? }` or `{ before }`. Connections with such tokens end.
   * @throws GjallarError BAD_INPUT, BAD_NAME, TOKENS_OFF, HISTORY_…, REVOCATIONS_FULL
   */
  async revoke(input: unknown): Promise<{ revocation: Revocation }> {
    const revocation = await attempt(() => this.opened().revoke(readRevocation(input)));
    this.changed();
    return { revocation };
  }

  async list(): Promise<{ revocations: Revocation[]; max: number }> {
    const tokens = this.opened();
    await attempt(() => tokens.read());
    return { revocations: tokens.list(), max: MAX_REVOCATIONS };
  }

  /** Accepts the tokens again. Without such a revocation, it does nothing. */
  async lift(id: string): Promise<{ id: string }> {
    // One that an earlier version has stored may be in another form.
    const ids = id.startsWith(idOfUser('')) ? new Set([id, normalForm(id)]) : [id];
    for (const one of ids) await attempt(() => this.opened().lift(one));
    this.changed();
    return { id };
  }

  private opened(): RevokedTokens {
    if (!this.tokens) {
      throw new GjallarError(
        'TOKENS_OFF',
        'This server revokes no tokens. To use them, its operator sets JWT_SECRET or JWKS_URL; HISTORY_TTL must not be 0.',
      );
    }
    return this.tokens;
  }
}

/** @throws GjallarError HISTORY_UNAVAILABLE if the store of revocations does not work; nothing has changed then */
async function attempt<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GjallarError) throw error;
    throw Object.assign(
      new GjallarError(
        'HISTORY_UNAVAILABLE',
        'The store of the revocations cannot be reached or written to. Try again; /readyz and the log have the cause.',
      ),
      { cause: error },
    );
  }
}

function readRevocation(input: unknown): Revocation {
  const at = Date.now();
  const { user, jti, before = user === undefined ? undefined : at, expires = at + DEFAULT_KEPT_MS } = readObject(input);
  if (!isTime(expires) || expires <= at) {
    throw new GjallarError(
      'BAD_INPUT',
      'Invalid "expires". Send a time in the future, in ms since 1970, or leave it out.',
    );
  }
  if (jti !== undefined) {
    const isAlone = user === undefined && before === undefined;
    if (!isAlone || typeof jti !== 'string' || jti === '' || jti.length > MAX_TOKEN_ID) {
      throw new GjallarError('BAD_INPUT', 'Invalid "jti". Send the claim of one token, without "user" and "before".');
    }
    return { id: idOfToken(jti), at, expires };
  }
  if (!isTime(before) || before > at + CLOCK_MS) {
    throw new GjallarError(
      'BAD_INPUT',
      'The body names no tokens. Send { "user": "…" }, { "jti": "…" } or { "before": … } with a past time in ms since 1970.',
    );
  }
  return { id: user === undefined ? idOfAll : idOfUser(readName(user)), before, at, expires };
}

const isTime = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
