import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { late, pass } from '../../support/until.js';
import type { Application } from './application.js';
import type { Step } from './plan.js';
import { type Response, ResponseReader } from './responses.js';

/** What a client has seen of one request. */
export interface Outcome {
  readonly response?: { status: number; body: string; length: string | undefined };
  readonly continues?: number;
  /** Whether the application saw the response end, if the client has disconnected. */
  readonly isFinished?: boolean;
}

const SLOW_READ_MS = 1;

/** Sends the requests of a sequence on one connection, and on another one whenever one was closed as announced. */
export class SequenceClient {
  readonly outcomes: Outcome[] = [];
  private socket: Socket | undefined;
  private reader = new ResponseReader();
  private readonly waiting = new Set<() => void>();

  constructor(
    private readonly port: number,
    private readonly application: Application,
    private readonly name: string,
  ) {}

  async run(steps: readonly Step[]): Promise<Outcome[]> {
    try {
      for (let index = 0; index < steps.length; ) {
        let end = index + 1;
        while (steps[end]?.isPipelined) end++;
        await this.send(steps.slice(index, end), index);
        index = end;
      }
      return this.outcomes;
    } finally {
      this.socket?.destroy();
    }
  }

  /** Sends one request, or several at once, and waits for the responses. */
  private async send(steps: readonly Step[], first: number): Promise<void> {
    const ids = steps.map((_step, index) => `${this.name}-${first + index}`);
    for (const [index, step] of steps.entries()) this.application.expect(ids[index]!, step);
    const socket = this.socket ?? (await this.open());
    const [step] = steps as [Step];
    const [id] = ids as [string];
    if (step.aborts !== 'never') return void this.outcomes.push(await this.abort(socket, step, id));
    const before = this.reader.informational.length;
    const isSending = steps.length > 1 ? this.writeTogether(socket, steps, ids) : this.write(socket, step, id);
    for (const each of steps) {
      const response = await this.response(socket, each);
      const continues = this.reader.informational.length - before;
      this.outcomes.push({ response: shown(response, each), ...(each.expectsContinue && { continues }) });
      if (response.headers.connection === 'close') this.leave(socket);
    }
    await Promise.race([isSending, late('the rest of a request was not read')]);
  }

  private async writeTogether(socket: Socket, steps: readonly Step[], ids: readonly string[]): Promise<void> {
    socket.write(Buffer.concat(steps.flatMap((each, index) => [headOf(each, ids[index]!), bodyOf(each)])));
  }

  private async write(socket: Socket, step: Step, id: string): Promise<void> {
    const { pieces, expectsContinue } = step;
    if (expectsContinue) {
      socket.write(headOf(step, id));
      const { informational } = this.reader;
      const before = informational.length;
      // A response may come instead.
      while (informational.length === before && this.reader.received === 0 && this.socket) {
        await this.more(socket);
        this.reader.head();
      }
    }
    const bytes = expectsContinue ? bodyOf(step) : Buffer.concat([headOf(step, id), bodyOf(step)]);
    // uWebSockets.js may answer 505 if the request line arrives in parts.
    const first = expectsContinue ? 0 : bytes.indexOf('\n') + 1;
    const size = Math.ceil((bytes.length - first) / pieces);
    for (let at = first, from = 0; from < bytes.length && !socket.destroyed; from = at) {
      at = Math.min(bytes.length, at + size);
      const hasRoom = socket.write(bytes.subarray(from, at));
      if (pieces > 1) await nextTurn();
      if (!hasRoom) await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => {});
    }
  }

  /** Sends a part of the body, or reads a part of the response, and disconnects. */
  private async abort(socket: Socket, step: Step, id: string): Promise<Outcome> {
    const seen = once(this.application, `${id} seen`);
    const over = once(this.application, `${id} over`) as Promise<[Outcome]>;
    const bytes = Buffer.concat([headOf(step, id), bodyOf(step)]);
    const isInBody = step.aborts === 'in the body';
    socket.write(isInBody ? bytes.subarray(0, bytes.length - 500) : bytes);
    await Promise.race([seen, late(`${id} was not seen`)]);
    if (!isInBody) await nextTurn();
    socket.destroy();
    this.socket = undefined;
    if (!isInBody) return {};
    return Promise.race([over.then(([outcome]) => outcome), late(`${id}: the disconnection was not noticed`)]);
  }

  private async response(socket: Socket, step: Step): Promise<Response> {
    for (;;) {
      const response = this.reader.take(step.method === 'HEAD');
      if (response) return response;
      if (this.socket !== socket) throw new Error('the connection was closed without a response');
      if (step.isReaderSlow) {
        socket.pause();
        await pass(SLOW_READ_MS);
        socket.resume();
      }
      await this.more(socket);
    }
  }

  private async open(): Promise<Socket> {
    const socket = connect({ port: this.port, host: '127.0.0.1', noDelay: true });
    this.socket = socket;
    this.reader = new ResponseReader();
    socket.on('error', () => {});
    socket.on('data', (part) => {
      this.reader.add(part);
      this.wake();
    });
    socket.on('close', () => {
      if (this.socket === socket) this.socket = undefined;
      this.wake();
    });
    await once(socket, 'connect');
    return socket;
  }

  /** As a client does that is asked to. */
  private leave(socket: Socket): void {
    socket.destroy();
    this.socket = undefined;
  }

  private wake(): void {
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }

  private async more(socket: Socket): Promise<void> {
    if (this.socket !== socket) return;
    await Promise.race([new Promise<void>((resolve) => this.waiting.add(resolve)), late('a response')]);
  }
}

/** The parts of a response that do not depend on the server. */
function shown({ status, headers, body }: Response, step: Step): Outcome['response'] {
  const isCompared = step.method !== 'HEAD' && !mayBeEarly(step);
  return { status, body, length: isCompared ? headers['content-length'] : undefined };
}

/** The last response of a connection is sent in chunks if its client still sends a body. */
function mayBeEarly({ reads, framing, closes }: Step): boolean {
  return (reads === 'part' || reads === 'never') && (framing === 'chunked' || closes !== 'nobody');
}

function headOf(step: Step, id: string): Buffer {
  const lines = [`${step.method} /${id} HTTP/1.1`, 'Host: x'];
  if (step.framing === 'length') lines.push(`Content-Length: ${step.body}`);
  if (step.framing === 'chunked') lines.push('Transfer-Encoding: chunked');
  if (step.closes === 'client') lines.push('Connection: close');
  if (step.expectsContinue) lines.push('Expect: 100-continue');
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
}

function bodyOf({ framing, body }: Step): Buffer {
  const data = Buffer.alloc(body, 'b');
  if (framing === 'none') return Buffer.alloc(0);
  if (framing === 'length') return data;
  const parts: Buffer[] = [];
  const size = Math.max(1, Math.ceil(body / 3));
  for (let at = 0; at < body; at += size) {
    const chunk = data.subarray(at, at + size);
    parts.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}
