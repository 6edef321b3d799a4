import { nextTick } from '../../../base/clock.js';
import { GjallarError } from '../../../base/errors.js';
import { randomBytes } from '../../../base/random.js';
import { within } from '../../../base/within.js';
import type { KeyChange } from '../entries.js';
import type { FromSequencer, Request, ToSequencer } from '../sequencer/messages.js';
import { HybridClock } from '../version.js';
import type { Replica } from './replica.js';

/** How long the sequencer, which waits for Redis, is waited for when a room is closed, in ms. */
const MAX_CLOSE_MS = 6000;

/** The link of a worker to the sequencer of its machine. Messages arrive in order, or the sequencer is gone. */
export interface SequencerLink {
  /** Whether the sequencer is in this process, and answers within the call. */
  readonly isLocal: boolean;
  /** That of the sequencer, if it is in this process. */
  readonly clock?: HybridClock;
  /** Hands a message to the system at once. Returns false if the sequencer is not there. */
  send(message: ToSequencer): boolean;
  /** There is one listener. */
  listen(listener: { onHere(): void; onMessage(message: FromSequencer): void; onGone(): void }): void;
  close(): void;
}

export type SequencerReply = FromSequencer & { type: 'reply' };

interface Asked {
  readonly replica: Replica;
  readonly request: Request;
  resolve(reply: SequencerReply): void;
  reject(error: GjallarError): void;
}

/** What a worker says to the sequencer, and hears from it, for all its rooms. */
export class SequencerClient {
  /** Names this worker in what a sequencer has not numbered. */
  readonly node = randomBytes(9).toString('base64url');
  readonly clock: HybridClock;
  private readonly replicas = new Map<string, Replica>();
  private readonly asked = new Map<number, Asked>();
  private readonly changed = new Map<Replica, KeyChange[]>();
  private isHere = false;
  private isFlushDue = false;
  private numbers = 0;
  private catchingUp: Promise<void> | undefined;

  constructor(private readonly link: SequencerLink) {
    this.clock = link.clock ?? new HybridClock();
    link.listen({
      onHere: () => this.onHere(),
      onMessage: (message) => this.onMessage(message),
      onGone: () => this.onGone(),
    });
  }

  /** Whether the sequencer is in this process. */
  get isLocal(): boolean {
    return this.link.isLocal;
  }

  add(replica: Replica): void {
    this.replicas.set(replica.id, replica);
    if (this.isHere) this.link.send(replica.opening());
  }

  /** Resolves with how many changes the store of the room lacks, if this was the last worker that had it. */
  async remove(replica: Replica): Promise<number> {
    const reply = this.isHere ? within(MAX_CLOSE_MS, this.ask(replica, { type: 'close' })) : undefined;
    this.replicas.delete(replica.id);
    const { unwritten } = (await reply) ?? {};
    if (this.replicas.size === 0) this.link.close();
    return unwritten ?? 0;
  }

  /** Sends a change. Returns its number. */
  change(replica: Replica, change: KeyChange): number {
    const changes = this.changed.get(replica);
    if (changes) changes.push(change);
    else this.changed.set(replica, [change]);
    const number = ++this.numbers;
    if (this.link.isLocal) this.flush();
    else if (!this.isFlushDue) {
      this.isFlushDue = true;
      nextTick(() => this.flush());
    }
    return number;
  }

  /** The number that the next change or request has. */
  get nextNumber(): number {
    return this.numbers + 1;
  }

  /** Resolves with the reply. @throws GjallarError with its code, or OVERLOADED if the sequencer is gone */
  ask(replica: Replica, request: Request): Promise<SequencerReply> {
    this.flush();
    const id = ++this.numbers;
    return new Promise((resolve, reject) => {
      this.asked.set(id, { replica, request, resolve, reject });
      if (this.isHere) this.link.send({ ...request, room: replica.id, id });
    });
  }

  /** Resolves once this worker has what the others of the machine had changed before the call. */
  caughtUp(replica: Replica): Promise<void> {
    // Callers in one turn share a question.
    this.catchingUp ??= new Promise((resolve) => {
      nextTick(() => {
        this.catchingUp = undefined;
        this.ask(replica, { type: 'ping' }).then(() => resolve(), resolve as () => void);
      });
    });
    return this.catchingUp;
  }

  private flush(): void {
    this.isFlushDue = false;
    const last = this.numbers;
    for (const [replica, changes] of this.changed) {
      this.changed.delete(replica);
      // Otherwise the sequencer gets them when it is there again.
      if (this.isHere) this.link.send({ type: 'changes', room: replica.id, last, changes });
    }
  }

  private onHere(): void {
    this.isHere = true;
    this.changed.clear();
    const last = this.numbers;
    for (const replica of this.replicas.values()) {
      this.link.send(replica.opening());
      const changes = replica.own();
      if (changes.length > 0) this.link.send({ type: 'given', room: replica.id, changes, last });
    }
    for (const [id, { replica, request, resolve }] of this.asked) {
      // What a patch made of its key is among the changes already.
      if (request.type !== 'patch') this.link.send({ ...request, room: replica.id, id });
      else if (this.asked.delete(id)) resolve({ type: 'reply', room: replica.id, id });
    }
  }

  private onGone(): void {
    this.isHere = false;
    for (const [id, { request, resolve, reject, replica }] of this.asked) {
      // Its changes are among those that the next sequencer gets.
      if (request.type === 'patch' || request.type === 'close') resolve({ type: 'reply', room: replica.id, id });
      else if (request.type === 'compareAndSet') {
        reject(
          new GjallarError(
            'OVERLOADED',
            'The hub of the machine has ended before it answered. Read the key, and try again.',
          ),
        );
      } else continue;
      this.asked.delete(id);
    }
  }

  private onMessage(message: FromSequencer): void {
    if (message.type !== 'reply') return this.replicas.get(message.room)?.onMessage(message);
    const asked = this.asked.get(message.id);
    if (!asked) return;
    this.asked.delete(message.id);
    if (message.error === undefined) asked.resolve(message);
    else asked.reject(new GjallarError(message.error as GjallarError['code']));
  }

  send(message: ToSequencer): void {
    this.link.send(message);
  }
}
