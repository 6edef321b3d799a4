// The list of messages: ordered and bounded. style.css and the browser keep it at its bottom, or where the reader has scrolled.
// The room and each user with whom there are direct messages have a thread, of which one is on the page.

import { dayLabel, dayOf, messageNode, outgoingNode, renameSender } from './bubbles.js';
import { byId, element, syncRows } from './dom.js';
import { keyOf } from './room.js';

/** Messages kept in the page. */
const KEEP = 3_000;
/** The scroller is this close to its top when it requests earlier messages. */
const NEAR_TOP_PX = 150;
/** Messages of one sender within this time share one heading. */
const GROUP_MS = 5 * 60_000;

export class MessageList {
  #actions;
  /** By user; that of the room has no name. */
  #threads = new Map();
  /** The thread on the page. */
  #open = this.#threadOf('');
  /** Whether the reader has scrolled up. A scroller that counts from its bottom has a `scrollTop` below 0 then. */
  #isUp = false;
  #unread = 0;
  #isLoading = false;
  /** See nameNode. */
  #names = Object.assign(new Map(), { shared: new Map() });

  /** `actions`: retry(item), edit(item) and take(item) of the outbox, and loadOlder(message), see Room.earlierThan. */
  constructor(actions) {
    this.#actions = actions;
    byId('messages').replaceWith(this.#open.node);
    byId('scroller').addEventListener('scroll', () => this.#onScroll(), { passive: true });
    byId('jump').addEventListener('click', () => {
      this.toBottom();
      byId('scroller').focus({ preventScroll: true });
    });
    byId('older-button').addEventListener('click', () => this.#loadOlder());
  }

  clear() {
    this.#threads.delete('');
    this.open('');
    this.#setOlder(false);
    byId('empty').hidden = true;
  }

  /** Forgets all threads: another user is on the page. */
  forget() {
    this.#threads.clear();
    this.clear();
  }

  /** Shows a thread: that of the room without a user. */
  open(user) {
    this.#open = this.#threadOf(user);
    this.#open.unread = 0;
    byId('messages').replaceWith(this.#open.node);
    byId('conversation').classList.toggle('private', user !== '');
    this.toBottom();
  }

  /** The users with a thread, those with the newest messages first, and how many messages of each are unread. */
  get threads() {
    const newest = ({ entries }) => entries.findLast(({ message }) => message)?.message.at ?? 0;
    return [...this.#threads]
      .filter(([user, thread]) => user !== '' && (thread.entries.length > 0 || thread === this.#open))
      .sort(([, one], [, other]) => newest(other) - newest(one))
      .map(([user, thread]) => ({ user, unread: thread.unread, isOpen: thread === this.#open }));
  }

  /** The unread messages of the room, while another thread is on the page. */
  get unreadOfRoom() {
    return this.#threadOf('').unread;
  }

  #threadOf(user) {
    const known = this.#threads.get(user);
    if (known) return known;
    // In order: `{ node, message, own, namesake }` for a message, `{ node }` for a note.
    const made = {
      entries: [],
      keys: new Set(),
      unread: 0,
      node: element('ol', { class: 'messages', id: 'messages' }),
    };
    this.#threads.set(user, made);
    return made;
  }

  /** Inserts a new or an earlier message at its position. Returns false if its thread has it. */
  add(arrival) {
    const { message, own, earlier, partner } = arrival;
    const thread = this.#threadOf(partner);
    const { entries, keys, node } = thread;
    const key = keyOf(message);
    if (key !== undefined && keys.has(key)) return false;
    keys.add(key);

    const index = placeFor(entries, message);
    const entry = { ...arrival, node: messageNode(arrival, this.#names) };
    node.insertBefore(entry.node, entries[index]?.node ?? null);
    entries.splice(index, 0, entry);
    arrange(entries, index);
    arrange(entries, index + 1);
    const isOpen = thread === this.#open;
    if (!isOpen && !own && !earlier) thread.unread += 1;
    if (isOpen && entry === entries.at(-1) && this.#isUp && !own) this.#setUnread(this.#unread + 1);
    if (entries.length > KEEP) this.#dropFirst(thread);
    return true;
  }

  /** Shows the items of the outbox below the messages. */
  showOutbox(items) {
    const keyOfItem = ({ id, state, problem }) => [id, state, problem].join();
    syncRows(byId('outbox'), items, keyOfItem, (item) => outgoingNode(item, this.#actions));
  }

  /** Shows the messages of these users under their display names, those that are in the list included. */
  setNames(names) {
    const known = this.#names;
    this.#names = names;
    const isOther = (user) => known.get(user) !== names.get(user) || known.shared.get(user) !== names.shared.get(user);
    for (const { node, message, own } of this.#allEntries()) {
      if (message && !own && isOther(message.from)) renameSender(node, message, names);
    }
  }

  /** Shows that messages were deleted, in their places. */
  markDeleted({ ranges, with: user = '' }) {
    for (const { message, node } of this.#threadOf(user).entries) {
      const isGone = ranges.some(([first, last]) => first <= message?.offset && message.offset <= last);
      if (isGone) node.querySelector('.text').textContent = 'This message was deleted.';
    }
  }

  /** A line about the conversation between the messages. */
  note(text) {
    const node = element('li', { class: 'note' }, text);
    const room = this.#threadOf('');
    room.node.append(node);
    room.entries.push({ node });
  }

  #allEntries() {
    return [...this.#threads.values()].flatMap(({ entries }) => entries);
  }

  /** Called after the join: from now on, an empty list means that the room has no messages. */
  showStart() {
    byId('empty').hidden = false;
    if (this.#firstMessage()?.offset > 1) this.#setOlder(true);
  }

  toBottom() {
    byId('scroller').scrollTop = 0;
    this.#isUp = false;
    this.#setUnread(0);
  }

  #dropFirst(thread) {
    const { node, message } = thread.entries.shift();
    node.remove();
    if (message) thread.keys.delete(keyOf(message));
    arrange(thread.entries, 0);
    if (thread === this.#threadOf('')) this.#setOlder(true);
  }

  /** The oldest message of the room that is shown. */
  #firstMessage() {
    return this.#threadOf('').entries.find(({ message }) => message)?.message;
  }

  /** Shows the button for earlier messages, or `end`, or nothing. */
  #setOlder(hasOlder, end = '') {
    byId('older').hidden = !hasOlder && !end;
    byId('older-button').hidden = !hasOlder;
    byId('older-end').textContent = end;
  }

  async #loadOlder() {
    const first = this.#firstMessage();
    if (byId('older-button').hidden || this.#isLoading || !first || this.#open !== this.#threadOf('')) return;
    if (this.#open.entries.length > KEEP / 2) {
      this.#setOlder(false, `The page goes back no further than ${KEEP / 2} messages.`);
      return;
    }
    this.#isLoading = true;
    const page = await this.#actions.loadOlder(first).catch(() => undefined);
    this.#isLoading = false;
    // Without an answer, the button stays for another try. The room may have changed.
    if (!page || first !== this.#firstMessage()) return;
    for (const message of page.messages) this.add(message);
    this.#setOlder(!page.end, page.end);
  }

  #onScroll() {
    const { scrollTop, scrollHeight, clientHeight } = byId('scroller');
    this.#isUp = scrollTop < -1;
    if (!this.#isUp) this.#setUnread(0);
    if (this.#isUp && scrollHeight - clientHeight + scrollTop < NEAR_TOP_PX) this.#loadOlder();
  }

  #setUnread(count) {
    this.#unread = count;
    byId('jump').hidden = count === 0;
    byId('jump').textContent = count === 1 ? '1 new message ↓' : `${count} new messages ↓`;
  }
}

function isLater(a, b) {
  return a.tag !== undefined && b.tag !== undefined ? a.tag > b.tag : a.at > b.at;
}

/** The index after the last message that is not later. Notes have no position in the log and do not move. */
function placeFor(entries, message) {
  let place = entries.length;
  for (let index = place - 1; index >= 0; index -= 1) {
    const other = entries[index].message;
    if (!other) continue;
    if (!isLater(other, message)) break;
    place = index;
  }
  return place;
}

/** Gives the entry at `index` a day and a heading if its day or sender differs from the previous message. */
function arrange(entries, index) {
  const entry = entries[index];
  if (!entry?.message) return;
  const { from, to, at } = entry.message;
  const previous = entries.findLast(({ message }, place) => message && place < index);
  const before = previous?.message ?? {};
  const newDay = dayOf(before.at) !== dayOf(at);
  const isSame = previous?.own === entry.own && before.from === from && before.to === to;
  const isNext = previous === entries[index - 1];
  entry.node.classList.toggle('follows', isSame && isNext && !newDay && at - before.at < GROUP_MS);
  entry.node.querySelector('.day')?.remove();
  if (newDay) entry.node.prepend(element('p', { class: 'day' }, dayLabel(at)));
}
