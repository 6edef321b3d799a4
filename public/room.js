// The room the user is in: its messages, its members, and the messages that are not sent yet. gjallar-client.js recovers
// messages that were missed while the connection was lost.

import { recallSent, rememberSent } from './entry.js';
import { Rooms } from './gjallar-client.js';
import { problemOf } from './problems.js';

/** Number of earlier messages to show. */
const EARLIER = 50;
/** Above this the server sends the number of members without their names. */
const NAMED_MEMBERS = 100;
const WHO_DELAY_MS = 500;
/** Display names to remember. Those of users who left stay on their messages. */
const KEEP_NAMES = 1000;

/**
 * Events, with their `detail`: `entered` (another room was chosen), `joined` { returned: after a lost connection,
 * missing: number of earlier messages that follow }, `recovered` (they have arrived) { complete, isFirst },
 * `refused` { text, final: whether another try fails too }, `people` { members, users, names }, `presence` { joined, left },
 * `message` { message, own, namesake: of another client with this name, earlier: published before the join }, `deleted`,
 * `outbox` (its items that have not arrived), `failed` (an item, with why).
 *
 * An item of the outbox goes waiting ─▶ sending ─▶ sent ─▶ (its message arrives, the item is dropped)
 *                                  ▲        └───▶ failed ─▶ discarded
 *                                  └── retry ────────┘
 */
export class Room extends EventTarget {
  name = '';
  joined = false;
  /** Display names by user. A new map when they change. */
  names = new Map();
  /** Why the server did not let the user in: the problem, or null. */
  #refusal = null;
  #connection;
  #rooms;
  #isShowingEarlier = false;
  #outbox = [];
  #lastId = 0;
  #joinedAs = '';
  #members = 0;
  #users = null;
  #whoTimer = 0;
  /** The positions of the messages of this client: others may have the same name. */
  #sent = recallSent();
  /** The users with whom direct messages were exchanged. */
  #partners = new Set();

  constructor(connection) {
    super();
    this.#connection = connection;
    this.#rooms = new Rooms(connection.socket);
    connection.addEventListener('down', () => this.#onDown());
    connection.addEventListener('presence', ({ detail }) => this.#onPresence(detail));
    connection.addEventListener('direct', ({ detail }) => this.#onDirect(detail));
    connection.addEventListener('deleted', ({ detail }) => {
      if (detail.with || detail.room === this.name) this.#announce('deleted', detail);
    });
  }

  /** Changes to another room. Unsent messages for the old room stay in the outbox until the user returns to it. */
  enter(name) {
    if (name === this.name) return;
    const left = this.name;
    const leftWaiting = this.#waiting().length;
    if (left) this.#rooms.leave(left).catch(() => {});
    this.name = name;
    this.joined = false;
    this.#refusal = null;
    this.#joinedAs = '';
    this.#outbox = this.#outbox.filter((item) => item.state !== 'sent');
    this.names = new Map();
    this.#setPeople(0, null);
    this.#announce('entered', { left, leftWaiting });
    this.#showOutbox();
    this.#join();
  }

  /** Leaves the room until the next `enter`. */
  exit() {
    if (!this.name) return;
    this.#rooms.leave(this.name).catch(() => {});
    this.name = '';
    this.joined = false;
  }

  /** Sends a text to the room or only to a user, now or as soon as the room is joined. */
  say(text, to) {
    this.#lastId += 1;
    const item = { id: this.#lastId, room: this.name, to, text, state: 'waiting', problem: '' };
    this.#outbox.push(item);
    this.#showOutbox();
    if (this.#refusal) this.#failWaiting();
    this.#flush();
  }

  retry(id) {
    const item = this.#outbox.find((each) => each.id === id);
    if (!item) return;
    this.#change(item, { state: 'waiting', doubt: false, problem: '' });
    if (!this.joined && this.#connection.connected) this.#join();
    this.#flush();
  }

  /** Takes a failed item out of the outbox. Returns its text and its recipient. */
  take(id) {
    const item = this.#outbox.find((each) => each.id === id);
    if (item) this.#drop(item);
    return item ?? { text: '' };
  }

  /** Announces the latest messages exchanged with a user. */
  async recallWith(user) {
    this.#partners.add(user);
    const page = { with: user, limit: EARLIER };
    const { messages } = await this.#connection.request('history', page).catch(() => ({ messages: [] }));
    for (const message of messages) if (!message.deleted) this.#onMessage(message, true);
  }

  /**
   * Messages before this one, oldest first. `reachesStart` is false if older ones may follow, and `complete` says whether
   * none is missing.
   */
  async earlierThan({ epoch, offset }) {
    const name = this.name;
    const page = await this.#connection.request('history', { room: name, epoch, before: offset, limit: EARLIER });
    // Another room is on the page by now, or the server has lost the log that the offset belongs to.
    const messages = name === this.name && page.epoch === epoch ? page.messages : [];
    return {
      messages: messages.map((message) => ({ ...this.#senderOf(message), earlier: true })),
      reachesStart: messages.length < EARLIER || messages[0].offset === 1,
      complete: page.complete && page.epoch === epoch,
    };
  }

  /** Called once per room: after a lost connection, Rooms joins the room again by itself. */
  async #join() {
    const { name } = this;
    try {
      await this.#rooms.join(name, {
        last: EARLIER,
        onJoined: (joined) => name === this.name && this.#onJoined(joined),
        onMessage: (message) => name === this.name && this.#onMessage(message),
        onRecovered: (recovery) => name === this.name && this.#onRecovered(recovery),
        onRefused: (error) => this.#onRefused(name, error),
      });
    } catch (error) {
      this.#onRefused(name, error);
    }
  }

  #onJoined({ members, worker, isFirst, missing }) {
    const returned = this.#joinedAs === this.#connection.name;
    this.joined = true;
    this.#refusal = null;
    this.#joinedAs = this.#connection.name;
    this.#isShowingEarlier = isFirst && missing > 0;
    this.#connection.answeredBy(worker);
    this.#setPeople(members, this.#users);
    this.#announce('joined', { returned, missing });
    this.#flush();
    this.#askWho(0);
    if (returned) for (const user of this.#partners) this.recallWith(user);
  }

  #onRecovered({ complete, isFirst }) {
    this.#isShowingEarlier = false;
    this.#announce('recovered', { complete, isFirst });
  }

  #onRefused(name, error) {
    if (name !== this.name) return;
    // After a lost connection, Rooms tries again by itself; after a request without an answer, it does not.
    if (error.code !== 'LOST') {
      this.#refusal = problemOf(error);
      this.#failWaiting();
      this.#announce('refused', this.#refusal);
    } else if (this.#connection.connected && !this.joined) this.#join();
  }

  #onDown() {
    this.joined = false;
    clearTimeout(this.#whoTimer);
  }

  #failWaiting() {
    const { text: problem, final } = this.#refusal;
    for (const item of this.#waiting()) this.#change(item, { state: 'failed', problem, final });
  }

  #flush() {
    if (!this.joined) return;
    for (const item of this.#waiting()) this.#send(item);
  }

  async #send(item) {
    this.#change(item, { state: 'sending' });
    try {
      const { room, to, text } = item;
      const { epoch, offset } = await (to
        ? this.#connection.request('direct', { to, text })
        : this.#connection.request('message', { room, text }));
      this.#remember({ epoch, offset });
      if (item.echoed || room !== this.name) this.#drop(item);
      else this.#change(item, { state: 'sent', epoch, offset });
    } catch (error) {
      // The message may have arrived, so the user decides whether to send it again.
      const doubt = error.code === 'LOST' || error.code === 'TIMEOUT';
      const { text, final } = problemOf(error);
      const problem = doubt ? `${text} The message may have arrived anyway.` : text;
      this.#change(item, { state: 'failed', echoed: false, doubt, problem, final });
    }
  }

  #onMessage(message, earlier = this.#isShowingEarlier && !message.to) {
    // A direct message that got no answer may be among earlier ones.
    const isKnown = earlier && (!message.to || this.#sent.has(keyOf(message)));
    const canBeEcho = message.from === this.#connection.name && !isKnown;
    const item = canBeEcho ? this.#ofThisRoom().find((each) => isEchoOf(message, each)) : undefined;
    const sender = item ? { message, own: true } : this.#senderOf(message);
    if (item) this.#remember(message);
    this.#announce('message', { ...sender, earlier });
    if (item && item.state !== 'sending') this.#outbox.splice(this.#outbox.indexOf(item), 1);
    else if (item) item.echoed = true;
    if (item) this.#showOutbox();
  }

  #onDirect(message) {
    this.#partners.add(message.from === this.#connection.name ? message.to : message.from);
    this.#onMessage(message);
  }

  /** Whether a message is of this client, or of another one with its name. A token proves whose name it is. */
  #senderOf(message) {
    const isNamed = message.from === this.#connection.name;
    const own = isNamed && (this.#connection.isProven || this.#sent.has(keyOf(message)));
    return { message, own, namesake: isNamed && !own };
  }

  #remember(message) {
    const key = keyOf(message);
    if (key === undefined || this.#sent.has(key)) return;
    this.#sent.add(key);
    rememberSent(this.#sent);
  }

  #onPresence({ room, members, joined, left, names }) {
    if (room !== this.name) return;
    if (!joined && !left) {
      this.#setPeople(members, null);
      this.#askWho(WHO_DELAY_MS);
      return;
    }
    const changes = { joined: joined ?? [], left: left ?? [] };
    const users = this.#users && new Set(this.#users);
    for (const name of changes.left) users?.delete(name);
    for (const name of changes.joined) users?.add(name);
    this.#learnNames([...changes.joined, ...changes.left], names);
    this.#setPeople(members, users);
    this.#announce('presence', changes);
    // One user can be connected twice, or join and leave within one event: then the server's list is needed.
    if (users?.size !== members) this.#askWho(WHO_DELAY_MS);
  }

  #askWho(delay) {
    clearTimeout(this.#whoTimer);
    this.#whoTimer = setTimeout(async () => {
      const name = this.name;
      if (!this.joined || this.#members > NAMED_MEMBERS) return;
      const reply = await this.#connection.request('who', name).catch(() => null);
      if (!reply || name !== this.name) return;
      this.#learnNames(reply.users ?? [], reply.names);
      this.#setPeople(reply.members ?? this.#members, reply.users ? new Set(reply.users) : null);
    }, delay);
  }

  #setPeople(members, users) {
    this.#members = members;
    this.#users = members > NAMED_MEMBERS ? null : users;
    this.#announce('people', { members, users: this.#users && [...this.#users], names: this.names });
  }

  /** Takes over the display names in `given`. Users that it does not list have none. */
  #learnNames(users, given = {}) {
    const learned = new Map(this.names);
    for (const user of users) {
      learned.delete(user);
      if (Object.hasOwn(given, user)) learned.set(user, given[user]);
    }
    this.names = new Map([...learned].slice(-KEEP_NAMES));
  }

  #ofThisRoom() {
    return this.#outbox.filter((item) => item.room === this.name);
  }

  #showOutbox() {
    const items = this.#ofThisRoom().filter(({ echoed }) => !echoed);
    this.#announce('outbox', items);
  }

  #waiting() {
    return this.#ofThisRoom().filter((item) => item.state === 'waiting');
  }

  #change(item, changes) {
    Object.assign(item, changes);
    this.#showOutbox();
    if (item.state === 'failed' && item.room === this.name) this.#announce('failed', item.problem);
  }

  #drop(item) {
    this.#outbox.splice(this.#outbox.indexOf(item), 1);
    this.#showOutbox();
  }

  #announce(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

/** A message's position in the room's log; `undefined` if the server keeps no log. */
export function keyOf({ epoch, offset }) {
  return offset === undefined ? undefined : `${epoch}/${offset}`;
}

/** Whether an own message is that item: compares positions if both are known, and texts otherwise. */
function isEchoOf(message, item) {
  // An item that failed without an answer may have arrived, and is then among the recovered messages.
  if (item.to !== message.to || item.echoed || item.state === 'waiting' || (item.state === 'failed' && !item.doubt))
    return false;
  if (item.offset !== undefined && message.offset !== undefined) return keyOf(item) === keyOf(message);
  return item.text === message.text;
}
