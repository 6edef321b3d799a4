import { soon } from '../../harness/until.js';
import { Crowd } from '../support/crowd.js';

/** How long a client may lack what others have already got, in ms. */
const MAX_DELAY_MS = 20_000;

/** Clients that note every number that they hear. */
export class Listeners extends Crowd {
  /** What is done to the workers. */
  fault = 'none';
  /** The faults after which clients got a new session instead of the old one, with their number. */
  forgottenAfter = new Map();

  constructor(url, size) {
    super();
    for (let index = 0; index < size; index++) {
      const transports = index % 4 === 0 ? ['polling'] : ['websocket'];
      const state = { ids: new Set(), numbers: [], own: [], latest: new Map(), outOfOrder: 0 };
      const client = this.add(url, { transports, reconnectionDelay: 50, reconnectionDelayMax: 500 }, state);
      client.socket.on('number', (number, worker) => hear(client, client.numbers, number, `room ${worker}`));
      client.socket.on('own', (number, worker) => hear(client, client.own, number, `own ${worker}`));
    }
  }

  onConnect({ ids, socket }, isReturn) {
    ids.add(socket.id);
    if (isReturn && !socket.recovered)
      this.forgottenAfter.set(this.fault, (this.forgottenAfter.get(this.fault) ?? 0) + 1);
  }

  /** Whether each client has received an event. */
  get haveHeard() {
    return this.clients.every(({ numbers }) => numbers.length > 0);
  }

  get deliveries() {
    return this.sum(({ numbers, own }) => numbers.length + own.length);
  }

  /** What confirmed messages a client lacks. @param {Map<number, string[]>} confirmed with the sockets that got each alone */
  lost(confirmed) {
    return this.sum((client) => lackedBy(client, confirmed));
  }

  get repeated() {
    return this.sum(({ numbers, own }) => repeatedIn(numbers) + repeatedIn(own));
  }

  /** Of the events that one worker has sent. There is no order between workers. */
  get outOfOrder() {
    return this.sum(({ outOfOrder }) => outOfOrder);
  }

  /** Waits until all have got everything, for a while at most. */
  async finish(confirmed) {
    await soon(() => this.lost(confirmed) === 0, MAX_DELAY_MS);
    this.close();
  }
}

function lackedBy({ ids, numbers, own }, confirmed) {
  const heard = new Set(numbers);
  const heardAlone = new Set(own);
  let count = 0;
  for (const [number, sockets] of confirmed) {
    if (!heard.has(number)) count++;
    if (!heardAlone.has(number) && sockets.some((id) => ids.has(id))) count++;
  }
  return count;
}

const repeatedIn = (numbers) => numbers.length - new Set(numbers).size;

function hear(client, heard, number, from) {
  heard.push(number);
  if (number < (client.latest.get(from) ?? 0)) client.outOfOrder++;
  client.latest.set(from, number);
}
