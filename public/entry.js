// The dialog for name or token, and room. The page remembers them: the token only as long as the tab is open.
import { byId } from './dom.js';

const DEFAULT_ROOM = 'lobby';

const ROOM = 'gjallar.room';
const SENT = 'gjallar.sent';
const KEEP_SENT = 1000;

/** The remembered name, token and room. The room in the URL takes precedence, so that a link leads to its room. */
export function recall() {
  return {
    name: read('localStorage', 'gjallar.name'),
    token: read('sessionStorage', 'gjallar.token'),
    room: roomOfAddress() || read('localStorage', ROOM) || DEFAULT_ROOM,
  };
}

/** Remembers the user. With a token, `name` is unknown until the server accepts it. */
export function rememberUser({ name, token }) {
  if (name) write('localStorage', 'gjallar.name', name);
  write('sessionStorage', 'gjallar.token', token);
}

/** The positions of the latest messages that this tab has sent. */
export function recallSent() {
  return new Set(read('sessionStorage', SENT).split('\n'));
}

export function rememberSent(positions) {
  write('sessionStorage', SENT, [...positions].slice(-KEEP_SENT).join('\n'));
}

/** Remembers a room that the server let the user into. */
export function rememberRoom(room) {
  write('localStorage', ROOM, room);
}

/** Forgets a room that the server did not let the user into, so that the next visit does not open it again. */
export function forgetRoom(room) {
  if (read('localStorage', ROOM) === room) write('localStorage', ROOM, '');
  if (roomOfAddress() === room) history.replaceState(null, '', location.pathname);
}

/** Puts the room into the URL. */
export function showInAddress(room) {
  const before = roomOfAddress();
  const address = `#${encodeURIComponent(room)}`;
  // Each room is an entry in the browser's history, except the page without a room.
  if (!before) history.replaceState(null, '', address);
  else if (before !== room) history.pushState(null, '', address);
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
  const user = byToken ? 'token' : 'name';
  const dialog = byId('entry');
  const form = byId('entry-form');
  let answered = false;
  dialog.classList.toggle('first', first);
  byId('entry-title').textContent = first
    ? 'One horn, heard everywhere at once'
    : `${byToken ? 'Token' : 'Name'} and room`;
  byId('entry-lead').textContent = first
    ? 'Join a room on this gjallar server. Everyone in the room gets your messages, whichever worker they are connected to.'
    : `If you change your ${user}, you reconnect. If you change the room, you join it at once.`;
  byId('entry-problem').textContent = problem;
  byId('entry-problem').hidden = !problem;
  for (const field of ['name', 'token']) {
    byId(`entry-${field}-field`).hidden = field !== user;
    byId(`entry-${field}`).disabled = field !== user;
  }
  byId('entry-name').value = name;
  byId('entry-token').value = token;
  byId('entry-room').value = room;
  byId('entry-cancel').hidden = first;
  byId('entry-cancel').onclick = () => dialog.close();
  dialog.oncancel = (event) => {
    if (first) event.preventDefault();
  };
  // Browsers close a dialog at the second Escape, even if the page prevents it.
  dialog.onclose = () => {
    if (first && !answered) dialog.showModal();
  };
  form.onsubmit = (event) => {
    event.preventDefault();
    const answer = { [user]: byId(`entry-${user}`).value.trim(), room: byId('entry-room').value.trim() };
    const missing = [user, 'room'].find((field) => !answer[field]);
    if (missing) {
      byId(`entry-${missing}`).focus();
      return;
    }
    answered = true;
    dialog.close();
    done({ name: '', token: '', ...answer });
  };
  if (!dialog.open) dialog.showModal();
  byId(`entry-${focus === 'user' ? user : focus}`).select();
}

// Storage may be disabled in the browser. The page then works, and remembers nothing.
function read(storage, key) {
  try {
    return globalThis[storage].getItem(key) ?? '';
  } catch {
    return '';
  }
}

function write(storage, key, value) {
  try {
    globalThis[storage].setItem(key, value);
  } catch {
    // See above.
  }
}
