import { performance } from 'node:perf_hooks';

/** How long anything may take that a user waits for, in ms. */
const PATIENCE = 10_000;

let arrived = 0;

/** A virtual user: artillery's context and socket, with what every scenario needs. */
export class User {
  /** The user of a step, with the same socket and name in all steps of a scenario. */
  static of(context, events) {
    context.user ??= new User(context, events);
    return context.user;
  }

  /** What artillery calls: runs a step as this user, and counts what goes wrong in it. */
  static step(run) {
    return async (context, events) => {
      const user = User.of(context, events);
      try {
        await run(user, context.vars);
      } catch (error) {
        throw error instanceof Fault ? error : user.fault(error.message);
      }
    };
  }

  constructor(context, events) {
    this.events = events;
    /** Artillery connected it, as the scenario says: a real one, of socket.io-client. */
    this.socket = context.sockets[''];
    /** What the server knows the user by. */
    this.name = context.vars.$uuid;
    /** Counts the users from 0. */
    this.number = arrived++;
    this.faults = 0;
    /** How many messages it has said in its chat. */
    this.said = 0;
    this.mayLoseConnection = false;
    // Artillery leaves these behind, and would begin the scenario a second time when a reconnection fails.
    this.socket.off('connect_error').off('error');
    this.socket.on('disconnect', (reason) => this.#onDisconnect(reason));
  }

  /**
   * Sends an event, and resolves with the reply.
   * @param {string} [row] of the summary, for the time that the reply took
   */
  async request(event, payload, row) {
    const sent = performance.now();
    let reply;
    try {
      reply = await this.socket.timeout(PATIENCE).emitWithAck(event, payload);
    } catch {
      throw this.fault('NO_REPLY');
    }
    if (row) this.record(row, performance.now() - sent);
    if (reply?.ok === false) throw this.fault(reply.code);
    return reply;
  }

  /** Waits for something, but not for ever. */
  async within(promise, code, patience = PATIENCE) {
    let timer;
    const timeout = new Promise((_, reject) => {
      timer = setTimeout(() => reject(this.fault(code)), patience);
    });
    return Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
  }

  /** Puts a time into a row of artillery's report. */
  record(row, ms) {
    this.events.emit('histogram', row, ms);
  }

  /** Counts what went wrong. @returns {Fault} to throw, which ends the user */
  fault(code) {
    this.faults += 1;
    this.events.emit('error', code);
    return new Fault(code);
  }

  /** The last step: what a listener noticed meanwhile fails the user, too. */
  finish() {
    if (this.faults > 0) throw new Fault(`${this.faults} faults`);
  }

  #onDisconnect(reason) {
    // Artillery disconnects a user that has finished or failed.
    if (reason !== 'io client disconnect' && !this.mayLoseConnection) this.fault('CONNECTION_LOST');
  }
}

/** Something that has been counted already. */
class Fault extends Error {}
