// The demo page: wires the connection, the room, the list of messages and the form to each other.
//
//   form ─▶ Room ─▶ Connection ─▶ server
//            │          │
//       MessageList    view
import { Connection } from './connection.js';
import { askEntry, recall, remember, roomOfAddress } from './entry.js';
import { MessageList } from './messages.js';
import { Room } from './room.js';
import {
  announceMessage,
  announceState,
  byId,
  showBanner,
  showMe,
  showPeople,
  showRoom,
  showStatus,
  soundHorn,
  traceRoundTrip,
} from './view.js';

const narrow = matchMedia('(max-width: 760px)');
const draft = byId('draft');
let unseen = 0;
let lastState = '';

if (globalThis.io) start();
else
  showBanner('The server did not provide /socket.io/socket.io.min.js.', {
    label: 'Reload',
    run: () => location.reload(),
  });

function start() {
  const connection = new Connection();
  const room = new Room(connection);
  const list = new MessageList(
    {
      scroller: byId('scroller'),
      list: byId('messages'),
      outbox: byId('outbox'),
      empty: byId('empty'),
      jump: byId('jump'),
    },
    {
      retry: (id) => refocus(() => room.retry(id)),
      discard: (id) => refocus(() => room.discard(id)),
    },
  );
  const ask = (focus) =>
    askEntry({ name: connection.name, room: room.name, focus, first: false }, (answer) => begin(answer));
  const begin = ({ name, room: roomName }) => {
    remember(name, roomName);
    showMe(name);
    room.enter(roomName);
    connection.open(name);
    draft.focus();
  };

  watchConnection(connection, ask);
  watchRoom(room, list, connection, ask);
  watchComposer(room, list);
  watchPeoplePanel();
  watchPage();
  byId('me').addEventListener('click', () => ask('name'));
  byId('change-room').addEventListener('click', () => ask('room'));
  byId('copy-link').addEventListener('click', copyLink);
  addEventListener('popstate', () => {
    const wanted = roomOfAddress();
    if (wanted && connection.name) begin({ name: connection.name, room: wanted });
  });

  const known = recall();
  showRoom(known.room);
  showPeople({ members: 0, users: null }, '');
  if (known.name) begin(known);
  else askEntry({ ...known, focus: 'name', first: true }, begin);
}

function watchConnection(connection, ask) {
  let lastRtt = null;
  connection.addEventListener('status', ({ detail: status }) => {
    showStatus(status);
    if (status.rtt !== null && status.rtt !== lastRtt) traceRoundTrip(status.rtt);
    lastRtt = status.rtt;
    if (status.state !== lastState) onState(status, ask);
    lastState = status.state;
  });
}

function onState({ state, problem }, ask) {
  if (state === 'reconnecting') {
    const what = lastState === 'connected' ? 'The connection is lost.' : 'The server cannot be reached.';
    showBanner(`${what} What you write is kept and sent when it is back.`);
    announceState(`${what} Reconnecting.`);
  } else if (state === 'refused') {
    const text = `The server refused the connection: ${problem}`;
    showBanner(text, { label: 'Try another name', run: () => ask('name') });
    announceState(text);
  } else {
    showBanner(null);
    announceState(state === 'connected' ? 'Connected.' : '');
  }
}

function watchRoom(room, list, connection, ask) {
  room.addEventListener('entered', ({ detail }) => {
    list.clear();
    showRoom(room.name);
    document.title = `${room.name} · gjallar`;
    if (detail.leftWaiting > 0) {
      const what = detail.leftWaiting === 1 ? 'One message' : `${detail.leftWaiting} messages`;
      list.note(`${what} for ${detail.left} could not be sent yet. Return there to send.`);
    }
  });
  room.addEventListener('joined', ({ detail }) => {
    showBanner(null);
    announceState(`You are in ${room.name}.`);
    if (detail.returned) list.note(`Back again. ${detail.missing > 0 ? 'Said meanwhile:' : 'Nothing was missed.'}`);
    if (detail.missing === 0) list.showEmptyHint();
  });
  room.addEventListener('recovered', ({ detail }) => {
    list.showEmptyHint();
    if (!detail.complete && !detail.isFirst) list.note('Some of what was said meanwhile is gone.');
  });
  room.addEventListener('refused', ({ detail }) => {
    const text = `The room cannot be joined: ${detail.message}`;
    showBanner(text, { label: 'Choose another room', run: () => ask('room') });
    announceState(text);
  });
  room.addEventListener('people', ({ detail }) => showPeople(detail, connection.name));
  room.addEventListener('presence', ({ detail }) => {
    const others = (names) => names.filter((name) => name !== connection.name);
    list.presence(others(detail.joined), others(detail.left));
  });
  room.addEventListener('outgoing', ({ detail }) => {
    list.setOutgoing(detail);
    if (detail.state === 'failed') announceState(`Not sent: ${detail.problem}`);
  });
  room.addEventListener('discarded', ({ detail }) => list.removeOutgoing(detail.id));
  room.addEventListener('message', ({ detail }) => {
    list.add(detail);
    if (detail.earlier) return;
    soundHorn();
    if (detail.own) return;
    announceMessage(detail.message);
    if (document.hidden) countUnseen(room.name);
  });
}

function watchComposer(room, list) {
  const composer = byId('composer');
  composer.addEventListener('submit', (event) => {
    event.preventDefault();
    const text = draft.value.trim();
    draft.value = '';
    fitDraft();
    draft.focus();
    if (!text) return;
    room.say(text);
    list.toBottom();
  });
  draft.addEventListener('input', fitDraft);
  draft.addEventListener('keydown', (event) => {
    // While an input method composes, Enter chooses a word.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    composer.requestSubmit();
  });
}

/** The text field grows with its text; style.css sets the limit. */
function fitDraft() {
  draft.style.height = 'auto';
  draft.style.height = `${draft.scrollHeight + draft.offsetHeight - draft.clientHeight}px`;
}

/** On a narrow page the list of people lies over the conversation, which must then be out of reach. */
function watchPeoplePanel() {
  const panel = byId('people');
  const toggle = byId('people-toggle');
  const set = (open) => {
    panel.classList.toggle('open', open);
    byId('main').inert = open;
    toggle.setAttribute('aria-expanded', String(open));
    if (open) byId('people-title').focus();
  };
  const close = () => {
    if (!panel.classList.contains('open')) return;
    set(false);
    toggle.focus();
  };
  toggle.addEventListener('click', () => set(true));
  byId('people-close').addEventListener('click', close);
  panel.addEventListener('keydown', (event) => event.key === 'Escape' && close());
  narrow.addEventListener('change', () => set(false));
}

function watchPage() {
  const plainTitle = () => {
    unseen = 0;
    document.title = document.title.replace(/^\(\d+\) /, '');
  };
  document.addEventListener('visibilitychange', () => !document.hidden && plainTitle());
  // Safari lays its keyboard over the page instead of shrinking it; zooming in is no keyboard.
  const fit = () => {
    if (visualViewport.scale !== 1) return;
    document.documentElement.style.setProperty('--page-height', `${visualViewport.height}px`);
    scrollTo(0, 0);
  };
  globalThis.visualViewport?.addEventListener('resize', fit);
}

function countUnseen(roomName) {
  unseen += 1;
  document.title = `(${unseen}) ${roomName} · gjallar`;
}

async function copyLink() {
  const button = byId('copy-link');
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = 'Copied';
    announceState('The link to this room is copied.');
  } catch {
    // Without https there is no clipboard, but the address bar holds the same link.
    button.textContent = 'Copy the address';
  }
  setTimeout(() => {
    button.textContent = 'Copy link';
  }, 2_000);
}

/** The button that was pressed goes away with the item it belongs to. */
function refocus(action) {
  action();
  draft.focus();
}
