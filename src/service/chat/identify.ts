import { GjallarError } from '../../base/errors.js';
import { type Accounts, type Grant, type Identity, normalForm } from '../accounts/identity.js';
import { readName } from './input.js';

/**
 * Identifies a client: by its token if the server requires tokens, otherwise by the name that it sends.
 * @param unique text for the name of a client that sends none
 * @throws GjallarError BAD_NAME, TOKEN_…, ACCOUNTS_UNAVAILABLE
 */
export async function identify(
  accounts: Accounts | undefined,
  { name, token }: { name?: unknown; token?: unknown },
  unique: string,
): Promise<Identity> {
  return accounts ? identifyByToken(accounts, token) : nameOrGuest({ name }, unique);
}

/** A client that needs no token may do everything. */
const EVERYTHING: Grant = Object.freeze({});

/** @throws GjallarError BAD_NAME */
export function nameOrGuest({ name }: { name?: unknown }, unique: string): Identity {
  return { name: name === undefined ? `guest-${unique.slice(0, 6)}` : readName(name), grant: EVERYTHING };
}

export async function identifyByToken(accounts: Accounts, token: unknown): Promise<Identity> {
  const identity = await accounts.identify(token);
  const name = normalForm(identity.name);
  // Trimming an identity would make two users of the issuer one.
  if (nameOf(name) !== name) {
    throw new GjallarError(
      'TOKEN_INVALID',
      `The token's claim "${accounts.userClaim}" (JWT_USER_CLAIM) is not a valid user name. Request a token in which it has 1 to 64 characters, none of them control or invisible characters, no space at either end, and no two spaces in a row.`,
    );
  }
  const displayName = nameOf(identity.displayName);
  return { ...identity, name, displayName: displayName === name ? undefined : displayName };
}

/** The name without space around it; undefined if it is not valid. */
function nameOf(value: unknown): string | undefined {
  try {
    return readName(value);
  } catch {
    return undefined;
  }
}

/**
 * Tells callers over HTTP apart where they take turns, and where they are charged. Requests with the API key are the
 * operator's, so each counts by itself.
 */
export function callerOf(caller: Identity | undefined): object | string {
  return caller ? `http ${caller.name}` : {};
}
