import { type JWTPayload, SignJWT } from 'jose';

/** The `JWT_SECRET` of the servers that accept the tokens below. */
export const SECRET = 'a secret of more than thirty-two bytes';

/**
 * A token that a server with {@link SECRET} accepts.
 * @param options `age` is how long ago it was issued, in s; without it, the token does not say so
 */
export function tokenOf(
  claims: JWTPayload,
  { age, expires = '1h' }: { age?: number; expires?: string } = {},
): Promise<string> {
  const token = new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).setExpirationTime(expires);
  if (age !== undefined) token.setIssuedAt(Math.floor(Date.now() / 1000) - age);
  return token.sign(new TextEncoder().encode(SECRET));
}
