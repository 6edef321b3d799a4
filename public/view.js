// Everything on the page except the messages: connection, people, banner, what screen readers hear.
import { byId, capital, element, syncRows, write } from './dom.js';
import { NAMED_MEMBERS } from './room.js';

/** Gives a node a colour by a user's name, the same on every page. Returns the node. */
export function painted(node, user) {
  let hash = 0;
  for (const character of user) hash = (hash * 31 + character.codePointAt(0)) >>> 0;
  node.style.setProperty('--hue', hash % 360);
  return node;
}

/**
 * A user's display name with the identity beside it, because anybody may have any display name; or the identity alone.
 * `names` has the display names by identity, and in `shared` how many clients have chosen a name, if several have.
 */
export function nameNode(user, names, kind = 'name') {
  const shown = names.get(user) ?? user;
  const clients = names.shared.get(user);
  if (clients) {
    const mark = element('span', { class: 'shared' }, `×${clients}`);
    return element(
      'span',
      { class: kind, title: `${clients} clients have this name` },
      element('bdi', {}, user),
      ' ',
      mark,
    );
  }
  if (shown === user) return element('bdi', { class: kind }, user);
  const identity = element('bdi', { class: 'identity' }, user);
  return element('span', { class: kind, title: user }, element('bdi', {}, shown), ' ', identity);
}

/** The colour is that of the identity, the initial that of the name shown. */
export function avatar(user, shown = user) {
  const [initial = '?'] = shown.trim();
  return painted(element('span', { class: 'avatar', 'aria-hidden': 'true' }, initial.toUpperCase()), user);
}

export function showStatus({ state, transport, worker, rtt }) {
  write(byId('state'), capital(state));
  byId('state').dataset.state = state;
  write(byId('transport'), transport || '–');
  write(byId('worker'), worker || '–');
  write(byId('rtt'), rtt === null ? '–' : `${rtt < 10 ? rtt.toFixed(1) : Math.round(rtt)} ms`);
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
 * Large rooms have no names. `names`: see nameNode.
 * @param choose called with the user whose name is pressed
 */
export function showPeople({ members, users, names }, me, choose) {
  write(byId('people-count'), members.toLocaleString());
  write(byId('people-toggle-count'), members.toLocaleString());
  byId('people-note').hidden = members <= NAMED_MEMBERS;
  const shown = (user) => names.get(user) ?? user;
  const order = (a, b) => Number(b === me) - Number(a === me) || shown(a).localeCompare(shown(b)) || (a < b ? -1 : 1);
  const keyOf = (user) => [user, shown(user), names.shared.get(user), user === me].join('\n');
  const make = (user) => {
    const name = [avatar(user, names.get(user)), nameNode(user, names)];
    if (user === me) return element('li', {}, ...name, element('span', { class: 'you' }, 'you'));
    const title = 'Write a direct message';
    return element('li', {}, element('button', { type: 'button', title, click: () => choose(user) }, ...name));
  };
  syncRows(byId('people-list'), members > NAMED_MEMBERS ? [] : users.toSorted(order), keyOf, make);
}

/**
 * The room and the users with direct messages, with the number of unread ones. Without such users, there is nothing to choose.
 * @param choose called with the user; without one for the room
 */
export function showThreads(threads, unreadOfRoom, { name, names }, choose) {
  byId('threads').hidden = threads.length === 0;
  const isElsewhere = threads.some(({ isOpen }) => isOpen);
  const all = [{ user: '', unread: unreadOfRoom, isOpen: !isElsewhere }, ...threads];
  const keyOf = ({ user, unread, isOpen }) =>
    JSON.stringify([user, names.get(user), names.shared.get(user), unread, isOpen, name]);
  const make = ({ user, unread, isOpen }) => {
    const mark =
      unread > 0 &&
      element('span', { class: 'count' }, String(unread), element('span', { class: 'sr-only' }, ' unread'));
    const label = user
      ? [avatar(user, names.get(user)), nameNode(user, names)]
      : [element('bdi', { class: 'name' }, `# ${name}`)];
    const attributes = { type: 'button', 'aria-current': isOpen && 'true', click: () => choose(user || undefined) };
    return element('li', {}, element('button', attributes, ...label, mark || ''));
  };
  syncRows(byId('thread-list'), all, keyOf, make);
  const unread = threads.reduce((sum, thread) => sum + thread.unread, 0);
  byId('unread').hidden = unread === 0;
  write(byId('unread-count'), String(unread));
}

/** Says to whom alone the text is sent; to everyone in the room if `user` is empty. */
export function showAddressee(user, names) {
  byId('addressee').hidden = !user;
  byId('addressee-name').replaceChildren(user ? nameNode(user, names) : '');
}

/** Says something, and shows it above the text field, with a button if `action` is given. Without text, hides the line. */
export function showBanner(text = '', action) {
  byId('banner').hidden = !text;
  write(byId('banner-text'), text);
  say(text);
  byId('banner-action').hidden = !action;
  byId('banner-action').textContent = action?.label ?? '';
  byId('banner-action').onclick = action?.run ?? null;
}

/** Tells screen readers. */
export function say(text) {
  byId('said').textContent = text;
}
