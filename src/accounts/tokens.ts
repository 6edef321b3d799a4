import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { z } from 'zod';
import { GjallarError } from '../errors.js';
import type { Accounts, Identity } from './identity.js';

export interface TokenOptions {
  /** Shared secret of tokens signed with HS256. Set either this or {@link jwksUrl}. */
  secret?: string;
  /** URL of the public keys of tokens signed with RS256, ES256 or EdDSA. */
  jwksUrl?: string;
  /** Required value of the claim `iss`. @default any */
  issuer?: string;
  /** Value that the claim `aud` must be or contain. @default any */
  audience?: string;
}

const patterns = z.array(z.string().min(1).max(129)).max(1000).optional();
const claims = z.object({
  name: z.string(),
  rooms: z.object({ join: patterns, publish: patterns }).default({}),
});

/** Accounts by JSON Web Tokens (RFC 7519), verified as RFC 8725 requires, with a list of accepted algorithms. */
export class TokenAccounts implements Accounts {
  private readonly key: JWTVerifyGetKey;
  private readonly algorithms: string[];

  constructor(private readonly options: TokenOptions) {
    const { secret, jwksUrl } = options;
    if (jwksUrl !== undefined) {
      this.key = createRemoteJWKSet(new URL(jwksUrl));
      this.algorithms = ['RS256', 'ES256', 'EdDSA'];
    } else {
      const bytes = new TextEncoder().encode(secret);
      this.key = async () => bytes;
      this.algorithms = ['HS256'];
    }
  }

  async identify(token: unknown): Promise<Identity> {
    if (token === undefined || token === null || token === '') throw new GjallarError('TOKEN_MISSING');
    if (typeof token !== 'string') throw new GjallarError('TOKEN_INVALID');
    return identityOf(await this.verify(token));
  }

  private async verify(token: string): Promise<JWTPayload> {
    const { issuer, audience } = this.options;
    try {
      return (await jwtVerify(token, this.key, { algorithms: this.algorithms, issuer, audience })).payload;
    } catch (error) {
      throw refusalOf(error);
    }
  }
}

/** The name is the claim `name`, or `sub` without one. See {@link Grant} for `rooms`. */
function identityOf({ name, sub, rooms, exp }: JWTPayload): Identity {
  const parsed = claims.safeParse({ name: name ?? sub, rooms });
  if (!parsed.success) {
    throw new GjallarError(
      'TOKEN_INVALID',
      'The token has an invalid claim. Request one with a user name in "name" or "sub", and lists of rooms in "rooms": { join, publish }.',
    );
  }
  return { name: parsed.data.name, grant: parsed.data.rooms, expires: exp === undefined ? undefined : exp * 1000 };
}

function refusalOf(error: unknown): GjallarError {
  if (error instanceof errors.JWTExpired) return new GjallarError('TOKEN_EXPIRED');
  if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'iss')
    return new GjallarError('TOKEN_ISSUER');
  if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'aud') {
    return new GjallarError('TOKEN_AUDIENCE');
  }
  const isOurs =
    !(error instanceof errors.JOSEError) ||
    error instanceof errors.JWKSTimeout ||
    error instanceof errors.JWKSInvalid ||
    error.code === 'ERR_JOSE_GENERIC';
  // The key server is unreachable, or its answer contains no keys. The token may be valid.
  return new GjallarError(isOurs ? 'ACCOUNTS_UNAVAILABLE' : 'TOKEN_INVALID');
}
