// The room the user is in: its messages, its members, and the messages that are not sent yet. gjallar-client.js recovers
// messages that were missed while the connection was lost.

import { recallPartners, recallSent, rememberPartners, rememberSent } from './entry.js';
import { Rooms } from './gjallar-client.js';

/** The same request fails again, so the page does not offer it. */
const FINAL = ['BAD_ROOM', 'BAD_TEXT', 'ROOM_FORBIDDEN', 'TOO_MANY_ROOMS', 'NOT_IN_ROOM'];
/** Number of earlier messages to show. */
const EARLIER = 50;
/** Above this the server sends the number of members without their names. */
export const NAMED_MEMBERS = 100;
const WHO_DELAY_MS = 300;
/** Display names to remember. Those of users who left stay on their messages. */
const KEEP_NAMES = 1000;

/**
 * Events, with their `detail`: `entered` (another room was chosen; the name of the one with messages that wait, or ''),
 * `joined` { isFirst: not after a lost connection, missing: number of earlier messages that follow }, `recovered` (they have
 * arrived) { complete, isFirst }, `refused` (the error), `people` { members, users, names }, `message` { message, own,
 * namesake: of another client with this name, earlier: published before the join, partner: the user of the thread, or '' for the
 * room }, `deleted`, `outbox` (its items),
 * `failed` (why an item was not sent).
 *
 * An item of the outbox goes waiting ─▶ sending ─▶ sent ─▶ (its message arrives, the item is dropped)
 *                                  ▲        └───▶ failed ─▶ discarded
 *                                  └── retry ────────┘
 */
export class Room extends EventTarget {
  name = '';
  joined = false;
  /** Display names by user; `shared` has how many clients have chosen a name, if several have. A new map when they change. */
  names = named();
  /** The error with which the server did not let the user in, or null. */
  #refusal = null;
  #connection;
  #rooms;
  #isShowingEarlier = false;
  #outbox = [];
  #lastId = 0;
  /** Settles once the server has answered all that was sent. */
  #answered = Promise.resolve();
  #people = { members: 0, users: [] };
  #whoTimer = 0;
  /** The positions of the messages of this client: others may have the same name. */
  #sent = recallSent();
  /** The users with whom direct messages were exchanged. */
  #partners = new Set();
  /** The user whose partners these are. */
  #partnersOf = '';

  constructor(connection) {
    super();
    this.#connection = connection;
    this.#rooms = new Rooms(connection.socket);
    connection.socket.on('disconnect', () => {
      this.joined = false;
    });
    connection.socket.on('presence', (presence) => this.#onPresence(presence));
    connection.socket.on('direct', (message) => this.#onDirect(message));
    connection.socket.on('deleted', (deleted) => this.#announce('deleted', deleted));
  }

  /** Changes to another room. Unsent messages for the old room stay in the outbox until the user returns to it. */
  enter(name) {
    if (name === this.name) return;
    const left = this.#inState('waiting').length > 0 ? this.name : '';
    this.exit();
    this.name = name;
    this.#refusal = null;
    this.#outbox = this.#outbox.filter((item) => item.state !== 'sent');
    this.names = named();
    this.#setPeople({ members: 0, users: [] });
    this.#announce('entered', left);
    this.#showOutbox();
    this.#join();
  }

  /** Leaves the room until the next `enter`. */
  exit() {
    if (this.name) this.#rooms.leave(this.name).catch(() => {});
    this.name = '';
    this.joined = false;
  }

  /** Sends a text to the room or only to a user, now or as soon as the room is joined. */
  say(text, to) {
    this.#outbox.push({ id: this.#lastId++, room: this.name, to, text, state: 'waiting', problem: '' });
    this.#showOutbox();
    this.#flush();
  }

  retry(item) {
    this.#change(item, { state: 'waiting', problem: '' });
    if (!this.joined && this.#connection.socket.connected) this.#join();
    this.#flush();
  }

  /** Takes an item out of the outbox. */
  take(item) {
    this.#outbox.splice(this.#outbox.indexOf(item), 1);
    this.#showOutbox();
  }

  /** Announces the latest messages exchanged with a user. */
  async recallWith(user, earlier = true) {
    this.#remember(user);
    const page = { with: user, limit: EARLIER };
    const { messages } = await this.#connection.request('history', page).catch(() => ({ messages: [] }));
    for (const message of messages) if (!message.deleted) this.#onMessage(message, earlier);
  }

  /** Messages before this one, oldest first, and an empty `end` if older ones may follow. */
  async earlierThan({ offset, tag }) {
    const name = this.name;
    const page = await this.#connection.request('history', { room: name, before: offset, tag, limit: EARLIER });
    // Another room is on the page by now.
    const messages = name === this.name ? page.messages : [];
    const reachesStart = messages.length < EARLIER || messages[0].offset === 1;
    const start = reachesStart ? 'This is the first message.' : '';
    return {
      messages: messages.filter(({ deleted }) => !deleted).map((message) => this.#senderOf(message)),
      end: page.complete ? start : 'Earlier messages are no longer available.',
    };
  }

  /** Called once per room: after a lost connection, Rooms joins the room again by itself. */
  async #join() {
    const { name } = this;
    const ifHere = (run) => (detail) => name === this.name && run(detail);
    const onRefused = ifHere((error) => this.#onRefused(error));
    await this.#rooms
      .join(name, {
        last: EARLIER,
        onJoined: ifHere((joined) => this.#onJoined(joined)),
        onMessage: ifHere((message) => this.#onMessage(message)),
        onRecovered: ifHere((recovery) => {
          this.#isShowingEarlier = false;
          this.#announce('recovered', recovery);
        }),
        onRefused,
      })
      .catch(onRefused);
  }

  #onJoined({ members, worker, isFirst, missing }) {
    this.joined = true;
    this.#refusal = null;
    this.#isShowingEarlier = isFirst && missing > 0;
    this.#connection.answeredBy(worker);
    this.#setPeople({ members });
    this.#announce('joined', { isFirst, missing });
    this.#flush();
    this.#askWho(0);
    this.#recallPartners(isFirst);
  }

  /** After a reload, and after a lost connection, direct messages are asked for again. */
  #recallPartners(isFirst) {
    const { name } = this.#connection;
    const isOther = name !== this.#partnersOf;
    if (isOther) this.#partners = recallPartners(name);
    this.#partnersOf = name;
    if (isOther || !isFirst) for (const user of [...this.#partners]) this.recallWith(user, isFirst);
  }

  #remember(user) {
    this.#partners.delete(user);
    rememberPartners(this.#connection.name, this.#partners.add(user));
  }

  #onRefused(error) {
    // After a lost connection, Rooms tries again by itself; after a request without an answer, it does not.
    if (error.code !== 'LOST') {
      this.#refusal = error;
      this.#flush();
      this.#announce('refused', this.#refusal);
    } else if (this.#connection.socket.connected && !this.joined) this.#join();
  }

  #fail(item, { code, message: problem }) {
    this.#change(item, { state: 'failed', problem, final: FINAL.includes(code) });
    if (item.room === this.name) this.#announce('failed', problem);
  }

  #flush() {
    for (const item of this.#inState('waiting')) {
      if (this.#refusal) this.#fail(item, this.#refusal);
      else if (this.joined) this.#answered = Promise.all([this.#answered, this.#send(item)]);
    }
  }

  async #send(item) {
    this.#change(item, { state: 'sending' });
    try {
      const { room, to, text } = item;
      const reply = await (to
        ? this.#connection.request('direct', { to, text })
        : this.#connection.request('message', { room, text }));
      const key = keyOf(reply);
      if (key !== undefined) rememberSent(this.#sent.add(key));
      if (key === undefined || room !== this.name) this.take(item);
      else this.#change(item, { state: 'sent', key });
    } catch (error) {
      // The user decides whether to send it again, if it may have arrived.
      this.#fail(item, error);
    }
  }

  async #onMessage(message, earlier = this.#isShowingEarlier && !message.to) {
    // The answer says which messages are this client's, and may come after them.
    if (message.from === this.#connection.name) await this.#answered;
    if (!message.to && message.room !== this.name) return;
    this.#announce('message', { ...this.#senderOf(message), earlier });
    const item = this.#inState('sent').find(({ key }) => key === keyOf(message));
    if (item) this.take(item);
  }

  #onDirect(message) {
    this.#remember(this.#partnerIn(message));
    this.#onMessage(message);
  }

  /**
   * Whether a message is of this client, or of another one with its name: the position tells, if the server keeps messages. A
   * token proves whose name it is.
   */
  #senderOf(message) {
    const isNamed = message.from === this.#connection.name;
    const key = keyOf(message);
    const own = isNamed && (this.#connection.isProven || key === undefined || this.#sent.has(key));
    return { message, own, namesake: isNamed && !own, partner: this.#partnerIn(message) };
  }

  /** The other user of a direct message; '' for a message to the room. */
  #partnerIn({ from, to }) {
    return to === undefined ? '' : from === this.#connection.name ? to : from;
  }

  #onPresence({ room, members, names }) {
    if (room !== this.name) return;
    this.#setPeople({ members }, names);
    this.#askWho(WHO_DELAY_MS);
  }

  /** Asks who is here, which an event does not say of users who are connected twice. */
  #askWho(delay) {
    this.#whoTimer ||= setTimeout(async () => {
      this.#whoTimer = 0;
      const name = this.name;
      if (!this.joined || this.#people.members > NAMED_MEMBERS) return;
      const reply = await this.#connection.request('who', name).catch(() => null);
      if (!reply || name !== this.name) return;
      // A token proves whose name it is: the connections are those of one user.
      const shared = (!this.#connection.isProven && reply.connections) || {};
      this.#setPeople({ members: reply.members, users: reply.users }, reply.names, shared);
    }, delay);
  }

  #setPeople(changes, names = {}, shared = Object.fromEntries(this.names.shared)) {
    Object.assign(this.#people, changes);
    this.names = named([...this.names, ...Object.entries(names)].slice(-KEEP_NAMES), shared);
    this.#announce('people', { ...this.#people, names: this.names });
  }

  /** The items for this room that are in a state. */
  #inState(state) {
    return this.#outbox.filter((item) => item.room === this.name && item.state === state);
  }

  #showOutbox() {
    this.#announce(
      'outbox',
      this.#outbox.filter((item) => item.room === this.name),
    );
  }

  #change(item, changes) {
    Object.assign(item, changes);
    this.#showOutbox();
  }

  #announce(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

const named = (names = [], shared = {}) => Object.assign(new Map(names), { shared: new Map(Object.entries(shared)) });

/** What tells a message of the room from all others, as text; `undefined` if the server keeps no messages. */
export const keyOf = ({ tag }) => tag?.toString();
