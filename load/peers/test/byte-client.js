import assert from 'node:assert/strict';
import { eventFrame, textFrame } from '../../generator/wire.js';
import { Connection, opcodes, upgradeRequest } from '../../harness/connection.js';

const PING = '2';
const PONG = '3';
/** A close frame without a reason, masked (RFC 6455, section 5.5.1). */
const CLOSING = Buffer.from([0x88, 0x80, 1, 2, 3, 4]);
/** No frame is waited for in vain: the pings come on and on, or the connection ends. */
const PATIENCE_MS = 60_000;

/** A WebSocket client that shows every frame as it is on the wire, for the test of the peers. */
export class ByteClient {
  #connection;
  #answering;
  #frames = [];
  #pings = 0;
  #heard = () => {};
  #reading;

  static async open(port, { answering = true } = {}) {
    const client = new ByteClient();
    client.#answering = answering;
    client.#connection = new Connection(port).write(upgradeRequest('/socket.io/?EIO=4&transport=websocket'));
    assert.equal((await client.#connection.response())?.status, 101);
    client.#reading = client.#read();
    return client;
  }

  send(packet) {
    this.#connection.write(textFrame(packet));
  }

  event(...event) {
    this.#connection.write(eventFrame(...event));
  }

  /** The next frame that is not a ping. */
  async frame() {
    await this.#until(() => this.#frames.length > 0);
    return this.#frames.shift();
  }

  pings(count) {
    return this.#until(() => this.#pings >= count);
  }

  /** Resolves when the peer has ended the connection. */
  ended() {
    return this.#reading;
  }

  close() {
    this.#connection.end();
  }

  async #until(condition) {
    while (!condition()) {
      if (this.#connection.isClosed) throw new Error('the peer closed the connection');
      await new Promise((resolve) => {
        this.#heard = resolve;
      });
    }
  }

  async #read() {
    for (;;) {
      const frame = await this.#connection.frame(PATIENCE_MS);
      if (frame) this.#take(frame);
      this.#heard();
      if (!frame) return;
    }
  }

  #take({ opcode, head, payload }) {
    const text = payload.toString();
    if (text !== PING) {
      this.#frames.push({ head: head.toString('hex'), text });
      if (opcode === opcodes.close) this.#connection.write(CLOSING);
    } else {
      this.#pings++;
      if (this.#answering) this.send(PONG);
    }
  }
}
