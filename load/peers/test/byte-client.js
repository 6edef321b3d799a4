import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { eventFrame, textFrame, upgradeRequest } from '../../generator/wire.js';
import { takeFrame } from '../../harness/frame.js';
import { HOST } from '../../harness/row/peer.js';

const PING = '2';
const PONG = '3';
const CLOSE = 8;
/** A close frame without a reason, masked (RFC 6455, section 5.5.1). */
const CLOSING = Buffer.from([0x88, 0x80, 1, 2, 3, 4]);

/** A WebSocket client that shows every frame as it is on the wire, for the test of the peers. */
export class ByteClient {
  #upgraded = false;
  #bytes = Buffer.alloc(0);
  #frames = [];
  #pings = 0;
  #heard = () => {};

  static async open(port, options) {
    const socket = connect(port, HOST);
    const client = new ByteClient(socket, options);
    socket.write(upgradeRequest(HOST, port, 0));
    await client.#until(() => client.#upgraded);
    return client;
  }

  constructor(socket, { answering = true } = {}) {
    this.socket = socket;
    this.answering = answering;
    socket.on('data', (chunk) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
      this.#read();
      this.#heard();
    });
    socket.on('error', () => {});
    socket.on('close', () => this.#heard());
  }

  send(packet) {
    this.socket.write(textFrame(packet));
  }

  event(...event) {
    this.socket.write(eventFrame(...event));
  }

  /** The next frame that is not a ping. */
  async frame() {
    await this.#until(() => this.#frames.length > 0);
    return this.#frames.shift();
  }

  pings(count) {
    return this.#until(() => this.#pings >= count);
  }

  async ended() {
    // Also by a reset: a server that closes at once does not wait for our close frame.
    if (!this.socket.destroyed) await new Promise((resolve) => this.socket.once('close', resolve));
  }

  close() {
    this.socket.destroy();
  }

  async #until(condition) {
    while (!condition()) {
      if (this.socket.destroyed) throw new Error('the peer closed the connection');
      await new Promise((resolve) => {
        this.#heard = resolve;
      });
    }
  }

  #read() {
    if (!this.#upgraded && !this.#readResponse()) return;
    for (let frame = takeFrame(this.#bytes); frame; frame = takeFrame(this.#bytes)) {
      this.#bytes = this.#bytes.subarray(frame.length);
      const text = frame.payload.toString();
      if (text !== PING) {
        this.#frames.push({ head: frame.head.toString('hex'), text });
        if (frame.opcode === CLOSE) this.socket.write(CLOSING);
      } else {
        this.#pings++;
        if (this.answering) this.send(PONG);
      }
    }
  }

  /** Reads the answer to the upgrade request, once it is there as a whole. */
  #readResponse() {
    const end = this.#bytes.indexOf('\r\n\r\n');
    if (end === -1) return false;
    assert.match(this.#bytes.toString('latin1'), /^HTTP\/1\.1 101 /);
    this.#bytes = this.#bytes.subarray(end + 4);
    this.#upgraded = true;
    return true;
  }
}
