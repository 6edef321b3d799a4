// The dialog for name or token, and room. The page remembers them: the token only as long as the tab is open.
import { byId } from './dom.js';

const KEEP_SENT = 1000;
/** Users whose threads are asked for after a reload. */
const KEEP_PARTNERS = 20;
const TOKEN_HINT =
  'The server knows you by your token (a JWT). Ask its operator for one, and paste it here. This page keeps it until you close the tab.';

/** What the browser keeps, by key. Where it may keep nothing, the page works, and remembers as long as it is open. */
const forever = kept('localStorage');
const whileOpen = kept('sessionStorage');

function kept(storage) {
  try {
    return globalThis[storage];
  } catch {
    return {};
  }
}

/** The remembered name, token and room. The room in the URL takes precedence, so that a link leads to its room. */
export function recall() {
  return {
    name: forever['gjallar.name'] ?? '',
    token: whileOpen['gjallar.token'] ?? '',
    room: roomOfAddress() || forever['gjallar.room'] || 'lobby',
  };
}

/** Remembers the user. With a token, `name` is unknown until the server accepts it. */
export function rememberUser({ name, token }) {
  if (name) forever['gjallar.name'] = name;
  whileOpen['gjallar.token'] = token;
}

/** The positions of the latest messages that this tab has sent. */
export function recallSent() {
  return new Set(whileOpen['gjallar.sent']?.split('\n'));
}

export function rememberSent(positions) {
  whileOpen['gjallar.sent'] = [...positions].slice(-KEEP_SENT).join('\n');
}

/** The users with whom this user has a thread, the latest last. */
export function recallPartners(name) {
  return new Set(JSON.parse(whileOpen[`gjallar.with.${name}`] ?? '[]'));
}

export function rememberPartners(name, users) {
  whileOpen[`gjallar.with.${name}`] = JSON.stringify([...users].slice(-KEEP_PARTNERS));
}

/** Remembers a room that the server let the user into. */
export function rememberRoom(room) {
  forever['gjallar.room'] = room;
}

export function roomOfAddress() {
  try {
    return decodeURIComponent(location.hash.slice(1)).trim();
  } catch {
    return '';
  }
}

/**
 * Asks for name and room, or for token and room if `byToken`. `focus` is the field to start in, `user` or `room`. The
 * first time, the dialog cannot be cancelled. `problem` is the text of what went wrong before. `done` gets
 * `{ name, token, room }`.
 */
export function askEntry({ name, token = '', room, focus, first, byToken = Boolean(token), problem = '' }, done) {
  const kind = byToken ? 'token' : 'name';
  const dialog = byId('entry');
  const [user, place] = [byId('entry-user'), byId('entry-room')];
  dialog.classList.toggle('first', first);
  byId('entry-title').textContent = first
    ? 'One horn, heard everywhere at once'
    : `${byToken ? 'Token' : 'Name'} and room`;
  byId('entry-lead').textContent = first
    ? 'Join a room on this gjallar server. Everyone in the room gets your messages, whichever worker they are connected to.'
    : `If you change your ${kind}, you reconnect. If you change the room, you join it at once.`;
  byId('entry-problem').textContent = problem;
  byId('entry-user-label').textContent = `Your ${kind}`;
  byId('entry-hint').textContent = byToken ? TOKEN_HINT : '';
  user.type = byToken ? 'password' : 'text';
  user.autocomplete = byToken ? 'off' : 'nickname';
  user.value = byToken ? token : name;
  place.value = room;
  byId('entry-cancel').hidden = first;
  byId('entry-cancel').onclick = () => dialog.close();
  // Browsers close a dialog at the second Escape, even if the page prevents it.
  dialog.oncancel = () => !first;
  dialog.onclose = () => first && dialog.showModal();
  byId('entry-form').onsubmit = (event) => {
    event.preventDefault();
    dialog.onclose = null;
    dialog.close();
    done({ name: '', token: '', [kind]: user.value.trim(), room: place.value.trim() });
  };
  if (!dialog.open) dialog.showModal();
  (focus === 'user' ? user : place).select();
}
