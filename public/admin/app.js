// The operator's page: reads the overview, shows it, and acts.

import { watchActions } from './actions.js';
import { read as readClients, watchClients } from './clients.js';
import { byId, capital, write } from './dom.js';
import { ago, span } from './format.js';
import { showDetails, showLists, showProblems, showRecent, showWorkers } from './tables.js';
import { showTiles } from './tiles.js';

const INTERVAL_MS = 2_000;
const TIMEOUT_MS = 8_000;
/** After a failure. */
const RETRY_MS = 5_000;

let latestAt;
let readTimer = 0;
let running;

watchActions((text) => {
  byId('done').hidden = false;
  write(byId('done'), text);
  readNow();
  void readClients();
});

/** Reads at once, unless the tab is hidden; then again and again. */
function readNow() {
  clearTimeout(readTimer);
  running?.abort();
  if (document.visibilityState === 'visible') void read();
}

async function read() {
  const reading = new AbortController();
  running = reading;
  const signal = AbortSignal.any([reading.signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const response = await fetch('../api/overview', { signal, cache: 'no-store' }).catch(() => ({ ok: false }));
  const overview = response.ok && (await response.json().catch(() => undefined));
  if (reading.signal.aborted) return;
  readTimer = setTimeout(readNow, overview ? INTERVAL_MS : RETRY_MS);
  if (overview) show(overview);
  else showFailure(response.status);
}

function show(overview) {
  latestAt = Date.now();
  byId('lost').hidden = true;
  document.body.classList.remove('stale');
  showHead(overview);
  showProblems(overview);
  showTiles(overview);
  showWorkers(overview);
  showDetails(overview);
  showLists(overview);
  showRecent(overview);
}

/** @param status of the answer; undefined if there was none */
function showFailure(status) {
  document.body.classList.add('stale');
  byId('state').dataset.state = 'lost';
  write(byId('state'), 'Unknown');
  byId('lost').hidden = false;
  // With one of these, the server does not let this page read on.
  const isFinal = status >= 400 && status < 500 && status !== 429;
  if (isFinal) clearTimeout(readTimer);
  const known = status === 401 ? 'asks for another password. Reload this page to sign in.' : `answered with ${status}.`;
  const text = status === undefined ? 'The server cannot be reached.' : `The server ${known}`;
  write(byId('lost'), isFinal ? text : `${text} The figures are old. This page tries again by itself.`);
}

function showHead({ state, host, uptime, version, hasNames }) {
  byId('state').dataset.state = state;
  write(byId('state'), capital(state));
  write(byId('host'), host);
  write(byId('uptime'), span(uptime));
  write(byId('version'), version);
  document.title = `${capital(state)}: ${host}, gjallar`;
  byId('actions').hidden = !hasNames;
  byId('lists').hidden = !hasNames;
  byId('nameless').hidden = hasNames;
  watchClients(hasNames);
  showAge();
}

function showAge() {
  write(byId('updated'), latestAt === undefined ? '–' : ago(Date.now() - latestAt));
}

document.addEventListener('visibilitychange', readNow);
addEventListener('online', readNow);
setInterval(showAge, 1000);
readNow();
