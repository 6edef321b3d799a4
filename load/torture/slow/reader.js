import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { takeFrame } from '../../harness/frame.js';

/** How much one read takes at most, in bytes. */
const READ = 4096;
/** The server's pings wait behind unread messages, so an unsolicited pong at this interval, in ms, keeps the session. */
const SIGN_OF_LIFE = 10_000;
/** An empty one, masked with nothing. */
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);

/**
 * A member of a room on a plain WebSocket that sleeps after each read. Without a library for WebSockets, which would read
 * on.
 */
export class Reader {
  /** How many messages have come. */
  received = 0;
  /** How long it sleeps after each read, in ms; 0 is not at all. */
  sleep;
  isClosed = false;
  #socket;
  #rest = Buffer.alloc(0);
  #isOpen = false;
  #onText;

  /** @param {number} port @param {string} room @param {number} sleep @param {(text: string) => void} onText */
  static async join(port, room, sleep, onText) {
    const reader = new Reader();
    reader.sleep = sleep;
    reader.#onText = onText;
    reader.#socket = connect({
      port,
      host: '127.0.0.1',
      onread: { buffer: Buffer.alloc(READ), callback: (length, buffer) => reader.#read(buffer.subarray(0, length)) },
    });
    const signs = setInterval(() => reader.#socket.write(PONG), SIGN_OF_LIFE);
    reader.#socket.on('error', () => {});
    reader.#socket.once('close', () => {
      reader.isClosed = true;
      clearInterval(signs);
    });
    reader.#socket.write(
      `GET /${room} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    );
    await once(reader.#socket, 'open');
    return reader;
  }

  close() {
    this.#socket.destroy();
  }

  /** Takes what was read. Returns whether to go on at once. */
  #read(bytes) {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    if (!this.#isOpen) {
      const end = this.#rest.indexOf('\r\n\r\n');
      if (end === -1) return true;
      this.#isOpen = true;
      this.#rest = this.#rest.subarray(end + 4);
      this.#socket.emit('open');
    }
    while (this.#takeFrame());
    if (this.sleep === 0) return true;
    setTimeout(() => this.#socket.resume(), this.sleep);
    return false;
  }

  /** Returns whether there was a whole frame. */
  #takeFrame() {
    const frame = takeFrame(this.#rest);
    if (!frame) return false;
    this.#rest = this.#rest.subarray(frame.length);
    if (frame.opcode === TEXT) {
      this.received++;
      this.#onText(frame.payload.toString('latin1'));
    } else if (frame.opcode === PING) {
      this.#socket.write(PONG);
    }
    return true;
  }
}

const TEXT = 1;
const PING = 9;
