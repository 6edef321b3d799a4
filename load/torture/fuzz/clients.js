import { Connection, frame, opcodes, request, upgradeRequest } from '../../harness/connection.js';

const PATH = '/socket.io/?EIO=4';
const SEPARATOR = '\x1e';
/** Less than the service of the fuzzer takes, in bytes. */
export const MAX_PACKET_BYTES = 90_000;

/**
 * A client of Engine.IO that sends what it is told to: over WebSocket. Both have `send`, `next` (a packet; undefined
 * once the session has ended) and `leave`.
 */
export class WebSocketClient {
  static async open(port) {
    const client = new WebSocketClient();
    client.connection = new Connection(port).write(upgradeRequest(`${PATH}&transport=websocket`));
    const response = await client.connection.response();
    if (response?.status !== 101) throw new Error(`no WebSocket: ${response?.status} ${response?.body}`);
    await client.next();
    return client;
  }

  /** @param {(string | Buffer)[]} packets */
  send(packets) {
    const frames = packets.map((packet) =>
      frame(packet, { opcode: typeof packet === 'string' ? opcodes.text : opcodes.binary }),
    );
    this.connection.write(Buffer.concat(frames));
  }

  async next() {
    for (;;) {
      const received = await this.connection.frame();
      if (!received || received.opcode === opcodes.close) return undefined;
      if (received.opcode === opcodes.binary) return received.payload;
      const text = received.payload.toString();
      if (text !== '2') return text;
      this.send(['3']);
    }
  }

  leave() {
    this.connection.end();
  }
}

/** The same over HTTP long-polling, posts and polls on a connection each: they may come to two workers. */
export class PollingClient {
  /** The response to the last POST. */
  answered = Promise.resolve();
  #packets = [];
  #isOver = false;

  static async open(port) {
    const client = new PollingClient();
    client.polls = new Connection(port).write(request('GET', `${PATH}&transport=polling`));
    client.posts = new Connection(port);
    const response = await client.polls.response();
    if (response?.status !== 200) throw new Error(`no session: ${response?.status} ${response?.body}`);
    const { sid } = JSON.parse(response.body.slice(1));
    client.path = `${PATH}&transport=polling&sid=${sid}`;
    return client;
  }

  send(packets) {
    const texts = packets.map((packet) => (typeof packet === 'string' ? packet : `b${packet.toString('base64')}`));
    for (const payload of payloadsOf(texts)) {
      const bytes = request('POST', this.path, {}, payload);
      this.answered = this.answered.then(() => this.posts.write(bytes).response());
    }
    // A caller that awaits `answered` gets the error.
    this.answered.catch(() => {});
  }

  async next() {
    for (;;) {
      while (this.#packets.length > 0) {
        const packet = this.#packets.shift();
        if (packet === '1') this.#isOver = true;
        else if (packet === '2') this.send(['3']);
        else if (packet !== '6') return packet.startsWith('b') ? Buffer.from(packet.slice(1), 'base64') : packet;
      }
      if (this.#isOver) return undefined;
      const response = await this.polls.write(request('GET', this.path)).response();
      if (response?.status !== 200) this.#isOver = true;
      else this.#packets = response.body.split(SEPARATOR);
    }
  }

  /** Ends the session: one that vanishes is held until its heartbeat is due. */
  async leave() {
    await this.answered.catch(() => {});
    if (!this.#isOver) await this.posts.write(request('POST', this.path, {}, '1')).response();
    this.polls.end();
    this.posts.end();
  }
}

/** As few payloads as take the packets, none of them longer than one packet may be. */
function payloadsOf(packets) {
  const payloads = [packets[0]];
  for (const packet of packets.slice(1)) {
    const longer = `${payloads.at(-1)}${SEPARATOR}${packet}`;
    if (Buffer.byteLength(longer) < MAX_PACKET_BYTES) payloads[payloads.length - 1] = longer;
    else payloads.push(packet);
  }
  return payloads;
}

export const transports = { websocket: WebSocketClient, polling: PollingClient };

/** A client in the main namespace. @param {'websocket' | 'polling'} transport @param {object} auth */
export async function join(port, transport, auth) {
  const client = await transports[transport].open(port);
  client.send([`40${JSON.stringify(auth)}`]);
  const answer = await client.next();
  if (!answer?.startsWith('40')) throw new Error(`not let in: ${answer}`);
  return client;
}
