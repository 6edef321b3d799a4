// The dialog for name and room, and what the page remembers of them.
import { byId } from './view.js';

const DEFAULT_ROOM = 'lobby';

/** Remembered name and room; the room of the address wins, so that a link leads to its room. */
export function recall() {
  return { name: read('gjallar.name'), room: roomOfAddress() || read('gjallar.room') || DEFAULT_ROOM };
}

export function remember(name, room) {
  write('gjallar.name', name);
  write('gjallar.room', room);
  const before = roomOfAddress();
  const address = `#${encodeURIComponent(room)}`;
  // Each room is a step in the browser's history, but the page without a room is none to go back to.
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
 * Asks for name and room. `focus` is the field to begin with, `name` or `room`; the first time there is no way around an answer.
 * `done` gets `{ name, room }`.
 */
export function askEntry({ name, room, focus, first }, done) {
  const dialog = byId('entry');
  const form = byId('entry-form');
  let answered = false;
  dialog.classList.toggle('first', first);
  byId('entry-title').textContent = first ? 'One horn, heard everywhere at once' : 'Name and room';
  byId('entry-lead').textContent = first
    ? 'Join a room on this gjallar server. Everyone in it hears you, whichever worker they are connected to.'
    : 'A new name reconnects you. Another room is joined at once.';
  byId('entry-name').value = name;
  byId('entry-room').value = room;
  byId('entry-cancel').hidden = first;
  byId('entry-cancel').onclick = () => dialog.close();
  dialog.oncancel = (event) => {
    if (first) event.preventDefault();
  };
  // Browsers close a dialog at the second Escape, whatever its page says.
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

// Storage may be switched off in the browser; then the page works and forgets.
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
