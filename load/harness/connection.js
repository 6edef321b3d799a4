import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';

/** How long anything may take that must come, in ms. */
const PATIENCE = 30_000;

/** A connection on which bytes are what one makes of them: nothing is checked on the way out. */
export class Connection {
  /** Whether the other side has ended it. */
  isClosed = false;
  socket;
  /** Whether what comes is thrown away. */
  isDiscarding = false;
  #bytes = Buffer.alloc(0);
  #wake;

  /** @param {number} port @param {string} [address] where it comes from */
  constructor(port, address) {
    this.socket = connect({ port, host: '127.0.0.1', localAddress: address, noDelay: true });
    this.socket.on('data', (chunk) => {
      if (this.isDiscarding) return;
      this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
      this.#wake?.();
    });
    this.socket.on('error', () => {});
    this.socket.on('close', () => {
      this.isClosed = true;
      this.#wake?.();
    });
  }

  /** @param {string | Buffer} bytes a string is taken for one byte per character */
  write(bytes) {
    if (!this.isClosed) this.socket.write(bytes, 'latin1');
    return this;
  }

  /**
   * Writes, and waits until there is room for more.
   * @returns {Promise<boolean>} false once the connection is closed, or when there is no room for `patience` ms
   */
  async send(bytes, patience = PATIENCE) {
    if (this.isClosed) return false;
    if (this.socket.write(bytes)) return true;
    const signal = AbortSignal.timeout(Math.max(1, Math.ceil(patience)));
    const events = ['drain', 'close'].map((event) => once(this.socket, event, { signal }));
    await Promise.race(events).catch(() => {});
    return !this.isClosed && !signal.aborted;
  }

  /** Reads on, and throws away what comes. */
  discard() {
    this.isDiscarding = true;
    return this;
  }

  /** Reads no more, so that the answers wait at the server. */
  stopReading() {
    this.socket.pause();
    return this;
  }

  end() {
    this.isClosed = true;
    this.socket.destroy();
  }

  /**
   * Reads what `take` makes of the bytes that are there; it returns undefined as long as there are too few.
   * @template T
   * @param {(bytes: Buffer) => { value: T, length: number } | undefined} take
   * @returns {Promise<T | undefined>} undefined once the connection has ended
   */
  async read(take, patience = PATIENCE) {
    for (;;) {
      const taken = take(this.#bytes);
      if (taken) {
        this.#bytes = this.#bytes.subarray(taken.length);
        return taken.value;
      }
      if (this.isClosed) return undefined;
      await this.#more(patience);
    }
  }

  #more(patience) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer within ${patience} ms`)), patience);
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve();
      };
    });
  }

  /** The next HTTP response; undefined where the connection ends instead. */
  response(patience) {
    return this.read(takeResponse, patience);
  }

  /** The next WebSocket frame; undefined where the connection ends instead. */
  frame(patience) {
    return this.read((bytes) => {
      const frame = takeFrame(bytes);
      return frame && { value: frame, length: frame.length };
    }, patience);
  }

  /** Resolves when the other side has ended the connection, whatever it sends before. */
  async ended(patience) {
    while (!this.isClosed)
      await this.read((bytes) => (bytes.length > 0 ? { length: bytes.length } : undefined), patience);
  }
}

function takeResponse(bytes) {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const [first, ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const headers = Object.fromEntries(lines.map((line) => [line.split(':')[0].toLowerCase(), line.split(/: */, 2)[1]]));
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1]);
  if (Number.isNaN(status)) throw new Error(`no HTTP response: ${first.slice(0, 100)}`);
  const body = end + 4;
  const length = Number(headers['content-length'] ?? 0);
  if (bytes.length < body + length) return undefined;
  return { value: { status, headers, body: bytes.toString('utf8', body, body + length) }, length: body + length };
}

/**
 * The first frame of what a server has sent: RFC 6455, section 5.2.
 * @param {Buffer} bytes
 * @returns {{ opcode: number, head: Buffer, payload: Buffer, length: number } | undefined} `length` is that of the whole
 *   frame; undefined where it is not there as a whole
 */
function takeFrame(bytes) {
  if (bytes.length < 2) return undefined;
  const short = bytes[1] & 127;
  const header = short === 127 ? 10 : short === 126 ? 4 : 2;
  if (bytes.length < header) return undefined;
  const payload = short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short;
  const length = header + payload;
  if (bytes.length < length) return undefined;
  return { opcode: bytes[0] & 15, head: bytes.subarray(0, header), payload: bytes.subarray(header, length), length };
}

/** An HTTP request. @param {Record<string, string | string[]>} headers */
export function request(method, path, headers = {}, body = '') {
  const lines = Object.entries(headers).flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${one}\r\n`));
  const bytes = Buffer.from(body);
  const length = bytes.length > 0 ? `Content-Length: ${bytes.length}\r\n` : '';
  return Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\nHost: x\r\n${lines.join('')}${length}\r\n`, 'latin1'),
    bytes,
  ]);
}

/** The request for a WebSocket. */
export function upgradeRequest(path, headers = {}) {
  return request('GET', path, {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
    ...headers,
  });
}

/** Not zero: some servers skip the unmasking of a zero key, and would do less than for real clients. */
const MASK = Buffer.from([0x37, 0xfa, 0x21, 0x3d]);

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 };

/** A frame as a client sends it, or as none would: RFC 6455, section 5.2. */
export function frame(payload, { opcode = opcodes.text, fin = true, rsv = 0, masked = true, declared } = {}) {
  const bytes = Buffer.from(payload);
  const length = declared ?? bytes.length;
  const header = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  header[0] = (fin ? 128 : 0) | (rsv << 4) | opcode;
  header[1] = (masked ? 128 : 0) | (length < 126 ? length : length < 65_536 ? 126 : 127);
  if (header.length === 4) header.writeUInt16BE(length, 2);
  if (header.length === 10) header.writeBigUInt64BE(BigInt(length), 2);
  if (!masked) return Buffer.concat([header, bytes]);
  const whole = Buffer.concat([header, MASK, bytes]);
  const from = header.length + MASK.length;
  for (let i = from; i < whole.length; i++) whole[i] ^= MASK[(i - from) & 3];
  return whole;
}
