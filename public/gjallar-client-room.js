import { Listening, RETRY_MS } from './gjallar-client-base.js';

/** How many messages are requested at once. */
const PAGE = 500;
/** A request that the server fails to answer is repeated more and more seldom, up to this time. */
const MAX_RETRY_MS = 30_000;
/** How many messages wait for missing ones. What exceeds that is requested. */
const MAX_WAITING = 10_000;
/** How many delivered messages a room knows again, if the server has lost them and finds them again. */
const MAX_KNOWN = 1000;
/** Errors that pass: the request is repeated. */
const PASSING = ['LOST', 'HISTORY_UNAVAILABLE', 'OVERLOADED', 'RATE_LIMITED'];

export class JoinedRoom extends Listening(Object) {
  #room;
  #requests;

  constructor(room, requests) {
    super();
    this.#room = room;
    this.#requests = requests;
  }

  get position() {
    return this.#room.position;
  }

  on(event, listener) {
    // Those that are added in the same turn miss nothing.
    queueMicrotask(() => this.#room.begin());
    return super.on(event, listener);
  }

  leave() {
    return this.#requests.leave();
  }
}

/** One room's messages, put in order. */
export class Room {
  /** The position of the last delivered message; undefined until the first join has succeeded. */
  position;
  /** The room for the application. */
  joined;
  /** The newest tag that was delivered, of the room as it is or of messages that are lost. */
  #newest;
  /** The last tags that were delivered: where the server has lost the newest, lower tags may be new. */
  #known = new Set();
  /** The callbacks of each call of `join()`, and whether it has failed. */
  #callbacks = new Map();
  #name;
  #requests;
  /** Whether messages are delivered: somebody listens. */
  #isListening = false;
  /** The reply to the last join over this connection. */
  #reply;
  /** Whether no messages have been delivered since the first join. */
  #isFirst = false;
  /** Messages without a position that wait for the first listener. */
  #early = [];
  #last;
  #waiting = [];
  #joining;
  /** Whether missed messages are requested, or will be again. */
  #recovering = false;
  /** Needed for servers that store no messages: there, no position shows it. */
  #hasJoined = false;
  /** Ends with the connection, and with it the work that belongs to it. */
  #connection = new AbortController();
  #timer;
  /** How many requests in turn have failed, other than in passing. */
  #failures = 0;
  /** Whether a message was dropped since the last request for messages began. */
  #hasDropped = false;

  /** @param requests what is asked of the server, and how a message is made an event and its values again */
  constructor(name, { last = 0, position }, requests) {
    this.#name = name;
    this.position = position;
    this.#last = last;
    this.#requests = requests;
    this.#newest = position?.tag ?? 0;
    this.joined = new JoinedRoom(this, requests);
  }

  /** Adds the callbacks of a call of `join()`, which take the place of those whose call has failed. */
  add(options) {
    for (const [each, hasFailed] of this.#callbacks) if (hasFailed) this.#callbacks.delete(each);
    this.#callbacks.set(options, false);
    // Nothing has come yet, or it waits.
    if (options.onMessage) this.begin();
  }

  /** A call of `join()` has failed. The room may be joined later all the same. */
  failed(options) {
    if (this.#callbacks.has(options)) this.#callbacks.set(options, true);
  }

  /** Delivers messages from now on. */
  begin() {
    if (this.#isListening) return;
    this.#isListening = true;
    for (const message of this.#early.splice(0)) this.#tellMessage(message);
    if (this.#reply && !this.#joining) this.#resume();
  }

  tell(callback, ...values) {
    for (const options of [...this.#callbacks.keys()]) options[callback]?.(...values);
  }

  #tellMessage(message) {
    this.tell('onMessage', message);
    this.joined._call(...this.#requests.eventOf(message));
  }

  /** The join that is in progress. */
  get joining() {
    return this.#joining;
  }

  /** Several calls at once share one request. */
  join() {
    this.#joining ??= this.#join().finally(() => {
      this.#joining = undefined;
    });
    return this.#joining;
  }

  onDisconnect() {
    this.close();
    this.#connection = new AbortController();
  }

  close() {
    this.#connection.abort();
    this.#joining = undefined;
    this.#reply = undefined;
    // The next worker may not know yet that the log which they follow is lost. It sends those that are there.
    this.#waiting = [];
    this.#recovering = false;
    clearTimeout(this.#timer);
  }

  refused(error) {
    if (error.code !== 'LOST' && !this.#connection.signal.aborted) this.tell('onRefused', error);
  }

  receive(message) {
    if (message.offset === undefined) {
      if (this.#isListening) this.#tellMessage(message);
      else if (this.#early.length < MAX_WAITING) this.#early.push(message);
      return;
    }
    if (this.#waiting.length < MAX_WAITING) this.#waiting.push(message);
    else this.#hasDropped = true;
    this.#drain();
  }

  async #join() {
    const { signal } = this.#connection;
    const reply = await this.#requests.join().catch((error) => this.#retryJoin(error, signal));
    if (signal.aborted) return reply;
    const { offset, tag } = reply;
    if (offset === undefined) {
      this.tell('onJoined', { ...reply, isFirst: !this.#hasJoined, missing: 0 });
      this.#hasJoined = true;
      return reply;
    }
    const isFirst = !this.position;
    if (isFirst) {
      // The tag of an earlier message is not known.
      this.position = this.#last > 0 ? { offset: Math.max(0, offset - this.#last), tag: 0 } : { offset, tag };
      this.#newest = this.position.tag;
    }
    this.#reply = reply;
    this.#isFirst ||= isFirst;
    this.tell('onJoined', { ...reply, isFirst, missing: Math.max(0, offset - this.position.offset) });
    if (this.#isListening) await this.#resume();
    return reply;
  }

  /** Delivers what was there at the last join, and what has come since. */
  async #resume() {
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    const { offset, tag } = this.#reply;
    const isSame = this.position.tag === 0 || this.position.tag === tag;
    if (this.position.offset !== offset || !isSame || this.#hasDropped) await this.#recover(isFirst);
    else this.#drain();
  }

  /** Retries the join of a room that was joined before the connection was lost, until the server can answer. */
  #retryJoin(error, { aborted }) {
    if (this.position && PASSING.includes(error.code) && !aborted) {
      this.#timer = setTimeout(() => this.join().catch((reason) => this.refused(reason)), RETRY_MS);
    }
    throw error;
  }

  #drain() {
    // Until the reply shows that the server still has the last delivered message, an offset may be that of another one.
    if (!this.#reply || this.#recovering || !this.#isListening) return;
    this.#waiting = this.#waiting.filter(({ tag }) => this.#isNew(tag)).sort((a, b) => a.tag - b.tag);
    while (this.#waiting[0]?.offset === this.position.offset + 1) this.#deliver(this.#waiting.shift());
    const lacks = this.#waiting.length > 0 || this.#hasDropped;
    if (lacks && !this.#joining) this.#recover(false);
  }

  #deliver(message) {
    const { offset, tag, deleted } = message;
    this.position = { offset, tag };
    const isNew = this.#isNew(tag) && !deleted;
    this.#newest = Math.max(this.#newest, tag);
    if (!isNew) return false;
    this.#known.add(tag);
    if (this.#known.size > MAX_KNOWN) this.#known.delete(this.#known.values().next().value);
    this.#tellMessage(message);
    return true;
  }

  #isNew(tag) {
    return tag > this.#newest && !this.#known.has(tag);
  }

  /** Requests every message after the last delivered one. */
  async #recover(isFirst) {
    const { signal } = this.#connection;
    if (this.#recovering || signal.aborted) return;
    this.#recovering = true;
    let missed = 0;
    let complete = true;
    let arrived = 0;
    try {
      for (let isLast = false; !isLast; ) {
        const { offset: after, tag } = this.position;
        arrived = this.#waiting.length;
        this.#hasDropped = false;
        const page = await this.#requests.read({ room: this.#name, after, tag, limit: PAGE });
        if (signal.aborted) return;
        complete &&= page.complete;
        missed += this.#take(page);
        isLast = (page.messages.length === 0 || this.position.offset >= page.offset) && !this.#hasDropped;
      }
    } catch (error) {
      if (!signal.aborted) this.#retryRecovery(error, isFirst);
      return;
    }
    this.#recovering = false;
    this.#failures = 0;
    // The last page was requested after these had come: they are delivered, or lost.
    this.#waiting.splice(0, arrived);
    this.tell('onRecovered', { room: this.#name, missed, complete, isFirst });
    this.#drain();
  }

  /** Messages wait until a request succeeds: the next offset may be that of another log. */
  #retryRecovery(error, isFirst) {
    const { signal } = this.#connection;
    const passes = PASSING.includes(error.code);
    this.#failures = passes ? 0 : this.#failures + 1;
    const retry = () => {
      if (signal.aborted) return;
      this.#recovering = false;
      this.#recover(isFirst);
    };
    this.#timer = setTimeout(retry, Math.min(RETRY_MS * 2 ** this.#failures, MAX_RETRY_MS));
    if (!passes) this.refused(error);
  }

  /** Delivers a page. Returns how many of its messages were new. */
  #take({ messages, after, offset, tag, lost }) {
    // The clock of the lost messages may have been ahead: those that follow need not have higher tags.
    if (lost) this.#newest = Math.min(this.#newest, tag);
    // What is not on the page is gone, or the client has read it before the server lost messages.
    if (after === offset) this.position = { offset, tag: offset === 0 ? this.#newest : tag };
    else if (lost || after > this.position.offset) this.position = { offset: after, tag: 0 };
    return messages.filter((message) => this.#deliver(message)).length;
  }
}
