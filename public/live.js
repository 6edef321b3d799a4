// The same quotes in a state room and by plain emits, for one client that reads at once and two that have a slow link.
import { io, XHR } from '/socket.io/socket.io.esm.min.js';
import { byId, write } from './dom.js';
import { recall } from './entry.js';
import { StateMap } from './gjallar-client.js';

const ROOM = 'demo quotes';
/** The quote whose course is drawn. */
const SHOWN = 'ODIN';
/** What the slow link carries, in characters per second: about a third of the changes. */
const RATE = 1500;
/** Between the packets of one response of HTTP long-polling. */
const SEPARATOR = '\x1e';
const SAMPLE_MS = 250;
const SAMPLES = 240;

let isSlow = true;
/** Each gives on at once what its link still carries. */
const links = new Set();

/** HTTP long-polling over a slow link. The server keeps what it has for the client until the next request. */
class SlowPolling extends XHR {
  #packets = [];
  #timer;
  #hurry = () => {
    clearTimeout(this.#timer);
    this.#give(this.#packets.splice(0).join(SEPARATOR));
  };

  onData(data) {
    this.#packets = data.split(SEPARATOR);
    this.doPoll();
  }

  doPoll() {
    const [packet] = this.#packets;
    if (packet === undefined) return super.doPoll();
    if (!isSlow) return this.#hurry();
    links.add(this.#hurry);
    this.#timer = setTimeout(() => this.#give(this.#packets.shift()), (packet.length / RATE) * 1000);
  }

  #give(data) {
    links.delete(this.#hurry);
    if (this.readyState !== 'closed') super.onData(data);
  }
}

/** One client, and what it has noticed. */
class Watcher {
  quotes = new Map();
  received = 0;
  skipped = 0;
  wentBack = 0;
  disconnects = 0;

  constructor(transports) {
    const { name, token } = recall();
    this.socket = io({ transports, forceNew: true, auth: token ? { token } : { name: name || 'live' } });
    this.socket.on('connect_error', showProblem);
    this.socket.on('disconnect', () => {
      this.disconnects += 1;
    });
  }

  watchState() {
    const map = new StateMap(this.socket, ROOM, { watch: 'watch' });
    map.on('change', (keys) => this.#take(keys.map((key) => [key, map.get(key)])));
    map.on('error', showProblem);
    return this;
  }

  getAll() {
    this.socket.on('connect', () => this.socket.emit('join', ROOM, (reply) => reply.ok || showProblem(reply)));
    this.socket.on('quotes', (changes) => this.#take(changes));
    return this;
  }

  #take(changes) {
    write(byId('problem'), '');
    for (const [key, quote] of changes) {
      if (!quote) continue;
      const before = this.quotes.get(key) ?? { at: quote.at, count: quote.count - 1 };
      this.quotes.set(key, quote);
      this.received += 1;
      if (quote.at < before.at) this.wentBack += 1;
      this.skipped += Math.max(0, quote.count - before.count - 1);
    }
  }

  /** By how much what it shows is older than the newest values, in seconds. */
  get lag() {
    const ages = [...this.quotes].map(([key, { at }]) => (fast.quotes.get(key)?.at ?? at) - at);
    return Math.max(0, ...ages) / 1000;
  }

  /** The changes that it has not got yet, of each quote. */
  get missing() {
    return [...this.quotes].map(([key, { count }]) => Math.max(0, (fast.quotes.get(key)?.count ?? count) - count));
  }
}

function showProblem({ message }) {
  write(byId('problem'), message);
}

const fast = new Watcher(['websocket']).watchState();
/** A state room keeps one value of each quote for a client; for plain emits, the server keeps all. */
const columns = [
  { id: 'state', client: new Watcher([SlowPolling]).watchState(), kept: (each) => Math.min(each, 1), samples: [] },
  { id: 'plain', client: new Watcher([SlowPolling]).getAll(), kept: (each) => each, samples: [] },
];

const seconds = (value) => `${value.toFixed(1)} s`;
const kilobytes = (value) => `${value.toFixed(1)} kB`;
const number = (value) => value.toLocaleString('en');
/** Each chart: its lines, the figure beside it, and the range that it shows at least. */
const charts = {
  price: { lines: ['newest', 'shown'], text: ({ shown }) => shown?.toFixed(2) ?? '–', range: () => priceRange() },
  lag: { lines: ['lag'], text: ({ lag }) => seconds(lag), range: () => [0, highest('lag', 3)] },
  waiting: { lines: ['waiting'], text: ({ waiting }) => kilobytes(waiting), range: () => [0, highest('waiting', 5)] },
};

const all = (name) => columns.flatMap(({ samples }) => samples.map((sample) => sample[name])).filter(Number.isFinite);
const highest = (name, least) => 1.1 * Math.max(least, ...all(name));
const priceRange = () => {
  const prices = [...all('newest'), ...all('shown'), 100];
  return [Math.min(...prices) - 0.5, Math.max(...prices) + 0.5];
};

function sample() {
  for (const { client, kept, samples } of columns) {
    const size = JSON.stringify([SHOWN, client.quotes.get(SHOWN) ?? {}]).length;
    const waiting = (client.missing.reduce((sum, each) => sum + kept(each), 0) * size) / 1000;
    const [newest, shown] = [fast, client].map(({ quotes }) => quotes.get(SHOWN)?.price);
    samples.push({ newest, shown, lag: client.lag, waiting });
    if (samples.length > SAMPLES) samples.shift();
  }
}

/** Draws values from the right, the latest one last, in a box of 100 by 100. */
function path(values, [low, high]) {
  const first = SAMPLES - values.length;
  const points = values.flatMap((value, index) =>
    value === undefined
      ? []
      : [`${((100 * (first + index + 1)) / SAMPLES).toFixed(2)} ${((100 * (high - value)) / (high - low)).toFixed(2)}`],
  );
  return points.length > 0 ? `M${points.join('L')}` : '';
}

function draw() {
  for (const { id, client, samples } of columns) {
    for (const [name, { lines, text, range }] of Object.entries(charts)) {
      write(byId(`${id}-${name}`), text(samples.at(-1)));
      for (const line of lines) {
        const drawn = path(
          samples.map((each) => each[line]),
          range(),
        );
        document.querySelector(`#${id}-${name}-chart .${line}`).setAttribute('d', drawn);
      }
    }
    show(id, client);
  }
  show('fast', fast);
}

function show(id, { received, skipped, wentBack, disconnects }) {
  const figures = { received, skipped, back: wentBack, disconnects };
  for (const [name, value] of Object.entries(figures)) write(byId(`${id}-${name}`), number(value));
}

setInterval(sample, SAMPLE_MS);
// The lines move with each drawing.
setInterval(draw, matchMedia('(prefers-reduced-motion: reduce)').matches ? 2000 : SAMPLE_MS);
sample();
draw();

byId('slow').addEventListener('click', () => {
  isSlow = !isSlow;
  byId('slow').setAttribute('aria-pressed', String(isSlow));
  if (!isSlow) for (const hurry of [...links]) hurry();
});
