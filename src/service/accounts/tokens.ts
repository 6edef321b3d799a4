import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import * as z from 'zod/mini';
import { GjallarError } from '../../base/errors.js';
import { type Accounts, type Grant, type Identity, normalForm } from './identity.js';

export interface TokenOptions {
  /** Shared secret of tokens signed with HS256. Set either this or {@link jwksUrl}. */
  secret?: string;
  /** URL of the public keys of tokens signed with RS256, ES256 or EdDSA. */
  jwksUrl?: string;
  /** Required value of the claim `iss`. @default any */
  issuer?: string;
  /** Value that the claim `aud` must be or contain. @default any */
  audience?: string;
  /** Name of the claim that identifies the user. @default "sub" */
  userClaim?: string;
}

const pattern = z.string().check(z.overwrite(normalForm), z.minLength(1), z.maxLength(129));
const patterns = z.optional(z.array(pattern).check(z.maxLength(1000)));
/** Strict, because a misspelt key would otherwise grant every room. */
const grant = z._default(z.strictObject({ join: patterns, publish: patterns }), {});

/** Accounts by JSON Web Tokens (RFC 7519), verified as RFC 8725 requires, with a list of accepted algorithms. */
export class TokenAccounts implements Accounts {
  private readonly key: JWTVerifyGetKey;
  private readonly algorithms: string[];
  readonly userClaim: string;

  constructor(private readonly options: TokenOptions) {
    const { secret, jwksUrl, userClaim = 'sub' } = options;
    this.userClaim = userClaim;
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
    return identityOf(await this.verify(token), this.userClaim);
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

/**
 * The identity is one claim, and only that one. The claim `name` is what OpenID Connect makes it: a display name, which
 * two users may share.
 */
function identityOf(payload: JWTPayload, userClaim: string): Identity {
  const name = Object.hasOwn(payload, userClaim) ? payload[userClaim] : undefined;
  if (typeof name !== 'string') {
    throw new GjallarError(
      'TOKEN_INVALID',
      `The token has no claim "${userClaim}" with a string. Request one with it, or ask the operator to set JWT_USER_CLAIM to the claim that identifies users.`,
    );
  }
  const { name: displayName, exp, iat, jti } = payload;
  return {
    name: normalForm(name),
    displayName: typeof displayName === 'string' ? displayName : undefined,
    grant: grantOf(payload.rooms),
    expires: exp === undefined ? undefined : exp * 1000,
    tokenId: typeof jti === 'string' ? jti : undefined,
    issued: iat === undefined ? undefined : iat * 1000,
  };
}

function grantOf(rooms: unknown): Grant {
  const parsed = grant.safeParse(rooms);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? ` the unknown key ${JSON.stringify(issue.keys[0])}` : '';
  throw new GjallarError(
    'TOKEN_INVALID',
    `The token's claim "rooms" has${unknown || ' an invalid value'}. Request one with { "join": […], "publish": […] }; each list is optional and holds up to 1,000 rooms.`,
  );
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
