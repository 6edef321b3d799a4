import { once } from 'node:events';
import { type Frame, FrameReader } from '../../../support/frames.js';
import { RawConnection } from '../../support/tcp.js';

export { clientFrame, closePayload, frameHead, opcodes } from '../../../support/frames.js';

const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';

/** The head of a request for a WebSocket. */
export const handshake = (path = '/', ...headers: string[]): string =>
  [
    `GET ${path} HTTP/1.1`,
    'Host: x',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${KEY}`,
    ...headers,
    '\r\n',
  ].join('\r\n');

/** A WebSocket of which a test writes each byte. */
export class RawWebSocket {
  readonly frames: Frame[] = [];
  private readonly reader = new FrameReader();
  private head = '';

  private constructor(readonly connection: RawConnection) {
    connection.socket.on('data', (data: Buffer) => this.onData(data));
  }

  /** Resolves when the response has come. */
  static async to(port: number, path?: string, ...headers: string[]): Promise<RawWebSocket> {
    const raw = new RawWebSocket(await RawConnection.to(port, false));
    raw.connection.write(handshake(path, ...headers));
    while (!raw.head.includes('\r\n\r\n')) await once(raw.connection.socket, 'data');
    return raw;
  }

  get response(): string {
    return this.head;
  }

  send(...parts: Buffer[]): this {
    this.connection.socket.write(Buffer.concat(parts));
    return this;
  }

  /** Resolves with the next frame that the server has sent. */
  async next(): Promise<Frame> {
    while (this.frames.length === 0) await once(this.connection.socket, 'data');
    return this.frames.shift()!;
  }

  /** Resolves once the server has ended the connection. */
  get closed(): Promise<string> {
    return this.connection.closed;
  }

  private onData(data: Buffer): void {
    if (this.head.includes('\r\n\r\n')) return void this.frames.push(...this.reader.push(data));
    this.head += data.toString('latin1');
    const end = this.head.indexOf('\r\n\r\n');
    if (end === -1) return;
    const rest = Buffer.from(this.head.slice(end + 4), 'latin1');
    this.head = this.head.slice(0, end + 4);
    this.frames.push(...this.reader.push(rest));
  }
}
