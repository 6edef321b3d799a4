// A state room seen by two clients: a fast one on a WebSocket, and one that polls, and is as slow as the button says.
import { io, XHR } from '/socket.io/socket.io.esm.min.js';
import { byId, element } from './dom.js';
import { recall } from './entry.js';
import { StateMap } from './gjallar-client.js';

const ROOM = 'demo quotes';
const SLOW_MS = 3_000;

let isSlow = false;
/** Whether the slow client has not shown anything since it has read nothing for a while. */
let isBack = false;
/** A poll that waits because the client is slow. */
let poll = () => {};

/** HTTP long-polling that waits before it reads again. What the server has for the client waits there meanwhile. */
class SlowPolling extends XHR {
  doPoll() {
    if (!isSlow) return super.doPoll();
    const timer = setTimeout(() => poll(), SLOW_MS);
    poll = () => {
      clearTimeout(timer);
      poll = () => {};
      isBack = true;
      super.doPoll();
    };
  }
}

/** One of the two clients, what it has, and what it has noticed. */
class Watcher {
  received = 0;
  skipped = 0;
  wentBack = 0;
  #seen = new Map();

  constructor(id, transports) {
    this.id = id;
    const { name, token } = recall();
    this.socket = io({ transports, forceNew: true, auth: token ? { token } : { name: name || 'live' } });
    this.socket.on('connect_error', ({ message }) => show(message));
    this.quotes = new StateMap(this.socket, `state:${ROOM}`, { watch: 'watch', room: ROOM });
    this.quotes.on('error', ({ message }) => show(message));
    this.quotes.on('change', (keys) => this.#note(this.quotes, keys));
  }

  #note(quotes, keys) {
    show('');
    if (this === slow && isBack) {
      isBack = false;
      byId('slow-age').textContent = `${(this.age(keys, fast) / 1000).toFixed(1)} s`;
    }
    for (const key of keys) {
      const quote = quotes.get(key);
      if (!quote) continue;
      const before = this.#seen.get(key);
      this.#seen.set(key, quote);
      this.received += 1;
      if (before && quote.at < before.at) this.wentBack += 1;
      if (before) this.skipped += Math.max(0, quote.count - before.count - 1);
    }
    update();
  }

  /** How much newer the other client's values of some keys are, in ms. */
  age(keys, { quotes }) {
    return Math.max(...keys.map((key) => quotes.get(key)?.at - this.quotes.get(key)?.at || 0));
  }

  update() {
    byId(`${this.id}-received`).textContent = this.received.toLocaleString();
    byId(`${this.id}-skipped`).textContent = this.skipped.toLocaleString();
    byId(`${this.id}-back`).textContent = this.wentBack.toLocaleString();
  }
}

function show(problem) {
  if (byId('problem').textContent !== problem) byId('problem').textContent = problem;
}

const fast = new Watcher('fast', ['websocket']);
const slow = new Watcher('slow', [SlowPolling]);
const rows = new Map();
let isDue = false;

/** At most once a frame. */
function update() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    for (const watcher of [fast, slow]) watcher.update();
    for (const key of [...fast.quotes.keys()].sort()) updateRow(key, fast.quotes.get(key), slow.quotes.get(key));
  });
}

function updateRow(key, newest, shown) {
  const row = rows.get(key) ?? addRow(key);
  const behind = shown ? newest.count - shown.count : 0;
  row.fast.textContent = newest.price.toFixed(2);
  row.slow.textContent = shown ? shown.price.toFixed(2) : '–';
  row.behind.textContent = behind > 0 ? `${behind}` : '–';
  row.behind.classList.toggle('behind', behind > 0);
}

function addRow(key) {
  const row = { fast: element('td', {}), slow: element('td', {}), behind: element('td', {}) };
  byId('quotes').append(element('tr', {}, element('th', { scope: 'row' }, key), row.fast, row.slow, row.behind));
  rows.set(key, row);
  return row;
}

byId('slow').addEventListener('click', () => {
  isSlow = !isSlow;
  byId('slow').setAttribute('aria-pressed', String(isSlow));
  byId('slow').textContent = isSlow ? 'Read again' : 'Be slow';
  if (!isSlow) poll();
});
