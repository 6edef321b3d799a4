// A state room seen by two clients: a fast one on a WebSocket, and one that polls, and is as slow as the button says.
import { io, XHR } from '/socket.io/socket.io.esm.min.js';
import { byId, element, syncRows, write } from './dom.js';
import { recall } from './entry.js';
import { StateMap } from './gjallar-client.js';

const ROOM = 'demo quotes';
const SLOW_MS = 3_000;

let isSlow = false;
/** Whether the slow client has not shown anything since it has read nothing for a while. */
let isBack = false;
/** Ends the wait of a poll of the slow client. */
let poll = () => {};

/** HTTP long-polling that waits before it reads again. What the server has for the client waits there meanwhile. */
class SlowPolling extends XHR {
  doPoll() {
    if (!isSlow) return super.doPoll();
    const waited = new Promise((resolve) => {
      poll = resolve;
      setTimeout(resolve, SLOW_MS);
    });
    waited.then(() => {
      isBack = true;
      super.doPoll();
    });
  }
}

/** One of the two clients, what it has, and what it has noticed. */
class Watcher {
  received = 0;
  skipped = 0;
  wentBack = 0;
  #seen = new Map();

  constructor(transports) {
    const { name, token } = recall();
    const socket = io({ transports, forceNew: true, auth: token ? { token } : { name: name || 'live' } });
    this.quotes = new StateMap(socket, ROOM, { watch: 'watch' });
    this.quotes.on('change', (keys) => this.#note(keys));
    const show = ({ message }) => write(byId('problem'), message);
    socket.on('connect_error', show);
    this.quotes.on('error', show);
  }

  #note(keys) {
    write(byId('problem'), '');
    if (this === slow && isBack) {
      isBack = false;
      const ages = keys.map((key) => fast.quotes.get(key)?.at - slow.quotes.get(key)?.at || 0);
      byId('slow-age').textContent = `${(Math.max(...ages) / 1000).toFixed(1)} s`;
    }
    for (const key of keys) {
      const quote = this.quotes.get(key);
      if (!quote) continue;
      const before = this.#seen.get(key) ?? { at: quote.at, count: quote.count - 1 };
      this.#seen.set(key, quote);
      this.received += 1;
      if (quote.at < before.at) this.wentBack += 1;
      this.skipped += Math.max(0, quote.count - before.count - 1);
    }
  }

  show(id) {
    write(byId(`${id}-received`), this.received.toLocaleString());
    write(byId(`${id}-skipped`), this.skipped.toLocaleString());
    write(byId(`${id}-back`), this.wentBack.toLocaleString());
  }
}

const fast = new Watcher(['websocket']);
const slow = new Watcher([SlowPolling]);

function draw() {
  fast.show('fast');
  slow.show('slow');
  const make = (key) => element('tr', {}, element('th', { scope: 'row' }, key), ...[1, 2, 3].map(() => element('td')));
  syncRows(byId('quotes'), [...fast.quotes.keys()].sort(), String, make, (row, key) => {
    const [newest, shown] = [fast.quotes.get(key), slow.quotes.get(key)];
    const behind = shown ? newest.count - shown.count : 0;
    write(row.cells[1], newest.price.toFixed(2));
    write(row.cells[2], shown ? shown.price.toFixed(2) : '–');
    write(row.cells[3], behind > 0 ? `${behind}` : '–');
    row.cells[3].classList.toggle('behind', behind > 0);
  });
  requestAnimationFrame(draw);
}
draw();

byId('slow').addEventListener('click', () => {
  isSlow = !isSlow;
  byId('slow').setAttribute('aria-pressed', String(isSlow));
  byId('slow').textContent = isSlow ? 'Read again' : 'Be slow';
  if (!isSlow) poll();
});
