// The dialog for name and room. The page remembers both.
import { byId } from './view.js';

const DEFAULT_ROOM = 'lobby';

/** The remembered name and room. The room in the URL takes precedence, so that a link leads to its room. */
export function recall() {
  return { name: read('gjallar.name'), room: roomOfAddress() || read('gjallar.room') || DEFAULT_ROOM };
}

export function remember(name, room) {
  write('gjallar.name', name);
  write('gjallar.room', room);
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
 * Asks for name and room. `focus` is the field to start in, `name` or `room`. The first time, the dialog cannot be
 * cancelled. `done` gets `{ name, room }`.
 */
export function askEntry({ name, room, focus, first }, done) {
  const dialog = byId('entry');
  const form = byId('entry-form');
  let answered = false;
  dialog.classList.toggle('first', first);
  byId('entry-title').textContent = first ? 'One horn, heard everywhere at once' : 'Name and room';
  byId('entry-lead').textContent = first
    ? 'Join a room on this gjallar server. Everyone in the room gets your messages, whichever worker they are connected to.'
    : 'If you change your name, you reconnect. If you change the room, you join it at once.';
  byId('entry-name').value = name;
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
    const answer = { name: byId('entry-name').value.trim(), room: byId('entry-room').value.trim() };
    const missing = ['name', 'room'].find((field) => !answer[field]);
    if (missing) {
      byId(`entry-${missing}`).focus();
      return;
    }
    answered = true;
    dialog.close();
    done(answer);
  };
  if (!dialog.open) dialog.showModal();
  byId(`entry-${focus}`).select();
}

// Storage may be disabled in the browser. The page then works, and remembers nothing.
function read(key) {
  try {
    return localStorage.getItem(key) ?? '';
  } catch {
    return '';
  }
}

function write(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // See above.
  }
}
