import { nextTick, performance } from '../../../base/clock.js';
import { GjallarError } from '../../../base/errors.js';
import { randomBytes } from '../../../base/random.js';
import { FeatureLink, type Wire } from '../../hub-link.js';
import type { KeyChange } from '../entries.js';
import type { FromSequencer, Request, ToSequencer } from '../sequencer/messages.js';
import { HybridClock } from '../version.js';
import type { Replica } from './replica.js';

/** How long the sequencer, which waits for Redis, is waited for when a room is closed, in ms. */
const MAX_CLOSE_MS = 6000;
/** How long a hub that has ended is waited for, in ms. */
const MAX_CATCH_UP_MS = 2000;

export type SequencerReply = FromSequencer & { type: 'reply' };

/** What a worker says to the sequencer of its machine, and hears from it, for all its rooms. */
export class SequencerClient extends FeatureLink<ToSequencer, FromSequencer> {
  /** Names this worker in what a sequencer has not numbered. */
  readonly node = randomBytes(9).toString('base64url');
  private readonly replicas = new Map<string, Replica>();
  private readonly changed = new Map<Replica, KeyChange[]>();
  private isFlushDue = false;
  private numbers = 0;
  private catchingUp: Promise<void> | undefined;

  /** @param clock that of the sequencer, if it is in this process */
  constructor(
    wire: Wire<ToSequencer, FromSequencer>,
    readonly clock = new HybridClock(),
  ) {
    super(wire);
    this.open();
  }

  add(replica: Replica): void {
    this.replicas.set(replica.id, replica);
    if (this.isHere) this.send(replica.opening());
  }

  /** Resolves with how many changes the store of the room lacks, if this was the last worker that had it. */
  async remove(replica: Replica): Promise<number> {
    const reply = this.isHere ? this.request(replica, { type: 'close' }, MAX_CLOSE_MS) : undefined;
    this.replicas.delete(replica.id);
    const { unwritten } = (await reply) ?? {};
    if (this.replicas.size === 0) this.close();
    return unwritten ?? 0;
  }

  /** Sends a change, with the next number. */
  change(replica: Replica, change: KeyChange): void {
    const changes = this.changed.get(replica);
    if (changes) changes.push(change);
    else this.changed.set(replica, [change]);
    this.numbers++;
    if (this.isLocal) this.flush();
    else if (!this.isFlushDue) {
      this.isFlushDue = true;
      nextTick(() => this.flush());
    }
  }

  /** The number that the next change has. */
  get nextNumber(): number {
    return this.numbers + 1;
  }

  /** Changes fields of a key, which this worker has changed already. Resolves at the latest when the sequencer is gone. */
  async patch(replica: Replica, fields: KeyChange): Promise<void> {
    this.postChanges();
    const number = ++this.numbers;
    // The next sequencer gets what the patch has made of its key, as all changes of this worker.
    if (this.isHere) await this.request(replica, { type: 'patch', number, changes: [fields] });
    else await this.here();
  }

  /** @throws GjallarError OVERLOADED if the sequencer is gone before it has answered */
  async compareAndSet(replica: Replica, expected: KeyChange, value: KeyChange): Promise<boolean> {
    const reply = await this.request(replica, { type: 'compareAndSet', changes: [expected, value] });
    if (reply) return reply.isDone === true;
    throw new GjallarError(
      'OVERLOADED',
      'The hub of the machine has ended before it answered. Read the key, and try again.',
    );
  }

  /** From which number a client continues that had everything of another machine at a time; undefined if that is not known. */
  async numberAt(replica: Replica, epoch: string, time: number): Promise<number | undefined> {
    return (await this.askAgain(replica, { type: 'continue', epoch, time }, MAX_CATCH_UP_MS))?.from;
  }

  /** Resolves once everything until now is stored, with the number of the last change that is. */
  async stored(replica: Replica): Promise<number> {
    return (await this.askAgain(replica, { type: 'stored' }))?.written ?? 0;
  }

  /** Resolves once this worker has what the others of the machine had changed before the call. */
  caughtUp(replica: Replica): Promise<void> {
    // Callers in one turn share a question.
    this.catchingUp ??= new Promise((resolve) => {
      nextTick(() => {
        this.catchingUp = undefined;
        this.askAgain(replica, { type: 'ping' }, MAX_CATCH_UP_MS).then(() => resolve(), resolve as () => void);
      });
    });
    return this.catchingUp;
  }

  /** Asks the next sequencer, too, if one is gone. */
  private async askAgain(replica: Replica, request: Request, ms = Number.POSITIVE_INFINITY) {
    const end = performance.now() + ms;
    for (;;) {
      const reply = await this.request(replica, request, end - performance.now());
      // It is there, and does not answer in time.
      if (reply || this.isHere || performance.now() >= end) return reply;
    }
  }

  /** Resolves with the reply; undefined if the sequencer is gone, or the time is over. @throws GjallarError with its code */
  private async request(replica: Replica, request: Request, ms?: number): Promise<SequencerReply | undefined> {
    this.postChanges();
    const reply = await this.ask<SequencerReply>({ ...request, room: replica.id }, ms);
    if (reply?.error !== undefined) throw new GjallarError(reply.error as GjallarError['code']);
    return reply;
  }

  protected postChanges(): void {
    this.isFlushDue = false;
    const last = this.numbers;
    for (const [replica, changes] of this.changed) this.post({ type: 'changes', room: replica.id, last, changes });
    this.changed.clear();
  }

  protected introduce(): void {
    this.changed.clear();
    const last = this.numbers;
    for (const replica of this.replicas.values()) {
      this.post(replica.opening());
      const changes = replica.own();
      if (changes.length > 0) this.post({ type: 'page', room: replica.id, changes, last });
    }
  }

  protected onMessage(message: FromSequencer): void {
    if (message.type !== 'reply') this.replicas.get(message.room)?.onMessage(message);
  }
}
