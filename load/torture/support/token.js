import { SignJWT } from 'jose';

/** A token of a user. */
export const tokenFor = (secret, name) =>
  new SignJWT({ sub: name })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1d')
    .sign(new TextEncoder().encode(secret));
