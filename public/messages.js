// The list of messages: ordered, bounded, and stable while the reader has scrolled up.

import { dayLabel, dayOf, messageNode, outgoingNode, presenceText, renameSender, showDeleted } from './bubbles.js';
import { byId, element, syncRows } from './dom.js';
import { keyOf } from './room.js';

/** Messages kept in the page. */
const KEEP = 500;
/** Messages kept while the reader has scrolled up, who may request earlier ones. */
const KEEP_ABOVE = 3_000;
/** The scroller is this close to its top when it requests earlier messages. */
const NEAR_TOP_PX = 150;
/** Messages of one sender within this time share one heading. */
const GROUP_MS = 5 * 60_000;
const NEAR_BOTTOM_PX = 60;

export class MessageList {
  #actions;
  /** What is in the list, in order: `{ node, message, own, namesake }` for a message, `{ node }` for a note. */
  #entries = [];
  #keys = new Set();
  #outbox = [];
  #queue = [];
  #frame = 0;
  #atBottom = true;
  #lastTop = 0;
  #unread = 0;
  #presence = null;
  /** Whether earlier messages can be requested, and whether a request is in progress. */
  #hasOlder = false;
  #isLoading = false;
  /** Display names by user. */
  #names = new Map();

  /** `actions`: retry(id), edit(id) and take(id) of the outbox, reply(user), and loadOlder(message), see Room.earlierThan. */
  constructor(actions) {
    this.#actions = actions;
    byId('scroller').addEventListener('scroll', () => this.#onScroll(), { passive: true });
    byId('jump').addEventListener('click', () => {
      this.toBottom();
      byId('scroller').focus({ preventScroll: true });
    });
    this.#olderButton.addEventListener('click', () => this.#loadOlder());
    // A growing text field or a keyboard sliding in must not hide the newest message.
    const observer = new ResizeObserver(() => this.#atBottom && this.#scrollDown());
    for (const part of ['scroller', 'messages', 'outbox']) observer.observe(byId(part));
  }

  clear() {
    this.#entries = [];
    this.#keys.clear();
    this.#queue = [];
    this.#presence = null;
    this.#setOlder(false);
    byId('messages').replaceChildren();
    this.showOutbox([]);
    byId('empty').hidden = true;
    this.toBottom();
  }

  /**
   * Inserts new or earlier messages at their positions. Draws them with the next frame, so that a burst of messages
   * costs one layout per frame.
   */
  add(...arrivals) {
    this.#queue.push(...arrivals);
    // A page in the background draws no frames, so its queue must be bounded here.
    if (this.#queue.length > 2 * KEEP) this.#draw();
    this.#schedule();
  }

  /** Shows the items of the outbox below the messages, and the messages that came of others in the same frame. */
  showOutbox(items) {
    this.#outbox = items;
    this.#schedule();
  }

  #schedule() {
    if (!this.#frame) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  /** Shows the messages of these users under their display names, those that are in the list included. */
  setNames(names) {
    const known = this.#names;
    if (names === known) return;
    this.#names = names;
    for (const { node, message, own } of this.#entries) {
      if (message && !own && known.get(message.from) !== names.get(message.from)) renameSender(node, message, names);
    }
  }

  /** Shows that messages were deleted, in their places. */
  markDeleted({ epoch, ranges }) {
    this.#draw();
    for (const { message, node } of this.#entries) {
      const isGone = ranges.some(([first, last]) => first <= message?.offset && message.offset <= last);
      if (message?.epoch === epoch && isGone) showDeleted(node);
    }
  }

  /** A line about the conversation between the messages. */
  note(text) {
    this.#draw();
    this.#presence = null;
    this.#appendNote(text);
  }

  /** Notes who joined and left. Consecutive changes share one line, and a user who left and returned is not listed. */
  presence(joined, left) {
    if (joined.length + left.length === 0) return;
    this.#draw();
    const changes = this.#presence?.changes ?? new Map();
    for (const [names, what] of [
      [left, 'left'],
      [joined, 'joined'],
    ]) {
      for (const name of names) {
        if (changes.has(name) && changes.get(name) !== what) changes.delete(name);
        else changes.set(name, what);
      }
    }
    const text = presenceText(changes, this.#names);
    if (!this.#presence) this.#presence = { changes, node: this.#appendNote(text) };
    this.#presence.node.textContent = text;
    this.#presence.node.hidden = text === '';
    this.#settle();
  }

  /** Called after the join: from now on, an empty list means that the room has no messages. */
  showEmptyHint() {
    this.#draw();
    byId('empty').hidden = this.#hasMessages();
    const first = this.#firstMessage();
    if (first?.offset > 1) this.#setOlder(true);
  }

  toBottom() {
    this.#atBottom = true;
    this.#scrollDown();
    this.#setUnread(0);
    this.#trim();
  }

  #draw() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const anchor = this.#atBottom ? null : this.#anchor();
    const arrivals = this.#queue.splice(0);
    for (const arrival of arrivals) this.#insert(arrival);
    const keyOfItem = ({ id, state, problem }) => [id, state, problem].join();
    syncRows(byId('outbox'), this.#outbox, keyOfItem, (item) => outgoingNode(item, this.#actions));
    if (this.#atBottom) this.#trim();
    else this.#trim(KEEP_ABOVE);
    if (anchor) this.#restore(anchor);
    this.#settle();
  }

  #insert(arrival) {
    const { message, own } = arrival;
    const key = keyOf(message);
    if (key !== undefined && this.#keys.has(key)) return;
    if (key !== undefined) this.#keys.add(key);

    const index = this.#placeFor(message);
    const entry = { ...arrival, node: messageNode(arrival, this.#names, this.#actions) };
    const last = index === this.#entries.length;
    byId('messages').insertBefore(entry.node, this.#entries[index]?.node ?? null);
    this.#entries.splice(index, 0, entry);
    this.#arrange(index);
    this.#arrange(index + 1);
    if (!last) return;
    this.#presence = null;
    if (!this.#atBottom && !own) this.#setUnread(this.#unread + 1);
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
    const previous = this.#entries[index - 1];
    const before = previous?.message ?? this.#entries[index - 2]?.message;
    const newDay = !before || dayOf(before.at) !== dayOf(at);
    const isSame = previous?.message && previous.own === entry.own && before.from === from && before.to === to;
    const follows = Boolean(isSame) && !newDay && at - before.at < GROUP_MS;
    entry.node.classList.toggle('follows', follows);
    entry.node.querySelector('.day')?.remove();
    if (newDay) entry.node.prepend(element('p', { class: 'day' }, dayLabel(at)));
  }

  #appendNote(text) {
    const node = element('li', { class: 'note' }, text);
    byId('messages').append(node);
    this.#entries.push({ node });
    this.#settle();
    return node;
  }

  #trim(keep = KEEP) {
    const excess = this.#entries.length - keep;
    if (excess <= 0) return;
    for (const { node, message } of this.#entries.splice(0, excess)) {
      node.remove();
      if (message) this.#keys.delete(keyOf(message));
    }
    this.#arrange(0);
    if (this.#firstMessage()?.offset > 1) this.#setOlder(true);
  }

  /** The oldest message of the room that is shown. */
  #firstMessage() {
    return this.#entries.find(({ message }) => message && !message.to)?.message;
  }

  get #olderButton() {
    return byId('older').querySelector('button');
  }

  /** Shows the button for earlier messages, or `end`, or nothing. */
  #setOlder(hasOlder, end = '') {
    this.#hasOlder = hasOlder;
    byId('older').hidden = !hasOlder && !end;
    this.#olderButton.hidden = !hasOlder;
    byId('older').querySelector('p').textContent = end;
  }

  async #loadOlder() {
    const first = this.#firstMessage();
    if (!this.#hasOlder || this.#isLoading || !first) return;
    if (this.#entries.length > KEEP_ABOVE / 2) {
      this.#setOlder(false, `The page goes back no further than ${KEEP_ABOVE / 2} messages.`);
      return;
    }
    this.#isLoading = true;
    try {
      const { messages, reachesStart, complete } = await this.#actions.loadOlder(first);
      // The room may have changed, or the list may have been trimmed.
      if (first !== this.#firstMessage()) return;
      this.#atBottom = false;
      this.#queue.push(...messages);
      this.#draw();
      const start = complete ? 'This is the first message.' : 'Earlier messages are no longer available.';
      this.#setOlder(!reachesStart && complete, reachesStart || !complete ? start : '');
    } catch {
      // The button stays, for another try.
    } finally {
      this.#isLoading = false;
    }
  }

  #settle() {
    if (this.#hasMessages()) byId('empty').hidden = true;
    if (this.#atBottom) this.#scrollDown();
  }

  #hasMessages() {
    return this.#outbox.length > 0 || this.#entries.some(({ message }) => message);
  }

  #onScroll() {
    const { scrollTop, scrollHeight, clientHeight } = byId('scroller');
    const isUp = scrollTop < this.#lastTop;
    this.#lastTop = scrollTop;
    if (isUp && scrollTop < NEAR_TOP_PX) this.#loadOlder();
    const below = scrollHeight - scrollTop - clientHeight;
    // The event comes late: messages may have arrived since. Only a reader who scrolled up has left the bottom.
    if (isUp) this.#atBottom = below <= 1;
    else if (below < NEAR_BOTTOM_PX) this.#atBottom = true;
    if (this.#atBottom) this.#setUnread(0);
  }

  #scrollDown() {
    const scroller = byId('scroller');
    scroller.scrollTop = scroller.scrollHeight;
    this.#lastTop = scroller.scrollTop;
  }

  /** The first visible entry and its position, which must not change when entries are inserted above it. */
  #anchor() {
    const top = byId('scroller').getBoundingClientRect().top;
    const entry = this.#entries.find(({ node }) => node.getBoundingClientRect().bottom > top);
    return entry && { node: entry.node, top: entry.node.getBoundingClientRect().top };
  }

  #restore({ node, top }) {
    if (node.isConnected) byId('scroller').scrollTop += node.getBoundingClientRect().top - top;
  }

  #setUnread(count) {
    this.#unread = count;
    byId('jump').hidden = count === 0;
    byId('jump').textContent = count === 1 ? '1 new message' : `${count} new messages`;
  }
}

function isLater(a, b) {
  const sameLog = a.epoch === b.epoch && a.offset !== undefined && b.offset !== undefined;
  return sameLog ? a.offset > b.offset : a.at > b.at;
}
