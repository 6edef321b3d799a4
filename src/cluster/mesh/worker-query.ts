import { MalformedMessage } from '../../base/errors.js';
import { own } from '../../base/owner.js';
import { Questions } from '../protocol.js';
import { kinds, type Mesh } from './mesh.js';

/** A question is a number of 4 bytes. Its answer starts with the same number. */
const QUESTION = 4;

/**
 * Asks every worker of this machine the same question. A worker that does not answer in time is left out, so a stuck
 * worker does not block the caller.
 */
export class WorkerQuery {
  private readonly questions = new Questions();

  /**
   * @param answer this worker's own answer, a value that JSON can express
   * @param isAnswer whether a value is an answer; others are dropped as malformed
   */
  constructor(
    private readonly mesh: Mesh,
    private readonly answer: () => Promise<unknown>,
    private readonly isAnswer: (value: unknown) => boolean,
  ) {
    mesh.listenTo(kinds.question, (from, payload) => {
      if (payload.length !== QUESTION) throw new MalformedMessage('a question has the wrong length');
      own('answering a question of another worker', this.reply(from, payload));
    });
    mesh.listenTo(kinds.answer, (from, payload) => {
      const answer = this.read(payload);
      this.questions.answered(from, payload.readUInt32LE(0), answer);
    });
  }

  /**
   * Resolves with the answers by worker, including this one. The value is undefined for a worker that did not answer.
   * @param timeoutMs how long to wait for the other workers
   */
  async ask(timeoutMs: number): Promise<Map<number, unknown>> {
    const { mesh } = this;
    const own = await this.answer();
    const others = await this.questions.ask(mesh.members, timeoutMs, (worker, id) => {
      const question = Buffer.alloc(QUESTION);
      question.writeUInt32LE(id);
      mesh.send(worker, kinds.question, question);
    });
    return new Map([[mesh.id, own], ...others]);
  }

  private read(payload: Buffer): unknown {
    try {
      const value = JSON.parse(payload.toString('utf8', QUESTION)) as unknown;
      if (payload.length >= QUESTION && this.isAnswer(value)) return value;
    } catch {
      // Malformed as well.
    }
    throw new MalformedMessage('an answer cannot be read');
  }

  private async reply(from: number, question: Buffer): Promise<void> {
    const answer = Buffer.from(JSON.stringify(await this.answer()));
    this.mesh.send(from, kinds.answer, Buffer.concat([question, answer]));
  }
}
