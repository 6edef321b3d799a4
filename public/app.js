// The demo page: connects the connection, the room, the list of messages and the form to each other.
//
//   form ─▶ Room ─▶ Connection ─▶ server
//            │          │
//       MessageList    view
import { Connection } from './connection.js';
import { byId } from './dom.js';
import { askEntry, recall, rememberRoom, rememberUser, roomOfAddress } from './entry.js';
import { MessageList } from './messages.js';
import { Room } from './room.js';
import { say, showAddressee, showBanner, showMe, showPeople, showRoom, showStatus, showThreads } from './view.js';

const draft = byId('draft');
let unseen = 0;
let lastState = '';
/** The only user who gets what is written; undefined for everyone in the room. */
let addressee;
/** What is not sent yet. */
let outbox = [];
/** The user whose threads the page has. */
let threadsOf;

const connection = new Connection();
const room = new Room(connection);
const address = (user) => {
  openPeople(false);
  addressee = user;
  showAddressee(user, room.names);
  list.open(user ?? '');
  if (user) room.recallWith(user);
  showOutbox();
  showThreadList();
  // The pressed button may disappear with its item.
  draft.focus();
};
const list = new MessageList({
  retry: (item) => {
    room.retry(item);
    draft.focus();
  },
  edit: (item) => {
    room.take(item);
    editDraft(item.text);
    address(item.to);
  },
  take: (item) => {
    room.take(item);
    draft.focus();
  },
  loadOlder: (message) => room.earlierThan(message),
});
let wanted = recall();
const ask = (focus, more = {}) => askEntry({ ...wanted, focus, first: false, ...more }, begin);
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
  if (roomOfAddress() !== wanted.room) location.hash = encodeURIComponent(wanted.room);
  room.enter(wanted.room);
};

connection.addEventListener('status', ({ detail: status }) => {
  showStatus(status);
  if (status.state !== lastState) onState(status);
  lastState = status.state;
});
connection.addEventListener('identified', ({ detail }) => enter(detail.name));
byId('people-toggle').addEventListener('click', () => openPeople(!byId('people').classList.contains('open')));
byId('people').addEventListener('keydown', ({ key }) => key === 'Escape' && openPeople(false));
byId('me').addEventListener('click', () => ask('user'));
byId('change-room').addEventListener('click', () => ask('room'));
addEventListener('hashchange', () => {
  const linked = roomOfAddress();
  if (linked && connection.name) begin({ ...wanted, room: linked });
});
document.addEventListener('visibilitychange', () => showUnseen(0));

watchRoom();
watchComposer();
showRoom(wanted.room);
if (wanted.name || wanted.token) begin(wanted);
else ask('user', { first: true });

function onState({ state, problem }) {
  showBanner();
  if (state === 'connected') say('Connected.');
  if (state === 'reconnecting') {
    const what = lastState === 'connected' ? 'The connection is lost.' : 'The server is unreachable.';
    showBanner(`${what} Reconnecting. Messages you write are sent once you are connected again.`);
  }
  if (state === 'rejected') {
    const { code = '' } = problem;
    const message = code === 'TOKEN_MISSING' ? 'This server requires a token.' : problem.message;
    // With any other error, the dialog asks for the same as before.
    const byToken = code === 'TOKENS_OFF' ? false : code.startsWith('TOKEN_') || undefined;
    const run = () => ask('user', { byToken, problem: message });
    showBanner(message, { label: 'Change name or token', run });
    // In the middle of a conversation, a dialog would take the focus from what the user is writing.
    if (lastState === 'connecting') run();
  }
}

function watchRoom() {
  const on = (type, run) => room.addEventListener(type, ({ detail }) => run(detail));
  on('entered', (left) => {
    if (threadsOf === connection.name) list.clear();
    else list.forget();
    threadsOf = connection.name;
    address();
    showRoom(room.name);
    showUnseen(0);
    if (left) list.note(`Messages for ${left} could not be sent yet. Return to that room to send them.`);
  });
  on('joined', ({ isFirst, missing }) => {
    showBanner();
    rememberRoom(room.name);
    say(`You are in ${room.name}.`);
    if (!isFirst) list.note(`Reconnected. ${missing > 0 ? 'Messages you missed:' : 'You missed nothing.'}`);
    if (missing === 0) list.showStart();
  });
  on('recovered', ({ complete, isFirst }) => {
    list.showStart();
    if (!complete && !isFirst) list.note('Some messages you missed are no longer available.');
  });
  on('refused', ({ message }) => {
    showBanner(`You cannot enter ${room.name}: ${message}`, { label: 'Choose another room', run: () => ask('room') });
  });
  on('people', (people) => {
    list.setNames(people.names);
    showPeople(people, connection.name, address);
    showThreadList();
  });
  on('outbox', (items) => {
    outbox = items;
    showOutbox();
  });
  on('failed', (problem) => say(`Not sent: ${problem}`));
  on('deleted', (deleted) => list.markDeleted(deleted));
  on('message', (arrival) => {
    if (!list.add(arrival)) return;
    showThreadList();
    if (arrival.earlier || arrival.own) return;
    const { from, to, text } = arrival.message;
    say(`${room.names.get(from) ?? from}${to ? ', only to you' : ''}: ${text}`);
    if (document.hidden) showUnseen(unseen + 1);
  });
}

/** Shows what is on its way in the thread on the page. */
function showOutbox() {
  list.showOutbox(outbox.filter(({ to }) => to === addressee));
}

function showThreadList() {
  showThreads(list.threads, list.unreadOfRoom, room, address);
}

/** Shows in the title how many messages came while the page was hidden. */
function showUnseen(count) {
  unseen = count;
  document.title = `${count > 0 ? `(${count}) ` : ''}${byId('room-name').textContent} · gjallar`;
}

function watchComposer() {
  const composer = byId('composer');
  composer.addEventListener('submit', (event) => {
    event.preventDefault();
    const text = draft.value.trim();
    draft.focus();
    // Until the server has accepted the user's token, there is no room to write to.
    if (!room.name) return;
    editDraft('');
    if (!text) return;
    room.say(text, addressee);
    list.toBottom();
  });
  draft.addEventListener('input', fitDraft);
  byId('addressee-clear').addEventListener('click', () => address());
  draft.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && addressee) address();
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

/** Fits the text field to its text; style.css sets the limit. */
function fitDraft() {
  draft.style.height = 'auto';
  draft.style.height = `${draft.scrollHeight + draft.offsetHeight - draft.clientHeight}px`;
}

/** On a narrow page, the list of people covers the conversation, and has a button. */
function openPeople(isOpen) {
  byId('people').classList.toggle('open', isOpen);
  byId('people-toggle').setAttribute('aria-expanded', String(isOpen));
  byId(isOpen ? 'people-title' : 'people-toggle').focus();
}
