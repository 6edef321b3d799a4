// The demo page: connects the connection, the room, the list of messages and the form to each other.
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
  showBanner('The page could not load /socket.io/socket.io.min.js from the server. Reload the page to try again.', {
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
  showPeople({ members: 0, users: null, names: room.names }, '');
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
    const what = lastState === 'connected' ? 'The connection is lost.' : 'The server is unreachable.';
    showBanner(`${what} Reconnecting. Messages you write are sent once you are connected again.`);
    announceState(`${what} Reconnecting.`);
  } else if (state === 'refused') {
    const text = `The server rejected the connection: ${problem}`;
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
      list.note(
        `${what} for ${detail.left} could not be sent yet. Return to that room to send ${detail.leftWaiting === 1 ? 'it' : 'them'}.`,
      );
    }
  });
  room.addEventListener('joined', ({ detail }) => {
    showBanner(null);
    announceState(`You are in ${room.name}.`);
    if (detail.returned)
      list.note(`Reconnected. ${detail.missing > 0 ? 'Messages you missed:' : 'You missed nothing.'}`);
    if (detail.missing === 0) list.showEmptyHint();
  });
  room.addEventListener('recovered', ({ detail }) => {
    list.showEmptyHint();
    if (!detail.complete && !detail.isFirst) list.note('Some messages you missed are no longer available.');
  });
  room.addEventListener('refused', ({ detail }) => {
    const text = `You cannot join this room: ${detail.message}`;
    showBanner(text, { label: 'Choose another room', run: () => ask('room') });
    announceState(text);
  });
  room.addEventListener('people', ({ detail }) => {
    list.setNames(detail.names);
    showPeople(detail, connection.name);
  });
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
    announceMessage(detail.message, room.names);
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

/** Fits the text field to its text; style.css sets the limit. */
function fitDraft() {
  draft.style.height = 'auto';
  draft.style.height = `${draft.scrollHeight + draft.offsetHeight - draft.clientHeight}px`;
}

/** On a narrow page, the list of people covers the conversation, which must then be inert. */
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
  // Safari's keyboard covers the page instead of shrinking it. A viewport that is zoomed in has no keyboard.
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

/** Moves the focus to the text field, because the pressed button disappears with its item. */
function refocus(action) {
  action();
  draft.focus();
}
