// Everything on the page except the messages: connection, people, banner, screen reader announcements.
import { byId, capital, element, syncRows, write } from './dom.js';

const FIRST_ANNOUNCE_MS = 100;
const ANNOUNCE_MS = 1_000;
const TRACE_LENGTH = 32;
const WORLDS = 9;

/** Gives a node one of nine colours by a user's name, the same on every page. Returns the node. */
export function painted(node, user) {
  let hash = 0;
  for (const character of user) hash = (hash * 31 + character.codePointAt(0)) >>> 0;
  node.style.setProperty('--world', `var(--world-${hash % WORLDS})`);
  return node;
}

/**
 * A user's display name with the identity beside it, because anybody may have any display name; or the identity alone.
 * `names` has the display names by identity.
 */
export function nameNode(user, names, kind = 'name') {
  const shown = names.get(user) ?? user;
  if (shown === user) return element('bdi', { class: kind }, user);
  const identity = element('bdi', { class: 'identity' }, user);
  return element('span', { class: kind, title: user }, element('bdi', {}, shown), ' ', identity);
}

/** The colour is that of the identity, the initial that of the name shown. */
export function avatar(user, shown = user) {
  const [initial = '?'] = shown.trim();
  return painted(element('span', { class: 'avatar', 'aria-hidden': 'true' }, initial.toUpperCase()), user);
}

const roundTrips = [];

export function showStatus({ state, transport, worker, rtt }) {
  write(byId('state'), capital(state));
  byId('state').dataset.state = state;
  write(byId('transport'), transport || '–');
  write(byId('worker'), worker || '–');
  write(byId('rtt'), rtt === null ? '–' : `${rtt < 10 ? rtt.toFixed(1) : Math.round(rtt)} ms`);
}

/** Draws the last round-trip times; the scale follows the slowest of them. */
export function traceRoundTrip(rtt) {
  roundTrips.push(rtt);
  if (roundTrips.length > TRACE_LENGTH) roundTrips.shift();
  const top = Math.max(...roundTrips, 4);
  const points = roundTrips.map((value, index) => `${(index / (TRACE_LENGTH - 1)) * 64},${17 - (value / top) * 15}`);
  byId('trace').setAttribute('points', points.join(' '));
}

export function showMe(name) {
  byId('me').hidden = false;
  write(byId('me-name'), name);
  byId('me').firstElementChild.replaceWith(avatar(name));
}

export function showRoom(name) {
  write(byId('room-name'), name);
  write(byId('empty-room'), name);
}

/**
 * `users` is null if the room is too large to list names, or if they are not known yet. `names`: see nameNode.
 * @param choose called with the user whose name is pressed
 */
export function showPeople({ members, users, names }, me, choose) {
  write(byId('people-count'), members.toLocaleString());
  write(byId('people-toggle-count'), members.toLocaleString());
  const shown = (user) => names.get(user) ?? user;
  const order = (a, b) => Number(b === me) - Number(a === me) || shown(a).localeCompare(shown(b)) || (a < b ? -1 : 1);
  const keyOf = (user) => [user, shown(user), user === me].join('\n');
  const make = (user) => {
    const name = [avatar(user, names.get(user)), nameNode(user, names)];
    if (user === me) return element('li', {}, ...name, element('span', { class: 'you' }, 'you'));
    const hint = element('span', { class: 'sr-only' }, ': write a direct message');
    const title = 'Write a direct message';
    return element('li', {}, element('button', { type: 'button', title, click: () => choose(user) }, ...name, hint));
  };
  syncRows(byId('people-list'), [...(users ?? [])].sort(order), keyOf, make);
  byId('people-note').hidden = members <= 100;
}

/** Says to whom alone the text is sent; to everyone in the room if `user` is empty. */
export function showAddressee(user, names) {
  byId('addressee').hidden = !user;
  byId('addressee-name').replaceChildren(user ? nameNode(user, names) : '');
}

/** Says something, and shows it above the text field, with a button if `action` is given. Without text, hides the line. */
export function showBanner(text, action) {
  byId('banner').hidden = !text;
  write(byId('banner-text'), text ?? '');
  announceState(text ?? '');
  byId('banner-action').hidden = !action;
  byId('banner-action').textContent = action?.label ?? '';
  byId('banner-action').onclick = action?.run ?? null;
}

/** Makes the horn in the corner of the page glow for a moment; style.css disables this for reduced motion. */
export function soundHorn() {
  byId('brand').classList.add('sounding');
  setTimeout(() => byId('brand').classList.remove('sounding'), ANNOUNCE_MS);
}

export function announceState(text) {
  write(byId('say-state'), text);
}

const unsaid = [];
let announcing = 0;

/** Announces messages to a screen reader, at most once a second: up to three one by one, more as a number. */
export function announceMessage({ from, to, text }, names) {
  unsaid.push(`${names.get(from) ?? from}${to ? ', only to you' : ''}: ${text}`);
  if (!announcing) announcing = setTimeout(flushAnnouncements, FIRST_ANNOUNCE_MS);
}

function flushAnnouncements() {
  const lines = unsaid.splice(0);
  byId('say-messages').textContent = lines.length > 3 ? `${lines.length} new messages` : lines.join('\n');
  announcing = setTimeout(() => {
    announcing = 0;
    if (unsaid.length > 0) flushAnnouncements();
  }, ANNOUNCE_MS);
}
