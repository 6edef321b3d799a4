import type { Accounts, Identity } from '../accounts/identity.js';
import { GjallarError } from '../errors.js';
import { readName } from './input.js';

/**
 * Who somebody is: what the token says where tokens are asked for, else what they say themselves.
 * @param unique names who gives no name
 * @throws GjallarError BAD_NAME, TOKEN_…, ACCOUNTS_UNAVAILABLE
 */
export async function identify(
  accounts: Accounts | undefined,
  { name, token }: { name?: unknown; token?: unknown },
  unique: string,
): Promise<Identity> {
  if (accounts) return identifyByToken(accounts, token);
  return { name: name === undefined ? `guest-${unique.slice(0, 6)}` : readName(name), grant: {} };
}

export async function identifyByToken(accounts: Accounts, token: unknown): Promise<Identity> {
  const identity = await accounts.identify(token);
  try {
    return { ...identity, name: readName(identity.name) };
  } catch {
    throw new GjallarError('TOKEN_INVALID', 'The name in the token (name, else sub) is none that the chat accepts.');
  }
}
