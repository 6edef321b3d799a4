// The table of clients, page by page: the server searches.

import { byId, element, write } from './dom.js';
import { count } from './format.js';
import { action, actions, button, named, panel } from './panel.js';

const TYPING_MS = 250;
/** The server looks at all clients, so this is read less often than the figures. */
const INTERVAL_MS = 10_000;

/** The room whose clients are shown, if it is not all clients. */
let place;
/** The last id of each page before this one. */
let pages = [];
let timer = 0;
let reading;
let isOn = false;

const text = (label, read, name) => ({ label, name, text: read });
const table = panel('clients', 'Clients', JSON.stringify, [
  named('User', ({ user, id }) => [user === undefined ? 'no name' : element('bdi', { title: `Socket ${id}` }, user)]),
  text('Address', ({ address }) => address || 'unknown'),
  text('Transport', ({ transport }) => transport, 'wide'),
  text('Worker', ({ worker }) => String(worker), 'number wide'),
  { label: 'Rooms', name: 'rooms', make: roomsOf },
  actions(({ id, user, address }) => [action('Disconnect', user ?? address, 'disconnect', { id })]),
]);

function roomsOf({ namespace, rooms, roomCount }) {
  const shown = rooms.map(({ room, name }) =>
    button(name, `Clients in ${name}`, () => showClientsOf({ namespace, room, name })),
  );
  return [namespace !== '/' && `${namespace} `, ...shown, roomCount > rooms.length && ` +${roomCount - rooms.length}`];
}

/** Shows the clients of a room; of all rooms without one. */
export function showClientsOf(room) {
  place = room;
  begin();
  byId('clients').scrollIntoView({ block: 'nearest' });
}

/** Reads the table from now on, if the page may have names. */
export function watchClients(hasNames) {
  byId('clients').hidden = !hasNames;
  if (hasNames && !isOn) void read();
  isOn = hasNames;
}

function begin() {
  pages = [];
  void read();
}

/** Reads the page again. A later reading takes the place of one in progress. */
export async function read() {
  clearTimeout(timer);
  reading?.abort();
  reading = new AbortController();
  const { signal } = reading;
  timer = setTimeout(readIfShown, INTERVAL_MS);
  const query = new URLSearchParams({ search: byId('search').value, after: pages.at(-1) ?? '' });
  if (place) query.set('room', place.room);
  if (place) query.set('namespace', place.namespace);
  const answer = await fetch(`../api/clients?${query}`, { signal, cache: 'no-store' }).catch(() => ({ ok: false }));
  const page = answer.ok && (await answer.json().catch(() => undefined));
  // The page says elsewhere that the server cannot be reached.
  if (page && !signal.aborted) show(page);
}

function readIfShown() {
  if (isOn && document.visibilityState === 'visible') void read();
}

function show({ clients, matching, hasMore, complete }) {
  table(clients);
  const first = pages.length * 50 + 1;
  const range = clients.length > 0 ? `${count(first)}–${count(first + clients.length - 1)} of ` : '';
  const where = place ? ` in ${place.name}` : '';
  const rest = complete ? '' : ' Some workers did not answer.';
  write(byId('client-count'), `${range}${count(matching)} on this machine${where}.${rest}`);
  byId('previous').disabled = pages.length === 0;
  byId('next').disabled = !hasMore;
  byId('next').value = clients.at(-1)?.id ?? '';
  byId('all-rooms').hidden = place === undefined;
}

byId('client-search').addEventListener('submit', (event) => event.preventDefault());
byId('search').addEventListener('input', () => {
  clearTimeout(timer);
  timer = setTimeout(begin, TYPING_MS);
});
byId('all-rooms').addEventListener('click', () => showClientsOf(undefined));
byId('previous').addEventListener('click', () => {
  pages.pop();
  void read();
});
byId('next').addEventListener('click', () => {
  pages.push(byId('next').value);
  void read();
});
document.addEventListener('visibilitychange', readIfShown);
