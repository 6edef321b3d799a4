import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { GjallarError } from '../../base/errors.js';
import type { Accounts, Identity } from './identity.js';
import { combine, isCovered, isInForce, type Revocation, type RevocationRecord } from './revocation-record.js';

/** How many revocations are kept. */
export const MAX_REVOCATIONS = 10_000;
/** How far the clock of a caller or of the issuer of tokens may be ahead, in ms. */
export const CLOCK_MS = 60_000;
/** How long a client waits for the first read of the store, in ms. */
const MAX_WAIT_MS = 5000;
/** How long a worker without a list waits for others to write theirs into an empty store, in ms. */
const EMPTY_WAIT_MS = 2000;
/** How long an expired record stays in the store, in ms, because the clocks of machines differ. */
const CLOCKS_MS = 3_600_000;
/** How often a change is attempted whose fields others change at the same time. */
const MAX_ATTEMPTS = 5;

export const idOfAll = 'all';
export const idOfToken = (tokenId: string): string => `jti:${tokenId}`;
export const idOfUser = (user: string): string => `user:${user}`;

/** A field becomes `to`, unless another caller has changed it since it was `from`. Undefined means that there is no field. */
export type FieldChange = readonly [field: string, from: string | undefined, to: string | undefined];

/** Where revocations are kept, for all workers and machines: texts by field. It must reject in bounded time. */
export interface RevocationStore {
  read(): Promise<ReadonlyMap<string, string>>;
  /** Makes the changes. Resolves with whether all fields were still what the caller had read. */
  replace(changes: readonly FieldChange[]): Promise<boolean>;
  /** Calls back each time the store can be reached again. */
  onReturn?(listener: () => void): void;
  close?(): void;
}

/** The field that names the list. A store that was emptied has none, and one that was filled again has another. */
const GENERATION = 'generation';

/** The change that gives the list another name, in the form of a revocation of nothing. */
export function newGeneration(from?: string): FieldChange {
  const value = randomBytes(12).toString('base64url');
  return [GENERATION, from, JSON.stringify({ id: GENERATION, value, at: 0, expires: Number.MAX_SAFE_INTEGER })];
}

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

/** The list of revocations, which this worker holds in its memory and the store keeps. Checks need only the memory. */
export class RevokedTokens {
  /** Whether the store has lost records that could not be written back yet. */
  isBehind = false;
  /** By id, with those that were lifted; undefined until the store was read. */
  private records: ReadonlyMap<string, RevocationRecord> | undefined;
  private generation: string | undefined;
  private inForce: ReadonlyMap<string, Revocation> = new Map();
  /** When the store was found without a list, on the clock of `performance.now()`. */
  private emptySince: number | undefined;
  private turn: Promise<unknown> = Promise.resolve();
  private nextRead: Promise<unknown> | undefined;
  private onFirstRead = () => {};
  private readonly firstRead = new Promise<void>((resolve) => {
    this.onFirstRead = resolve;
  });

  constructor(
    private readonly store: RevocationStore,
    private readonly events: RevocationEvents,
  ) {}

  /** Whether the store could be read at some time. */
  get isKnown(): boolean {
    return this.records !== undefined;
  }

  /** Resolves when the store was read for the first time, or after a timeout. */
  async whenKnown(): Promise<void> {
    if (!this.isKnown) await Promise.race([this.firstRead, wait(MAX_WAIT_MS, undefined, { ref: false })]);
  }

  list(): Revocation[] {
    return [...this.inForce.values()].map(withoutLift);
  }

  isRevoked({ name, tokenId, issued = 0 }: Pick<Identity, 'name' | 'tokenId' | 'issued'>): boolean {
    const { inForce } = this;
    if (tokenId !== undefined && inForce.has(idOfToken(tokenId))) return true;
    // A token from the future does not say when it was issued.
    const at = issued > Date.now() + CLOCK_MS ? 0 : issued;
    return [idOfUser(name), idOfAll].some((id) => at < (inForce.get(id)?.before ?? 0));
  }

  /** @throws GjallarError TOKEN_REVOKED; ACCOUNTS_UNAVAILABLE if the store could never be read */
  check(identity: Identity): void {
    this.known();
    if (this.isRevoked(identity)) throw new GjallarError('TOKEN_REVOKED');
  }

  private known(): ReadonlyMap<string, RevocationRecord> {
    if (this.records) return this.records;
    throw new GjallarError(
      'ACCOUNTS_UNAVAILABLE',
      'The token cannot be checked because the server could not read the list of revoked tokens. Try again later.',
    );
  }

  /** @throws GjallarError REVOCATIONS_FULL, ACCOUNTS_UNAVAILABLE */
  async revoke(revocation: Revocation): Promise<Revocation> {
    const written = await this.write(revocation.id, (earlier) => {
      const isNew = !earlier || !isInForce(earlier);
      if (isNew && this.inForce.size >= MAX_REVOCATIONS) throw new GjallarError('REVOCATIONS_FULL');
      // The clock of the worker that lifted the earlier one may be ahead. A repetition must not allow what was revoked.
      return combine({ ...revocation, at: Math.max(revocation.at, (earlier?.lifted ?? 0) + 1) }, earlier);
    });
    return withoutLift(written!);
  }

  /** Accepts the tokens again. Without such a revocation, it does nothing. */
  async lift(id: string): Promise<void> {
    await this.write(id, (earlier) => {
      if (!earlier || !isInForce(earlier)) return undefined;
      if (this.known().size - this.inForce.size >= MAX_REVOCATIONS) throw new GjallarError('REVOCATIONS_FULL');
      return combine({ ...earlier, lifted: Math.max(Date.now(), earlier.at) });
    });
  }

  /** Writes one record. `next` gets the present one, and returns undefined if there is nothing to write. */
  private async write(id: string, next: NextRecord) {
    await this.read();
    await this.whenKnown();
    this.known();
    return this.inTurn(() => this.sync(id, next));
  }

  /** Reads the store, and gives it back what it has lost. Reads that are asked for meanwhile share the next one. */
  async read(): Promise<void> {
    this.nextRead ??= this.inTurn(() => {
      this.nextRead = undefined;
      return this.sync();
    });
    await this.nextRead;
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.turn.then(work);
    this.turn = result.catch(() => {});
    return result;
  }

  /** Reads the store, gives it back what it has lost, and writes the next record of one id. */
  private async sync(id = '', next: NextRecord = () => undefined): Promise<RevocationRecord | undefined> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const fields = await this.store.read();
      const generation = fields.get(GENERATION);
      if (!this.records && generation === undefined && this.mayOthersKnow()) return undefined;
      const { records, missing, expired } = this.compare(fields);
      const isLost = this.records !== undefined && (missing.length > 0 || generation !== this.generation);
      if (isLost && !this.isBehind) this.events.onLoss?.(missing.length);
      this.isBehind ||= isLost;
      // What this worker knows holds, whether or not it can be written.
      if (isLost) this.adopt(records);
      const record = next(records.get(id));
      if (record) records.set(id, record);
      const changes = [...new Set(record ? [...missing, id] : missing)].map(
        (field): FieldChange => [field, fields.get(field), JSON.stringify(records.get(field))],
      );
      // A new generation tells the other workers of the loss, unless another one has done it. It comes last: until then, the
      // list may be incomplete.
      const isTold = generation !== undefined && !(isLost && generation === this.generation);
      if (!isTold) changes.push(newGeneration(generation));
      if (changes.length > 0 && !(await this.store.replace(changes))) continue;
      this.generation = isTold ? generation : changes.at(-1)![2];
      this.adopt(records);
      if (this.isBehind) this.events.onRestored?.(changes.length > 0);
      this.isBehind = false;
      // A store that cannot be written to at present can still be read.
      if (expired.length > 0) await this.store.replace(expired).catch(() => {});
      return record;
    }
    throw new Error('the list of revoked tokens was changed by others at the same time');
  }

  /** Whether another worker may still write its list into the empty store. */
  private mayOthersKnow(): boolean {
    if (this.emptySince === undefined) this.events.onEmpty?.();
    this.emptySince ??= performance.now();
    return performance.now() - this.emptySince < EMPTY_WAIT_MS;
  }

  /**
   * What this worker and the store know together, what the store lacks of it, and what it has for too long. A field never
   * weakens or disappears before its time: otherwise the store was emptied, or restored from an older snapshot.
   */
  private compare(fields: ReadonlyMap<string, string>) {
    const now = Date.now();
    const records = new Map([...(this.records ?? [])].filter(([, { expires }]) => expires > now));
    const expired: FieldChange[] = [];
    const stored = new Map<string, RevocationRecord>();
    for (const [field, from] of fields) {
      if (field === GENERATION) continue;
      const record = JSON.parse(from) as RevocationRecord;
      stored.set(field, record);
      if (record.expires > now) records.set(field, combine(record, records.get(field)));
      else if (record.expires + CLOCKS_MS <= now) expired.push([field, from, undefined]);
    }
    const missing = [...records.keys()].filter((id) => !isCovered(records.get(id)!, stored.get(id)));
    return { records, missing, expired };
  }

  private adopt(records: ReadonlyMap<string, RevocationRecord>): void {
    this.records = new Map(records);
    const inForce = new Map<string, Revocation>();
    for (const record of records.values()) if (isInForce(record)) inForce.set(record.id, record);
    this.inForce = inForce;
    this.onFirstRead();
    this.events.onChange();
  }
}

/** The next record of an id. It gets the present one, and returns undefined if there is nothing to write. */
type NextRecord = (earlier: RevocationRecord | undefined) => RevocationRecord | undefined;
const withoutLift = ({ lifted: _, ...revocation }: RevocationRecord): Revocation => revocation;

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
