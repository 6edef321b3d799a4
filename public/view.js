// Everything on the page except the messages: connection, people, banner, screen reader announcements.

const FIRST_ANNOUNCE_MS = 100;
const ANNOUNCE_MS = 1_000;
const TRACE_LENGTH = 32;
const WORLDS = 9;

const stateNames = {
  connecting: 'Connecting',
  connected: 'Connected',
  reconnecting: 'Reconnecting',
  refused: 'Rejected',
};

export function byId(id) {
  return document.getElementById(id);
}

/** An element with attributes and children. Strings become text nodes, so a user's text is never markup. */
export function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

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
  setText(byId('state'), stateNames[state]);
  byId('state').dataset.state = state;
  setText(byId('transport'), transport || '–');
  setText(byId('worker'), worker || '–');
  setText(byId('rtt'), rtt === null ? '–' : milliseconds(rtt));
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
  setText(byId('me-name'), name);
  const picture = avatar(name);
  picture.id = 'me-avatar';
  byId('me-avatar').replaceWith(picture);
}

export function showRoom(name) {
  setText(byId('room-name'), name);
  setText(byId('empty-room'), name);
}

/** `users` is null if the room is too large to list names, or if they are not known yet. `names`: see nameNode. */
export function showPeople({ members, users, names }, me) {
  setText(byId('people-count'), members.toLocaleString());
  setText(byId('people-toggle-count'), members.toLocaleString());
  const shown = (user) => names.get(user) ?? user;
  const order = (a, b) => Number(b === me) - Number(a === me) || shown(a).localeCompare(shown(b)) || (a < b ? -1 : 1);
  const sorted = [...(users ?? [])].sort(order);
  byId('people-list').replaceChildren(...sorted.map((user) => person(user, names, user === me)));
  byId('people-note').hidden = members <= 100;
}

function person(user, names, isMe) {
  const node = element('li', {}, avatar(user, names.get(user)), nameNode(user, names));
  if (isMe) node.append(element('span', { class: 'you' }, 'you'));
  return node;
}

/** Shows a line above the text field, with a button if `action` is given. Without text, hides the line. */
export function showBanner(text, action) {
  byId('banner').hidden = !text;
  setText(byId('banner-text'), text ?? '');
  byId('banner-action').hidden = !action;
  byId('banner-action').textContent = action?.label ?? '';
  byId('banner-action').onclick = action?.run ?? null;
}

/** Makes the horn in the corner of the page glow for a moment; style.css disables this for reduced motion. */
export function soundHorn() {
  const brand = byId('brand');
  if (brand.classList.contains('sounding')) return;
  brand.classList.add('sounding');
  brand.addEventListener('animationend', () => brand.classList.remove('sounding'), { once: true });
  setTimeout(() => brand.classList.remove('sounding'), ANNOUNCE_MS);
}

export function announceState(text) {
  setText(byId('say-state'), text);
}

const unsaid = [];
let announcing = 0;

/** Announces messages to a screen reader, at most once a second: up to three one by one, more as a number. */
export function announceMessage({ from, text }, names) {
  unsaid.push(`${names.get(from) ?? from}: ${text}`);
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

/** Changes the node only if the text differs, so that a live region does not repeat itself. */
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function milliseconds(value) {
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}
