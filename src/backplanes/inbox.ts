import { raise } from '../base/owner.js';
import { thisProcess } from '../base/process.js';
import { MalformedMessage } from '../errors.js';

/** What arrives from a backplane passes here: malformed messages are counted, reported and dropped. */
export class Inbox {
  /** Messages dropped since the start because they were malformed. */
  malformed = 0;
  private readonly counted = new WeakSet<MalformedMessage>();

  /** Counts a dropped message, once for each error. */
  drop(error: MalformedMessage): void {
    if (this.counted.has(error)) return;
    this.counted.add(error);
    this.malformed++;
    thisProcess.reports.malformed('bus', error.message);
  }

  /**
   * Handles a message: `read` decodes and checks it, and returns whether listeners of the application handle it. Their
   * exceptions are no fault of the message, so they become uncaught exceptions, but not in the middle of a chunk of
   * messages, where they would take the others with them.
   */
  receive(read: () => boolean, handle: () => void): void {
    let isForApplication = false;
    try {
      isForApplication = read();
      handle();
    } catch (error) {
      if (!isForApplication || error instanceof MalformedMessage) return this.drop(malformed(error));
      raise(error);
    }
  }
}

/** The error for a message that caused `error` while it was read. */
export function malformed(error: unknown): MalformedMessage {
  if (error instanceof MalformedMessage) return error;
  return new MalformedMessage(error instanceof Error ? error.message : String(error));
}
