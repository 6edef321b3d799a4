import { soon } from '../../harness/until.js';
import { Crowd } from '../support/crowd.js';

/** Of ten clients, so many use each way to connect. */
const WAYS = [
  { share: 5, transports: ['polling', 'websocket'] },
  { share: 4, transports: ['websocket'] },
  { share: 1, transports: ['polling'] },
];
const ways = WAYS.flatMap(({ share, transports }) => Array(share).fill(transports));

/** Clients that hear numbered events. Each one notes what it lacks, and how long it heard nothing. */
export class Audience extends Crowd {
  deliveries = 0;
  repeated = 0;
  /** How often each number was missed, by clients that stayed connected or were recovered, and by the others. */
  lost = new Map();
  missed = new Map();
  longestSilenceMs = 0;

  static async open(url, size) {
    const audience = new Audience();
    await audience.fill(size, (index) => {
      const transports = ways[index % ways.length];
      const client = audience.add(url, { transports }, { last: undefined, isNew: false, heardAt: undefined });
      client.socket.on('number', (number) => audience.#hear(client, number));
    });
    return audience;
  }

  onConnect(client, isReturn) {
    if (isReturn && !client.socket.recovered) client.isNew = true;
  }

  #hear(client, number) {
    this.deliveries++;
    const now = performance.now();
    if (client.heardAt !== undefined) this.longestSilenceMs = Math.max(this.longestSilenceMs, now - client.heardAt);
    client.heardAt = now;
    const { last = number - 1 } = client;
    if (number <= last) {
      this.repeated++;
      return;
    }
    countFrom(client.isNew ? this.missed : this.lost, last + 1, number);
    client.last = number;
    client.isNew = false;
  }

  /** Waits until all connected clients have heard a number, for 10 s at most. What they lack then is lost. */
  async finish(number) {
    const lacking = () => this.clients.filter(({ socket, last = 0 }) => socket.connected && last < number);
    await soon(() => lacking().length === 0, 10_000);
    for (const { last = 0 } of lacking()) countFrom(this.lost, last + 1, number + 1);
    this.close();
  }
}

function countFrom(counts, first, end) {
  for (let one = first; one < end; one++) counts.set(one, (counts.get(one) ?? 0) + 1);
}
