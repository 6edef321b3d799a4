import type { Namespace } from 'socket.io';
import { hasOthers } from '../../rooms/index.js';
import type { Answer, Message, Question } from './messages.js';

/** The event between workers. */
const EVENT = 'gjallar:state';

interface Asked {
  /** The workers whose answers are missing. */
  readonly missing: Set<string>;
  readonly answers: Answer[];
  finish(): void;
}

/** A question without its number. */
type NewQuestion = Question extends infer Each ? (Each extends Question ? Omit<Each, 'id'> : never) : never;

/**
 * The messages of state rooms between the workers and machines that share a namespace, over any adapter. Answers are sent
 * to all: adapters gather acknowledgements, and wait in vain for a process that has no state rooms.
 */
export class Channel {
  private readonly asked = new Map<number, Asked>();
  private listener: ((message: unknown) => void) | undefined;
  private questions = 0;
  private isClosed = false;

  constructor(private readonly nsp: Namespace) {}

  /** Whether the adapter reaches other workers. */
  get hasOthers(): boolean {
    return hasOthers(this.nsp.adapter);
  }

  listen(listener: (message: unknown) => void): void {
    this.listener = listener;
    this.nsp.on(EVENT as never, listener as never);
  }

  close(): void {
    this.isClosed = true;
    if (this.listener) this.nsp.off(EVENT as never, this.listener as never);
    for (const { finish } of [...this.asked.values()]) finish();
  }

  send(message: Message): void {
    if (this.hasOthers && !this.isClosed) this.nsp.serverSideEmit(EVENT, message);
  }

  /**
   * Asks other workers.
   * @param expected resolves as soon as these have answered; with none of them, only after the time
   * @param maxWaitMs resolves after this time in any case
   */
  ask(question: NewQuestion, expected: Iterable<string>, maxWaitMs: number): Promise<readonly Answer[]> {
    if (this.isClosed) return Promise.resolve([]);
    const id = ++this.questions;
    return new Promise((resolve) => {
      const answers: Answer[] = [];
      const finish = () => {
        clearTimeout(timer);
        this.asked.delete(id);
        resolve(answers);
      };
      const timer = setTimeout(finish, maxWaitMs);
      this.asked.set(id, { missing: new Set(expected), answers, finish });
      this.send({ ...question, id } as Question);
    });
  }

  /** An answer for this worker has arrived. */
  answered(answer: Answer): void {
    const asked = this.asked.get(answer.id);
    if (!asked) return;
    asked.answers.push(answer);
    if (asked.missing.delete(answer.node) && asked.missing.size === 0) asked.finish();
  }
}
