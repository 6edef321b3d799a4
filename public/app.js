// The demo page: connects the connection, the room, the list of messages and the form to each other.
//
//   form ─▶ Room ─▶ Connection ─▶ server
//            │          │
//       MessageList    view
import { Connection } from './connection.js';
import { byId } from './dom.js';
import { askEntry, forgetRoom, recall, rememberRoom, rememberUser, roomOfAddress, showInAddress } from './entry.js';
import { MessageList } from './messages.js';
import { isAboutName, isAboutToken, MAX_TEXT, problemOf } from './problems.js';
import { Room } from './room.js';
import {
  announceMessage,
  announceState,
  showAddressee,
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
/** The counter appears when no more characters than this are left. */
const COUNT_FROM = 1_000;
let unseen = 0;
let lastState = '';
/** The only user who gets what is written; undefined for everyone in the room. */
let addressee;

if (globalThis.io) start();
else
  showBanner('The page could not load /socket.io/socket.io.min.js from the server. Reload the page to try again.', {
    label: 'Reload',
    run: () => location.reload(),
  });

function start() {
  const connection = new Connection();
  const room = new Room(connection);
  const list = new MessageList({
    retry: (id) => refocus(() => room.retry(id)),
    edit: (id) => refocus(() => edit(room.take(id))),
    take: (id) => refocus(() => room.take(id)),
    reply: (user) => refocus(() => address(user)),
    loadOlder: (message) => room.earlierThan(message),
  });
  const address = (user) => {
    addressee = user;
    showAddressee(user, room.names);
    if (user) room.recallWith(user);
  };
  const edit = ({ text, to }) => {
    editDraft(text);
    address(to);
  };
  let wanted = recall();
  const ask = (focus, more = {}) => askEntry({ ...wanted, focus, first: false, ...more }, begin);
  /** The button for a rejected connection: asks for what the server rejected, or connects again. */
  const remedyFor = (code, problem) => {
    const byToken = isAboutToken(code);
    if (byToken || isAboutName(code)) {
      const label = byToken ? 'Enter a token' : 'Choose another name';
      return { label, asks: true, run: () => ask('user', { byToken, problem }) };
    }
    return { label: 'Try again', run: () => connection.open(wanted) };
  };
  const begin = (answer) => {
    wanted = answer;
    rememberUser(answer);
    connection.open(answer);
    // With a token, the page knows which messages are its own when the server has named the user.
    if (connection.name) enter(connection.name);
    else room.exit();
    draft.focus();
  };
  const enter = (name) => {
    showMe(name);
    showInAddress(wanted.room);
    room.enter(wanted.room);
  };

  watchConnection(connection, remedyFor);
  const closePeople = watchPeoplePanel();
  const choose = (user) => {
    closePeople();
    refocus(() => address(user));
  };
  watchRoom(room, list, connection, { ask, address, choose });
  watchComposer(room, list, () => address());
  watchPage();
  connection.addEventListener('identified', ({ detail }) => enter(detail.name));
  byId('me').addEventListener('click', () => ask('user'));
  byId('change-room').addEventListener('click', () => ask('room'));
  byId('copy-link').addEventListener('click', copyLink);
  addEventListener('popstate', () => {
    const linked = roomOfAddress();
    if (linked && connection.name) begin({ ...wanted, room: linked });
  });

  showRoom(wanted.room);
  if (wanted.name || wanted.token) begin(wanted);
  else ask('user', { first: true });
}

function watchConnection(connection, remedyFor) {
  let lastRtt = null;
  connection.addEventListener('status', ({ detail: status }) => {
    showStatus(status);
    if (status.rtt !== null && status.rtt !== lastRtt) traceRoundTrip(status.rtt);
    lastRtt = status.rtt;
    if (status.state !== lastState) onState(status, remedyFor);
    lastState = status.state;
  });
}

function onState({ state, problem }, remedyFor) {
  if (state === 'reconnecting') {
    const what = lastState === 'connected' ? 'The connection is lost.' : 'The server is unreachable.';
    showBanner(`${what} Reconnecting. Messages you write are sent once you are connected again.`);
  } else if (state === 'rejected') {
    const { text } = problemOf(problem);
    const remedy = remedyFor(problem.code, text);
    showBanner(text, remedy);
    // In the middle of a conversation, a dialog would take the focus from what the user is writing.
    if (remedy.asks && lastState === 'connecting') remedy.run();
  } else {
    showBanner(null);
    announceState(state === 'connected' ? 'Connected.' : '');
  }
}

function watchRoom(room, list, connection, { ask, address, choose }) {
  room.addEventListener('entered', ({ detail }) => {
    list.clear();
    address();
    showRoom(room.name);
    document.title = `${room.name} · gjallar`;
    if (detail.leftWaiting > 0) {
      const [what, it] = detail.leftWaiting === 1 ? ['One message', 'it'] : [`${detail.leftWaiting} messages`, 'them'];
      list.note(`${what} for ${detail.left} could not be sent yet. Return to that room to send ${it}.`);
    }
  });
  room.addEventListener('joined', ({ detail }) => {
    showBanner(null);
    rememberRoom(room.name);
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
    if (detail.final) forgetRoom(room.name);
    const remedy = { label: 'Choose another room', run: () => ask('room') };
    showBanner(`You cannot enter ${room.name}: ${detail.text}`, remedy);
  });
  room.addEventListener('people', ({ detail }) => {
    list.setNames(detail.names);
    showPeople(detail, connection.name, choose);
  });
  room.addEventListener('presence', ({ detail }) => {
    const others = (names) => names.filter((name) => name !== connection.name);
    list.presence(others(detail.joined), others(detail.left));
  });
  room.addEventListener('outbox', ({ detail }) => list.showOutbox(detail));
  room.addEventListener('failed', ({ detail }) => announceState(`Not sent: ${detail}`));
  room.addEventListener('deleted', ({ detail }) => list.markDeleted(detail));
  room.addEventListener('message', ({ detail }) => {
    list.add(detail);
    if (detail.earlier) return;
    soundHorn();
    if (detail.own) return;
    announceMessage(detail.message, room.names);
    if (!document.hidden) return;
    unseen += 1;
    document.title = `(${unseen}) ${room.name} · gjallar`;
  });
}

function watchComposer(room, list, toEveryone) {
  const composer = byId('composer');
  composer.addEventListener('submit', (event) => {
    event.preventDefault();
    const text = draft.value.trim();
    draft.focus();
    if (text.length > MAX_TEXT) return announceState(byId('counter').textContent);
    // Until the server has accepted the user's token, there is no room to write to.
    if (!room.name) return;
    editDraft('');
    if (!text) return;
    room.say(text, addressee);
    list.toBottom();
  });
  draft.addEventListener('input', fitDraft);
  byId('addressee-clear').addEventListener('click', () => refocus(toEveryone));
  draft.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && addressee) toEveryone();
    // While an input method composes, Enter chooses a word.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    composer.requestSubmit();
  });
}

function editDraft(text) {
  draft.value = text;
  fitDraft();
}

/** Fits the text field to its text; style.css sets the limit. Counts the characters when few are left. */
function fitDraft() {
  const left = MAX_TEXT - draft.value.trim().length;
  const counter = byId('counter');
  counter.hidden = left > COUNT_FROM;
  counter.textContent = left < 0 ? `${(-left).toLocaleString()} too many` : `${left.toLocaleString()} left`;
  counter.classList.toggle('over', left < 0);
  draft.setAttribute('aria-invalid', String(left < 0));
  draft.style.height = 'auto';
  draft.style.height = `${draft.scrollHeight + draft.offsetHeight - draft.clientHeight}px`;
}

/** On a narrow page, the list of people covers the conversation, which must then be inert. */
function watchPeoplePanel() {
  const panel = byId('people');
  const toggle = byId('people-toggle');
  const set = (open) => {
    panel.classList.toggle('open', open);
    byId('conversation').inert = open;
    toggle.setAttribute('aria-expanded', String(open));
    if (open) byId('people-title').focus();
  };
  const close = () => {
    if (!panel.classList.contains('open')) return;
    set(false);
    toggle.focus();
  };
  toggle.addEventListener('click', () => (panel.classList.contains('open') ? close() : set(true)));
  byId('people-close').addEventListener('click', close);
  panel.addEventListener('keydown', (event) => event.key === 'Escape' && close());
  narrow.addEventListener('change', () => set(false));
  return close;
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
