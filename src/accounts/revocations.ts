import { GjallarError } from '../errors.js';
import type { Accounts, Identity } from './identity.js';
import { normalForm } from './normal-form.js';
import {
  type Comparison,
  changeOf,
  compareLists,
  decodeList,
  expired,
  GENERATION,
  type KnownList,
  restoring,
  type StoredList,
} from './revocation-list.js';
import { combine, isInForce, type Revocation, type RevocationRecord } from './revocation-record.js';
import type { RevocationStore } from './revocation-store.js';

/** How many revocations are kept. */
export const MAX_REVOCATIONS = 10_000;

/** How far the clock of a caller or of the issuer of tokens may be ahead, in ms. */
export const CLOCK_MS = 60_000;

/** How long a client waits for the first read of the store, in ms. */
const MAX_WAIT_MS = 5000;
/** How long a worker without a list waits for others to write theirs into an empty store, in ms. */
const EMPTY_WAIT_MS = 2000;
/** How often a change is attempted whose fields others change at the same time. */
const MAX_ATTEMPTS = 5;

const ALL = 'all';
export const idOfToken = (tokenId: string): string => `jti:${tokenId}`;
export const idOfUser = (user: string): string => `user:${user}`;
export const idOfAll = ALL;

export interface RevocationEvents {
  /** Called after each read. */
  onChange(): void;
  /** The store has lost records that this worker knows, or all. Called before they are written back. */
  onLoss?(records: number): void;
  /** The store has the records again. @param byThis whether this worker wrote them, so that others should read them */
  onRestored?(byThis: boolean): void;
  /** The store has no list, and neither has this worker: another one may have it. */
  onEmpty?(): void;
}

/** The revocations as this worker knows them. Checks need no access to the store. */
export class RevokedTokens {
  /** Undefined until the store was read. */
  private known: KnownList | undefined;
  /** Those of the list that are in force. */
  private inForce: ReadonlyMap<string, Revocation> = new Map();
  /** When the store was found without a list, on the clock of `performance.now()`. */
  private emptySince: number | undefined;
  private isRestoring = false;
  private reading: Promise<void> | undefined;
  /** Called once the store was read. */
  private readonly waiting = new Set<() => void>();

  constructor(
    private readonly store: RevocationStore,
    private readonly events: RevocationEvents,
  ) {}

  /** Whether the store could be read at some time. */
  get isKnown(): boolean {
    return this.known !== undefined;
  }

  /** Whether the store has lost records that could not be written back yet. */
  get isBehind(): boolean {
    return this.isRestoring;
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
    return [...this.inForce.values()].map(({ id, before, at, expires }) => ({
      id,
      ...(before !== undefined && { before }),
      at,
      expires,
    }));
  }

  /** Reads the store, and gives it back what it has lost. Reads that are asked for meanwhile share the next one. */
  async read(): Promise<void> {
    await this.reading?.catch(() => {});
    this.reading ??= this.readNow().finally(() => {
      this.reading = undefined;
    });
    return this.reading;
  }

  /** @throws GjallarError REVOCATIONS_FULL, ACCOUNTS_UNAVAILABLE */
  async revoke(revocation: Revocation): Promise<Revocation> {
    const written = await this.write(revocation.id, (earlier) => {
      if ((!earlier || !isInForce(earlier)) && this.inForce.size >= MAX_REVOCATIONS) {
        throw new GjallarError('REVOCATIONS_FULL');
      }
      // The clock of the worker that lifted the earlier one may be ahead.
      const at = Math.max(revocation.at, (earlier?.lifted ?? 0) + 1);
      // A repetition must not allow what was revoked.
      return combine({ ...revocation, at }, earlier);
    });
    const { lifted: _, ...stored } = written!;
    return stored;
  }

  /** Accepts the tokens again. Without such a revocation, it does nothing. */
  async lift(id: string): Promise<void> {
    await this.write(id, (earlier) => {
      if (!earlier || !isInForce(earlier)) return undefined;
      if (this.known!.records.size - this.inForce.size >= MAX_REVOCATIONS) throw new GjallarError('REVOCATIONS_FULL');
      return combine({ ...earlier, lifted: Math.max(Date.now(), earlier.at) });
    });
  }

  isRevoked({ name, tokenId, issued = 0 }: Pick<Identity, 'name' | 'tokenId' | 'issued'>): boolean {
    const { inForce } = this;
    if (inForce.size === 0) return false;
    if (tokenId !== undefined && inForce.has(idOfToken(tokenId))) return true;
    // A token from the future does not say when it was issued.
    const at = issued > Date.now() + CLOCK_MS ? 0 : issued;
    return [idOfUser(name), ALL].some((id) => at < (inForce.get(id)?.before ?? 0));
  }

  /** @throws GjallarError TOKEN_REVOKED; ACCOUNTS_UNAVAILABLE if the store could never be read */
  check(identity: Identity): void {
    this.requireKnown();
    if (this.isRevoked(identity)) throw new GjallarError('TOKEN_REVOKED');
  }

  private requireKnown(): void {
    if (this.isKnown) return;
    throw new GjallarError(
      'ACCOUNTS_UNAVAILABLE',
      'The token cannot be checked because the server could not read the list of revoked tokens. Try again later.',
    );
  }

  /** Writes one record. `next` gets the present one, and returns undefined if there is nothing to write. */
  private async write(
    id: string,
    next: (earlier: RevocationRecord | undefined) => RevocationRecord | undefined,
  ): Promise<RevocationRecord | undefined> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      await this.read();
      await this.whenKnown();
      this.requireKnown();
      const stored = decodeList(await this.store.read());
      const record = next(combinedOf(this.known!.records.get(id), stored.records.get(id)));
      if (!record) return undefined;
      if (await this.store.replace([changeOf(record, stored)])) {
        await this.read();
        return record;
      }
    }
    throw new Error(`the record ${id} was changed by others at the same time`);
  }

  private async readNow(): Promise<void> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const now = Date.now();
      const stored = decodeList(await this.store.read());
      if (!this.known && stored.generation === undefined && this.mayOthersKnow()) return;
      const comparison = compareLists(this.known, stored, now);
      if (!comparison.isLost && stored.generation !== undefined) {
        this.adopt(comparison, stored.generation);
        if (this.isRestoring) this.restored(false);
        await this.removeExpired(stored, now);
        return;
      }
      await this.restore(comparison, stored);
    }
    throw new Error('the list of revoked tokens was changed by others at the same time');
  }

  /** Whether another worker may still write its list into the empty store. */
  private mayOthersKnow(): boolean {
    if (this.emptySince === undefined) {
      this.emptySince = performance.now();
      this.events.onEmpty?.();
    }
    return performance.now() - this.emptySince < EMPTY_WAIT_MS;
  }

  private async restore(comparison: Comparison, stored: StoredList): Promise<void> {
    const { known } = this;
    if (known) {
      // What this worker knows holds, whether or not it can be written.
      this.adopt(comparison, known.generation);
      if (!this.isRestoring) this.events.onLoss?.(comparison.missing.length);
      this.isRestoring = true;
    }
    const changes = restoring(comparison, stored, known);
    if (changes.length > 0 && !(await this.store.replace(changes))) return;
    if (!known) return;
    const generation = changes.find(({ field }) => field === GENERATION)?.to ?? stored.generation!;
    this.known = { generation, records: comparison.records };
    this.restored(changes.length > 0);
  }

  private restored(byThis: boolean): void {
    this.isRestoring = false;
    this.events.onRestored?.(byThis);
  }

  private adopt({ records }: Comparison, generation: string): void {
    this.known = { generation, records };
    this.inForce = inForceOf(records.values());
    for (const done of [...this.waiting]) done();
    this.events.onChange();
  }

  /** A store that cannot be written to at present can still be read. */
  private async removeExpired(stored: StoredList, now: number): Promise<void> {
    const changes = expired(stored, now);
    if (changes.length > 0) await this.store.replace(changes).catch(() => {});
  }
}

/** Those in force. Earlier versions have stored names in other forms than {@link normalForm}. */
function inForceOf(records: Iterable<RevocationRecord>): Map<string, Revocation> {
  const found = new Map<string, Revocation>();
  for (const record of records) {
    if (!isInForce(record)) continue;
    const id = record.id.startsWith('user:') ? normalForm(record.id) : record.id;
    found.set(id, combine(record, found.get(id)));
  }
  return found;
}

function combinedOf(
  known: RevocationRecord | undefined,
  stored: RevocationRecord | undefined,
): RevocationRecord | undefined {
  return known ? combine(known, stored) : stored;
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
    const { issued } = identity;
    // A token that was seen now was issued before, whatever it says. A later revocation must reach its connection.
    return issued === undefined ? identity : { ...identity, issued: Math.min(issued, Date.now()) };
  }
}
