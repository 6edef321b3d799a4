import type { Redis } from 'ioredis';
import { own } from '../../base/owner.js';
import { isConnectionRejected, redisCause } from '../redis-cause.js';
import { connectOnce } from './connection.js';

/** A command with its arguments. */
export type Command = readonly [name: string, ...args: string[]];

/** How often a rejected command is tried again, in ms. */
const RETRY_INTERVAL_MS = 1000;

/** What Redis answers while it starts or while a cluster chooses another master. It ends without an operator. */
const TRANSIENT = /^(BUSY|CLUSTERDOWN|LOADING|MASTERDOWN|TRYAGAIN)/;

/** The names of the errors with which ioredis, and the client of NATS, report a rejected command. */
const REJECTIONS: readonly string[] = ['ReplyError', 'PermissionViolationError'];

/** Whether the server has rejected a command for a reason that an operator must remove, such as missing rights. */
export function isRejection(error: unknown): error is Error {
  if (!(error instanceof Error) || !REJECTIONS.includes(error.name)) return false;
  return !TRANSIENT.test(error.message) && !isConnectionRejected(error.message);
}

interface Rejection {
  command: Command;
  reason: string;
  /** Whether the caller itself repeats the command. */
  isRepeated: boolean;
}

/** Knows which commands Redis rejects at present, and tries them until it accepts them. */
export class Rejections {
  private readonly rejected = new Map<string, Rejection>();
  private timer: NodeJS.Timeout | undefined;

  /**
   * @param isAccepted whether Redis would accept a command now; must have no effect
   * @param onChange called when the first rejection is another one, and when there is none any more
   */
  constructor(
    private readonly isAccepted: (command: Command) => Promise<boolean>,
    private readonly onChange: () => void,
  ) {}

  /** The first command that is rejected, with what Redis said. */
  get first(): Pick<Rejection, 'command' | 'reason'> | undefined {
    return this.rejected.values().next().value;
  }

  /**
   * Notes the outcome of a command: its error, or undefined if it succeeded.
   * @param isRepeated whether the caller repeats a rejected command until it succeeds, so that it need not be tried here
   */
  note(command: Command, error?: unknown, isRepeated = false): void {
    const known = this.rejected.get(command[0]);
    if (isRejection(error)) {
      if (known && redisCause(known.reason)?.word === redisCause(error.message)?.word) return;
      this.rejected.set(command[0], { command, reason: error.message, isRepeated });
      this.tryLater();
      if (this.first?.command[0] === command[0]) this.onChange();
    } else if (!error && known?.command[1] === command[1]) {
      this.accept(command[0]);
    }
  }

  close(): void {
    clearTimeout(this.timer);
    this.rejected.clear();
  }

  private accept(name: string): void {
    const wasFirst = this.first?.command[0] === name;
    if (!this.rejected.delete(name) || !wasFirst) return;
    if (this.rejected.size === 0) this.onChange();
    // Others may be accepted in the same turn.
    else queueMicrotask(() => this.first && this.onChange());
  }

  private tryLater(): void {
    this.timer ??= setTimeout(() => own('trying rejected commands again', this.tryAll()), RETRY_INTERVAL_MS).unref();
  }

  private async tryAll(): Promise<void> {
    const accepted: string[] = [];
    for (const [name, { command, isRepeated }] of [...this.rejected]) {
      if (!isRepeated && (await this.isAccepted(command))) accepted.push(name);
    }
    for (const name of accepted) this.accept(name);
    this.timer = undefined;
    if (this.rejected.size > 0) this.tryLater();
  }
}

/**
 * Whether Redis would execute a command: it checks rights, memory and the type of a key before it queues a command in a
 * transaction, which is then discarded. The connection is new, so that it has the present rights of its user.
 */
export async function wouldAccept(connection: Redis | undefined, [name, ...args]: Command): Promise<boolean> {
  if (!connection) return false;
  const redis = connectOnce(connection);
  try {
    await redis.call('MULTI');
    await redis.call(name, ...args);
    await redis.call('DISCARD');
    return true;
  } catch (error) {
    // Another master of the cluster has the slot, but this one has checked the rights first.
    return error instanceof Error && error.message.startsWith('MOVED');
  } finally {
    redis.disconnect();
  }
}
