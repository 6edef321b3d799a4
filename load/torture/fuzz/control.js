import { io } from 'socket.io-client';

const ROOM = 'control';
const PAUSE = 20;

/** Two clients that talk to each other all the time, over a transport each, and must not notice anything. */
export class ControlPair {
  #clients;
  #stopping = false;
  #heard = [[], []];
  #said = [0, 0];
  /** What went wrong. */
  complaints = [];
  /** How long an echo took at most, in ms. */
  slowest = 0;

  static async start(url, tokens) {
    const pair = new ControlPair();
    pair.#clients = [['websocket'], ['polling']].map((transports, index) =>
      io(url, { transports, forceNew: true, auth: { token: tokens[index] } }),
    );
    await Promise.all(pair.#clients.map((client, index) => pair.#enter(client, index)));
    const failed = (error) => pair.complaints.push(String(error));
    pair.talking = Promise.all(pair.#clients.map((client, index) => pair.#talk(client, index).catch(failed)));
    return pair;
  }

  async #enter(client, index) {
    await new Promise((resolve, reject) => client.once('connect', resolve).once('connect_error', reject));
    client.on('disconnect', (reason) => this.#stopping || this.complaints.push(`client ${index} lost: ${reason}`));
    client.on('message', ({ text }) => this.#heard[index].push(text));
    const reply = await client.emitWithAck('join', ROOM);
    if (!reply.ok) throw new Error(reply.message);
  }

  async #talk(client, index) {
    while (!this.#stopping) {
      const started = performance.now();
      const text = `${index}:${this.#said[index]}`;
      const reply = await client.timeout(30_000).emitWithAck('message', { room: ROOM, text });
      if (!reply.ok) this.complaints.push(`${text}: ${reply.code}`);
      this.#said[index]++;
      this.slowest = Math.max(this.slowest, performance.now() - started);
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }

  get said() {
    return this.#said[0] + this.#said[1];
  }

  /** Stops talking. Both must have heard everything that either said, once and in order. */
  async stop() {
    this.#stopping = true;
    await this.talking;
    const all = () => this.#heard.every((heard) => heard.length >= this.said);
    for (let tries = 0; tries < 500 && !all(); tries++) await new Promise((resolve) => setTimeout(resolve, 20));
    for (const heard of this.#heard) {
      for (const from of [0, 1]) {
        const got = heard.filter((text) => text.startsWith(`${from}:`));
        const is = got.length === this.#said[from] && got.every((text, number) => text === `${from}:${number}`);
        if (!is) this.complaints.push(`${got.length} of ${this.#said[from]} messages heard, or not in order`);
      }
    }
    for (const client of this.#clients) client.disconnect();
  }
}
