import { GjallarError } from '../errors.js';
import type { Accounts, Identity } from './identity.js';

/** Tokens that are no longer accepted: one by its id, or all that were issued before a time, of one user or of all. */
export interface Revocation {
  /** Names the tokens: `jti:…`, `user:…` or `all`. A later revocation with the same id replaces this one. */
  id: string;
  /** Tokens issued before this time are revoked, in ms since 1970; undefined for one with a token's id. */
  before?: number;
  /** When it was revoked, in ms since 1970. */
  at: number;
  /** When the tokens have expired by themselves, in ms since 1970. The revocation is forgotten then. */
  expires: number;
}

/**
 * Where revocations are kept, for all workers and machines. An implementation must keep them over restarts, and must
 * reject in bounded time if it cannot be reached.
 */
export interface RevocationStore {
  all(): Promise<Revocation[]>;
  put(revocation: Revocation): Promise<void>;
  remove(ids: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** How many revocations are kept. */
export const MAX_REVOCATIONS = 10_000;

/** How long a client waits for the first read of the store, in ms. */
const MAX_WAIT_MS = 5000;

const ALL = 'all';
export const idOfToken = (tokenId: string): string => `jti:${tokenId}`;
export const idOfUser = (user: string): string => `user:${user}`;
export const idOfAll = ALL;

/** The revocations as this worker knows them. Checks need no access to the store. */
export class RevokedTokens {
  private known: ReadonlyMap<string, Revocation> | undefined;
  private reading: Promise<void> | undefined;
  /** Called once the store was read. */
  private readonly waiting = new Set<() => void>();

  /** @param onChange called after each read */
  constructor(
    private readonly store: RevocationStore,
    private readonly onChange: () => void,
  ) {}

  /** Whether the store could be read at some time. */
  get isKnown(): boolean {
    return this.known !== undefined;
  }

  /** Resolves when the store was read for the first time, or after a timeout. */
  async whenKnown(): Promise<void> {
    if (this.isKnown) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, MAX_WAIT_MS);
      this.waiting.add(done);
    });
  }

  list(): Revocation[] {
    return [...(this.known?.values() ?? [])];
  }

  /** Reads the store. Reads that are asked for meanwhile share the next one. */
  async read(): Promise<void> {
    await this.reading?.catch(() => {});
    this.reading ??= this.readNow().finally(() => {
      this.reading = undefined;
    });
    return this.reading;
  }

  /** @throws GjallarError REVOCATIONS_FULL */
  async revoke(revocation: Revocation): Promise<Revocation> {
    await this.read();
    const earlier = this.known!.get(revocation.id);
    if (!earlier && this.known!.size >= MAX_REVOCATIONS) throw new GjallarError('REVOCATIONS_FULL');
    const { before } = revocation;
    // A repetition must not allow what was revoked.
    const merged = earlier
      ? {
          ...revocation,
          ...(before !== undefined && { before: Math.max(before, earlier.before ?? 0) }),
          expires: Math.max(revocation.expires, earlier.expires),
        }
      : revocation;
    await this.store.put(merged);
    await this.read();
    return merged;
  }

  /** Accepts the tokens again. */
  async lift(id: string): Promise<void> {
    await this.store.remove([id]);
    await this.read();
  }

  isRevoked({ name, tokenId, issued = 0 }: Pick<Identity, 'name' | 'tokenId' | 'issued'>): boolean {
    const { known } = this;
    if (!known || known.size === 0) return false;
    if (tokenId !== undefined && known.has(idOfToken(tokenId))) return true;
    return [idOfUser(name), ALL].some((id) => issued < (known.get(id)?.before ?? 0));
  }

  /** @throws GjallarError TOKEN_REVOKED; ACCOUNTS_UNAVAILABLE if the store could never be read */
  check(identity: Identity): void {
    if (!this.isKnown) {
      throw new GjallarError(
        'ACCOUNTS_UNAVAILABLE',
        'The token cannot be checked because the server could not read the list of revoked tokens. Try again later.',
      );
    }
    if (this.isRevoked(identity)) throw new GjallarError('TOKEN_REVOKED');
  }

  private async readNow(): Promise<void> {
    const all = await this.store.all();
    const now = Date.now();
    const over = all.filter(({ expires }) => expires <= now);
    if (over.length > 0) await this.store.remove(over.map(({ id }) => id));
    this.known = new Map(all.flatMap((one) => (one.expires > now ? [[one.id, one]] : [])));
    for (const done of [...this.waiting]) done();
    this.onChange();
  }
}

/** Accounts whose tokens can be revoked. */
export class RevocableAccounts implements Accounts {
  constructor(
    private readonly accounts: Accounts,
    private readonly revoked: RevokedTokens,
  ) {}

  get userClaim(): string {
    return this.accounts.userClaim;
  }

  async identify(token: unknown): Promise<Identity> {
    const identity = await this.accounts.identify(token);
    // Right after its start, the server may still be connecting to the store.
    await this.revoked.whenKnown();
    this.revoked.check(identity);
    return identity;
  }
}
