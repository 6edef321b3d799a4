import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { GjallarError } from '../../base/errors.js';
import type { StateRoom } from '../../features/state/index.js';
import type { MachineWorker } from '../../host/index.js';
import type { Identity } from './identity.js';
import { combine, isCovered, isInForce, type Revocation, type RevocationRecord } from './revocation-record.js';
import type { RevocationStore } from './revocation-stores.js';

/** How many revocations are kept. */
export const MAX_REVOCATIONS = 10_000;
/** How far the clock of a caller or of the issuer of tokens may be ahead, in ms. */
export const CLOCK_MS = 60_000;
/** How long a client waits for the first read of the store, and a worker without a list for those of others, in ms. */
const [MAX_WAIT_MS, EMPTY_WAIT_MS] = [5000, 2000];
/** How long an expired record stays in the store, because the clocks of machines differ, and the longest `ttl` of a key, in ms. */
const [CLOCKS_MS, MAX_TTL_MS] = [3_600_000, 31_536_000_000];
/** How often the store is read: in case it lost something, while it fails, and before the first read, in ms. */
const [INTERVAL_MS, FAILED_MS, FIRST_MS] = [15_000, 3000, 200];
/** How long the first read may fail, because Redis is being connected, before that is reported, in ms. */
const GRACE_MS = 2000;
/** How long a loss stays among the problems, in ms: the store works, but the operator must look. */
const SHOWN_MS = 3_600_000;
const LOST = {
  code: 'REVOCATIONS_LOST',
  text: 'the list of revoked tokens was lost: workers write back what they know, and revocations may be missing',
} as const;

/**
 * The id of the record that counts in `at` how often the store has lost something, and has the time of the last loss in `before`.
 * A store that was emptied has none.
 */
const LOSSES = 'losses';
/** A key of a state room is short; the id of a token need not be. */
const keyOf = (text: string) => createHash('sha256').update(text).digest('base64url');
const withoutLift = ({ lifted: _, ...revocation }: RevocationRecord): Revocation => revocation;

/**
 * The list of revoked tokens. Checks need only the memory of this worker, which a state room keeps the same on all workers and
 * machines. The store outlives them, and gets back what it loses. Until it was read, no token is accepted.
 */
export class RevokedTokens {
  isKnown = false;
  /** By id, with those that were lifted. */
  private readonly records = new Map<string, RevocationRecord>();
  /** What the store has had. */
  private stored = new Map<string, RevocationRecord>();
  /** Whether the store lacks what it had. */
  isBehind = false;
  private problem: string | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;
  private turn: Promise<unknown> = Promise.resolve();
  private readonly startedAt = performance.now();
  private emptySince: number | undefined;
  private onFirstRead = () => {};
  private readonly firstRead = new Promise<void>((resolve) => {
    this.onFirstRead = resolve;
  });

  /** @param onChange called when tokens may have been revoked */
  constructor(
    private readonly store: RevocationStore,
    private readonly room: StateRoom<RevocationRecord>,
    private readonly reports: Pick<MachineWorker['reports'], 'log' | 'problems'>,
    onChange: () => void,
  ) {
    room.on('change', (keys) => {
      for (const record of keys.map((key) => room.get(key))) if (record) this.learn(record, record);
      if (this.isBehind) this.refresh();
      onChange();
    });
    store.onReturn?.(() => this.refresh());
    this.refresh();
  }

  list(): Revocation[] {
    const now = Date.now();
    const all = [...this.records.values()].filter((record) => isInForce(record) && record.expires > now);
    return all.filter(({ id }) => id !== LOSSES).map(withoutLift);
  }

  isRevoked({ name, tokenId, issued = 0 }: Pick<Identity, 'name' | 'tokenId' | 'issued'>): boolean {
    if (tokenId !== undefined && this.inForce(`jti:${tokenId}`)) return true;
    // A token from the future does not say when it was issued.
    const at = issued > Date.now() + CLOCK_MS ? 0 : issued;
    return [`user:${name}`, 'all'].some((id) => at < (this.inForce(id)?.before ?? 0));
  }

  private inForce(id: string): Revocation | undefined {
    const record = this.records.get(id);
    return record && isInForce(record) && record.expires > Date.now() ? record : undefined;
  }

  /** What an identity counts as. @throws GjallarError TOKEN_REVOKED; ACCOUNTS_UNAVAILABLE if the store could never be read */
  async accept(identity: Identity): Promise<Identity> {
    // Right after its start, the server may still be connecting to the store.
    if (!this.isKnown) await this.whenKnown();
    if (this.isRevoked(identity)) throw new GjallarError('TOKEN_REVOKED');
    const { issued } = identity;
    // A token that was seen now was issued before, whatever it says. A later revocation must reach its connection.
    return issued === undefined ? identity : { ...identity, issued: Math.min(issued, Date.now()) };
  }

  private async whenKnown(): Promise<void> {
    await Promise.race([this.firstRead, wait(MAX_WAIT_MS, undefined, { ref: false })]);
    if (this.isKnown) return;
    throw new GjallarError(
      'ACCOUNTS_UNAVAILABLE',
      'The token cannot be checked because the server could not read the list of revoked tokens. Try again later.',
    );
  }

  /** @throws GjallarError REVOCATIONS_FULL, ACCOUNTS_UNAVAILABLE */
  async revoke(revocation: Revocation): Promise<Revocation> {
    await this.write(revocation.id, (earlier) => {
      if (!this.inForce(revocation.id) && this.list().length >= MAX_REVOCATIONS)
        throw new GjallarError('REVOCATIONS_FULL');
      // The clock of the worker that lifted the earlier one may be ahead. A repetition must not allow what was revoked.
      return { ...revocation, at: Math.max(revocation.at, (earlier?.lifted ?? 0) + 1) };
    });
    return withoutLift(this.records.get(revocation.id)!);
  }

  /** Accepts the tokens again. A repetition does nothing. @throws GjallarError NOT_FOUND, REVOCATIONS_FULL */
  async lift(id: string): Promise<void> {
    await this.write(id, (earlier) => {
      if (!earlier || id === LOSSES) {
        throw new GjallarError(
          'NOT_FOUND',
          'There is no revocation with this id. GET /api/tokens/revocations lists them.',
        );
      }
      if (!this.inForce(id)) return undefined;
      if (this.records.size - this.list().length > MAX_REVOCATIONS) throw new GjallarError('REVOCATIONS_FULL');
      return { ...earlier, lifted: Math.max(Date.now(), earlier.at) };
    });
  }

  /** Writes one record. `next` gets the present one, and returns undefined if there is nothing to write. */
  private async write(id: string, next: (earlier?: RevocationRecord) => RevocationRecord | undefined): Promise<void> {
    await this.read();
    await this.whenKnown();
    await this.inTurn(async () => {
      const record = next(this.records.get(id));
      if (record) await this.sync(combine(record, this.records.get(id)));
    });
  }

  /** Reads the store, and gives it back what it has lost. */
  read(): Promise<void> {
    return this.inTurn(() => this.sync());
  }

  private inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.turn.then(work);
    this.turn = done.catch(() => {});
    return done;
  }

  /** Reads the store, and writes what it lacks, and one more record. */
  private async sync(next?: RevocationRecord): Promise<void> {
    const { records, store } = this;
    const fields = Array.from(
      await store.read(),
      ([field, text]) => [field, JSON.parse(text) as RevocationRecord] as const,
    );
    const now = Date.now();
    for (const [id, { expires }] of records) if (expires <= now) records.delete(id);
    const stored = new Map<string, RevocationRecord>();
    for (const [, one] of fields) if (one.expires > now) stored.set(one.id, combine(one, stored.get(one.id)));
    const isMissing = (one: RevocationRecord) => one.expires > now && !isCovered(one, stored.get(one.id));
    const lost = [...this.stored.values()].filter(isMissing);
    const isEmpty = !stored.has(LOSSES);
    const losses = records.get(LOSSES);
    const isLost = store.hasLost?.() || (losses && (lost.length > 0 || isEmpty));
    if (isLost && !this.isBehind) {
      this.noteLoss(lost.filter(({ id }) => id !== LOSSES).length);
      const count = Math.max(losses?.at ?? 0, stored.get(LOSSES)?.at ?? 0) + 1;
      this.learn({ id: LOSSES, at: count, before: now, expires: Number.MAX_SAFE_INTEGER });
    }
    // Another worker may still bring its list, unless no other machine shares the store.
    this.emptySince ??= performance.now();
    if (isEmpty && !losses && store.onReturn && performance.now() - this.emptySince < EMPTY_WAIT_MS) return;
    for (const record of stored.values()) this.learn(record);
    if (isEmpty && !losses) this.learn({ id: LOSSES, at: 1, expires: Number.MAX_SAFE_INTEGER });
    const missing = [...records.values(), ...(next ? [next] : [])].filter(isMissing);
    const added = new Map(missing.map((record) => JSON.stringify(record)).map((text) => [keyOf(text), text]));
    const ids = new Set(missing.map(({ id }) => id));
    const covered = fields.filter(([field, { id }]) => ids.has(id) && !added.has(field)).map(([field]) => field);
    if (missing.length > 0) await store.change(added, covered);
    for (const one of missing) stored.set(one.id, combine(one, stored.get(one.id)));
    this.stored = stored;
    if (next) this.learn(next);
    this.isKnown = true;
    this.onFirstRead();
    if (this.isBehind) this.reports.log.info({}, 'the list of revoked tokens was written back');
    this.isBehind = false;
    const expired = fields.filter(([, { expires }]) => expires + CLOCKS_MS <= now).map(([field]) => field);
    // A store that cannot be written to at present can still be read.
    if (expired.length > 0) await store.change(new Map(), expired).catch(() => {});
  }

  /** @param inRoom what the state room has, which is the newest value and not the widest one */
  private learn(record: RevocationRecord, inRoom?: RevocationRecord): void {
    const { records, room } = this;
    const { id } = record;
    const before = records.get(id);
    const known = combine(record, before);
    const isNew = !isCovered(record, before);
    if (isNew) records.set(id, known);
    const ttl = Math.min(Math.max(1, known.expires - Date.now()), MAX_TTL_MS);
    if (inRoom ? !isCovered(known, inRoom) : isNew) room.set(keyOf(id), known, { ttl });
    if (isNew && id === LOSSES) this.showLoss(known.before);
    if (before && id === LOSSES && known.at > before.at) this.noteLoss(0);
  }

  /** The store has lost something, or another worker has told so. */
  private noteLoss(missing: number): void {
    if (this.isBehind) return;
    this.isBehind = true;
    this.reports.log.error({ code: LOST.code, missing }, LOST.text);
  }

  /** Shows it for what is left of its time, also if this worker has started since. */
  private showLoss(since = 0): void {
    const left = since + SHOWN_MS - Date.now();
    if (left > 0) this.reports.problems.raise(LOST, { ...LOST, since }, Math.min(left, SHOWN_MS));
  }

  /** Reads the store, and again after a while. */
  private refresh(): void {
    const done = (error?: unknown) => {
      clearTimeout(this.timer);
      if (this.isClosed) return;
      const isStarting = !this.isKnown && performance.now() - this.startedAt < GRACE_MS;
      if (!isStarting) this.report(error);
      const wait = this.isKnown ? (error ? FAILED_MS : INTERVAL_MS) : FIRST_MS;
      this.timer = setTimeout(() => this.refresh(), wait).unref();
    };
    if (!this.isClosed) void this.read().then(() => done(), done);
  }

  private report(error: unknown): void {
    const { log, problems } = this.reports;
    const code = 'REVOCATIONS_UNAVAILABLE';
    const text = error === undefined ? undefined : this.effect;
    if (text === this.problem) return;
    problems.set(code, text);
    if (text) log.error({ code, error }, text);
    else log.info({ code }, `over: ${this.problem}`);
    this.problem = text;
  }

  private get effect(): string {
    if (!this.isKnown) return 'the revoked tokens cannot be read: no token is accepted';
    if (this.isBehind)
      return 'the revoked tokens cannot be written: workers that start now accept tokens that were revoked';
    return 'the revoked tokens cannot be read: tokens that are revoked now stay valid here';
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.store.close?.();
  }
}
