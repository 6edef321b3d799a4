// The list of messages: ordered and bounded. style.css and the browser keep it at its bottom, or where the reader has scrolled.

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
  /** In order: `{ node, message, own, namesake }` for a message, `{ node }` for a note. */
  #entries = [];
  #keys = new Set();
  /** Whether the reader has scrolled up. A scroller that counts from its bottom has a `scrollTop` below 0 then. */
  #isUp = false;
  #unread = 0;
  #isLoading = false;
  /** Display names by user. */
  #names = new Map();

  /** `actions`: retry(item), edit(item) and take(item) of the outbox, reply(user), and loadOlder(message), see Room.earlierThan. */
  constructor(actions) {
    this.#actions = actions;
    byId('scroller').addEventListener('scroll', () => this.#onScroll(), { passive: true });
    byId('jump').addEventListener('click', () => {
      this.toBottom();
      byId('scroller').focus({ preventScroll: true });
    });
    byId('older-button').addEventListener('click', () => this.#loadOlder());
  }

  clear() {
    this.#entries = [];
    this.#keys.clear();
    this.#setOlder(false);
    byId('messages').replaceChildren();
    byId('empty').hidden = true;
    this.toBottom();
  }

  /** Inserts a new or an earlier message at its position. */
  add(arrival) {
    const { message, own } = arrival;
    const key = keyOf(message);
    if (key !== undefined && this.#keys.has(key)) return;
    this.#keys.add(key);

    const index = this.#placeFor(message);
    const entry = { ...arrival, node: messageNode(arrival, this.#names, this.#actions) };
    byId('messages').insertBefore(entry.node, this.#entries[index]?.node ?? null);
    this.#entries.splice(index, 0, entry);
    this.#arrange(index);
    this.#arrange(index + 1);
    if (entry === this.#entries.at(-1) && this.#isUp && !own) this.#setUnread(this.#unread + 1);
    if (this.#entries.length > KEEP) this.#dropFirst();
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
    for (const { node, message, own } of this.#entries) {
      if (message && !own && known.get(message.from) !== names.get(message.from)) renameSender(node, message, names);
    }
  }

  /** Shows that messages were deleted, in their places. */
  markDeleted({ ranges }) {
    for (const { message, node } of this.#entries) {
      const isGone = ranges.some(([first, last]) => first <= message?.offset && message.offset <= last);
      if (isGone) node.querySelector('.text').textContent = 'This message was deleted.';
    }
  }

  /** A line about the conversation between the messages. */
  note(text) {
    const node = element('li', { class: 'note' }, text);
    byId('messages').append(node);
    this.#entries.push({ node });
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

  /** The index after the last message that is not later. Notes have no position in the log and do not move. */
  #placeFor(message) {
    let place = this.#entries.length;
    for (let index = place - 1; index >= 0; index -= 1) {
      const other = this.#entries[index].message;
      if (!other) continue;
      if (!isLater(other, message)) break;
      place = index;
    }
    return place;
  }

  /** Gives the entry at `index` a day and a heading if its day or sender differs from the previous message. */
  #arrange(index) {
    const entry = this.#entries[index];
    if (!entry?.message) return;
    const { from, to, at } = entry.message;
    const previous = this.#entries.findLast(({ message }, place) => message && place < index);
    const before = previous?.message ?? {};
    const newDay = dayOf(before.at) !== dayOf(at);
    const isSame = previous?.own === entry.own && before.from === from && before.to === to;
    const isNext = previous === this.#entries[index - 1];
    entry.node.classList.toggle('follows', isSame && isNext && !newDay && at - before.at < GROUP_MS);
    entry.node.querySelector('.day')?.remove();
    if (newDay) entry.node.prepend(element('p', { class: 'day' }, dayLabel(at)));
  }

  #dropFirst() {
    const { node, message } = this.#entries.shift();
    node.remove();
    if (message) this.#keys.delete(keyOf(message));
    this.#arrange(0);
    this.#setOlder(true);
  }

  /** The oldest message of the room that is shown. */
  #firstMessage() {
    return this.#entries.find(({ message }) => message && !message.to)?.message;
  }

  /** Shows the button for earlier messages, or `end`, or nothing. */
  #setOlder(hasOlder, end = '') {
    byId('older').hidden = !hasOlder && !end;
    byId('older-button').hidden = !hasOlder;
    byId('older-end').textContent = end;
  }

  async #loadOlder() {
    const first = this.#firstMessage();
    if (byId('older-button').hidden || this.#isLoading || !first) return;
    if (this.#entries.length > KEEP / 2) {
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
