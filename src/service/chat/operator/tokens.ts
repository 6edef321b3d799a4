import { GjallarError } from '../../../base/errors.js';
import { normalForm } from '../../accounts/identity.js';
import type { Revocation } from '../../accounts/revocation-record.js';
import { CLOCK_MS, MAX_REVOCATIONS, type RevokedTokens } from '../../accounts/revocations.js';
import { read, readObject, revocation as revocationInput } from '../input.js';

/** How long a revocation is kept if the request does not say when the tokens expire, in ms: a year. */
const DEFAULT_KEPT_MS = 366 * 24 * 3_600_000;

/** Revokes tokens for the operator. @param tokens undefined if the server revokes none */
export function tokenRevocation(tokens: RevokedTokens | undefined) {
  /** @throws GjallarError TOKENS_OFF; HISTORY_UNAVAILABLE if the store of revocations does not work: nothing has changed then */
  const attempt = async <T>(work: (tokens: RevokedTokens) => Promise<T>): Promise<T> => {
    if (!tokens) {
      throw new GjallarError(
        'TOKENS_OFF',
        'This server revokes no tokens. To use them, its operator sets JWT_SECRET or JWKS_URL; HISTORY_TTL must not be 0.',
      );
    }
    try {
      return await work(tokens);
    } catch (error) {
      if (error instanceof GjallarError) throw error;
      const text =
        'The store of the revocations cannot be reached or written to. Try again; /readyz and the log have the cause.';
      throw Object.assign(new GjallarError('HISTORY_UNAVAILABLE', text), { cause: error });
    }
  };
  return {
    /**
     * Revokes `{ jti }`, `{ user, before? }` or `{ before }`. Connections with such tokens end.
     * @throws GjallarError BAD_INPUT, BAD_NAME, TOKENS_OFF, HISTORY_…, REVOCATIONS_FULL
     */
    revoke: (input: unknown) => attempt(async (tokens) => ({ revocation: await tokens.revoke(readRevocation(input)) })),
    list: () => attempt((tokens) => tokens.read().then(() => ({ revocations: tokens.list(), max: MAX_REVOCATIONS }))),
    /** Accepts the tokens again. @throws GjallarError NOT_FOUND, TOKENS_OFF, HISTORY_…, REVOCATIONS_FULL */
    lift: (id: string) =>
      attempt((tokens) => tokens.lift(id.startsWith('user:') ? normalForm(id) : id).then(() => ({ id }))),
  };
}

const BAD_EXPIRY = 'Invalid "expires". Send a time in the future, in ms since 1970, or leave it out.';
const BAD_TOKEN_ID = 'Invalid "jti". Send the claim of one token, without "user" and "before".';
const NO_TOKENS =
  'The body names no tokens. Send { "user": "…" }, { "jti": "…" } or { "before": … } with a past time in ms since 1970.';

function readRevocation(input: unknown): Revocation {
  const at = Date.now();
  const fields = readObject(input);
  const { shape } = revocationInput;
  const expires = read(shape.expires, fields.expires, 'BAD_INPUT', BAD_EXPIRY) ?? at + DEFAULT_KEPT_MS;
  if (expires <= at) throw new GjallarError('BAD_INPUT', BAD_EXPIRY);
  const jti = read(shape.jti, fields.jti, 'BAD_INPUT', BAD_TOKEN_ID);
  if (jti !== undefined) {
    if (fields.user !== undefined || fields.before !== undefined) throw new GjallarError('BAD_INPUT', BAD_TOKEN_ID);
    return { id: `jti:${jti}`, at, expires };
  }
  const before =
    read(shape.before, fields.before, 'BAD_INPUT', NO_TOKENS) ?? (fields.user === undefined ? undefined : at);
  if (before === undefined || before > at + CLOCK_MS) throw new GjallarError('BAD_INPUT', NO_TOKENS);
  const user = read(shape.user, fields.user, 'BAD_NAME');
  return { id: user === undefined ? 'all' : `user:${user}`, before, at, expires };
}
