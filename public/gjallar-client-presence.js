import { Listening, REPLY_TIMEOUT_MS, RETRY_MS, RoomError } from './gjallar-client-base.js';

/** The users of a room with their data, across reconnections. */
export class PresenceMap extends Listening(Map) {
  members = 0;
  isComplete = false;
  #socket;
  #room;
  #timer;
  #isClosed = false;
  /** Whether the server has answered on this connection, and whether it is asked. */
  #isKnown = false;
  #isAsking = false;

  constructor(socket, room) {
    super();
    this.#socket = socket;
    this.#room = room;
    socket.on('presence:update', this.#receive);
    socket.on('connect', this.#connected);
    if (socket.connected) this.#ask();
  }

  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#socket.off('presence:update', this.#receive);
    this.#socket.off('connect', this.#connected);
  }

  #connected = () => {
    this.#isKnown = false;
    this.#ask();
  };

  #ask = () => {
    clearTimeout(this.#timer);
    this.#isAsking = true;
    const { id } = this.#socket;
    this.#socket.timeout(REPLY_TIMEOUT_MS).emit('presence:users', this.#room, (error, reply) => {
      // After a reconnection, the next request is in progress.
      if (this.#socket.id !== id || this.#isClosed) return;
      this.#isAsking = false;
      if (error || reply?.code === 'RATE_LIMITED') this.#timer = setTimeout(this.#ask, RETRY_MS);
      else if (reply?.ok) {
        this.#isKnown = true;
        this.#take(reply, true);
      }
      // Once the client is in the room, an update comes.
      else if (reply?.code !== 'NOT_IN_ROOM' && !this._call('error', new RoomError(reply?.code, reply?.message))) {
        console.warn(`The server does not tell who is in "${this.#room}". ${reply?.code}: ${reply?.message}`);
      }
    });
  };

  #receive = (room, update) => {
    if (room !== this.#room) return;
    // Where the users were too many, they come all at once.
    if (this.#isKnown) this.#take(update, !this.isComplete);
    else if (!this.#isAsking) this.#ask();
  };

  /** @param isWhole whether these are all users, and not what has changed */
  #take({ members, users, left = [] }, isWhole) {
    const before = new Map(this);
    const wasComplete = this.isComplete;
    this.members = members;
    this.isComplete = users !== undefined;
    if (isWhole || !users) this.clear();
    for (const user of left) this.delete(user);
    for (const [user, data] of users ?? []) this.set(user, data);
    if (wasComplete && users) {
      for (const [user, data] of before) if (!this.has(user)) this._call('leave', user, data);
      for (const [user, data] of users) if (!before.has(user)) this._call('join', user, data);
    }
    this._call('change');
  }
}
