// The operator's page: reads the overview, shows it, and acts.

import { Actions } from './actions.js';
import { ago, span } from './format.js';
import { Poller } from './poller.js';
import { write } from './rows.js';
import { showDetails, showLists, showProblems, showRecent, showWorkers } from './tables.js';
import { Tiles } from './tiles.js';

const byId = (id) => document.getElementById(id);
const STATES = {
  ready: 'Ready',
  degraded: 'Degraded',
  draining: 'Draining',
  'not ready': 'Not ready',
};
/** How long the result of an action is shown. */
const DONE_MS = 12_000;

const tiles = new Tiles(document);
const poller = new Poller();
const actions = new Actions((text) => {
  showDone(text);
  poller.now();
});
let latestAt;
let doneTimer = 0;

poller.addEventListener('overview', ({ detail: overview }) => {
  latestAt = Date.now();
  byId('lost').hidden = true;
  document.body.classList.remove('stale');
  showHead(overview);
  showProblems(overview);
  tiles.update(overview);
  showWorkers(overview);
  showDetails(overview);
  showLists(overview, (name, target) => actions.ask(name, target));
  showRecent(overview);
  for (const region of document.querySelectorAll('.scroll')) reachByKeyboard(region);
});

poller.addEventListener('failed', ({ detail: { text, isFinal } }) => {
  document.body.classList.add('stale');
  byId('state').dataset.state = 'lost';
  write(byId('state'), 'Unknown');
  byId('lost').hidden = false;
  write(byId('lost'), isFinal ? text : `${text} The figures are old. This page tries again by itself.`);
});

/** A region that scrolls must be reachable by keyboard; one that does not scroll would be a useless stop. */
function reachByKeyboard(region) {
  if (region.scrollHeight > region.clientHeight || region.scrollWidth > region.clientWidth) region.tabIndex = 0;
  else region.removeAttribute('tabindex');
}

function showHead({ state, host, uptime, version, hasNames }) {
  byId('state').dataset.state = state;
  write(byId('state'), STATES[state] ?? state);
  write(byId('host'), host);
  write(byId('uptime'), span(uptime));
  write(byId('version'), version);
  document.title = `${STATES[state] ?? state}: ${host}, gjallar`;
  byId('actions').hidden = !hasNames;
  byId('lists').hidden = !hasNames;
  byId('nameless').hidden = hasNames;
  showAge();
}

function showAge() {
  write(byId('updated'), latestAt === undefined ? '–' : ago(Date.now() - latestAt));
}

function showDone(text) {
  byId('done').hidden = false;
  write(byId('done'), text);
  clearTimeout(doneTimer);
  doneTimer = setTimeout(() => {
    byId('done').hidden = true;
  }, DONE_MS);
}

setInterval(showAge, 1000);
poller.start();
