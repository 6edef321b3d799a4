import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Step } from './plan.js';

const SLOW_PART = 30_000;
const WRITE = 50_000;

/** Does with each request what its step says. Emits `ID seen` and, once the request is over, `ID over`. */
export class Application extends EventEmitter {
  private readonly steps = new Map<string, Step>();

  expect(id: string, step: Step): void {
    this.steps.set(id, step);
  }

  readonly listener: RequestListener = (message, response) => {
    const id = message.url!.slice(1);
    const step = this.steps.get(id)!;
    this.steps.delete(id);
    message.on('error', () => {});
    response.on('error', () => {});
    response.on('close', () => this.emit(`${id} over`, { isFinished: response.writableFinished }));
    this.emit(`${id} seen`);
    if (step.answers === 'at once' && step.reads === 'fast') this.answerAtOnce(message, response, step);
    else void this.answer(message, response, step);
  };

  private answerAtOnce(message: IncomingMessage, response: ServerResponse, step: Step): void {
    let length = 0;
    message.on('data', (part: Buffer) => {
      length += part.length;
    });
    message.on('end', () => void this.write(response, step, length));
  }

  private async answer(message: IncomingMessage, response: ServerResponse, step: Step): Promise<void> {
    try {
      const length = await lengthRead(message, step);
      if (step.answers === 'later') for (let turn = 0; turn < 3; turn++) await nextTurn();
      await this.write(response, step, length);
    } catch {
      // The client has disconnected.
    }
  }

  private async write(response: ServerResponse, step: Step, length: number): Promise<void> {
    const { status, size, isLengthKnown, closes } = step;
    const text = `read ${length}:`;
    if (closes === 'server') response.setHeader('Connection', 'close');
    if (isLengthKnown && status !== 204 && status !== 304) response.setHeader('Content-Length', text.length + size);
    response.writeHead(status);
    if (size <= WRITE) return void response.end(text + 'x'.repeat(size));
    response.write(text);
    for (let left = size; left > 0; left -= WRITE) {
      if (response.destroyed) return;
      if (!response.write('x'.repeat(Math.min(left, WRITE)))) {
        await Promise.race([once(response, 'drain'), once(response, 'close')]);
      }
    }
    response.end();
  }
}

/** Reads as the step says. What of a body is read in part depends on the network, so it does not count. */
async function lengthRead(message: IncomingMessage, { reads, body }: Step): Promise<number> {
  if (reads === 'never') return 0;
  if (reads === 'part') {
    if (body > 0) await once(message, 'readable').then(() => message.read(1));
    return 0;
  }
  let length = 0;
  let pause = 0;
  for await (const part of message) {
    length += (part as Buffer).length;
    if (reads === 'slow') for (; pause < length; pause += SLOW_PART) await nextTurn();
  }
  return length;
}
