import { randomBytes } from 'node:crypto';
import type { Namespace } from 'socket.io';
import { own } from '../../base/owner.js';
import { thisProcess } from '../../base/process.js';
import { MalformedMessage } from '../../errors.js';
import { hasOthers } from '../../rooms/index.js';
import type { SequencerLink } from '../replica/client.js';
import { decodeFromMachine, type ToWorker } from './messages.js';
import { Sequencer } from './sequencer.js';

/** The only worker of a sequencer in its own process. */
const SELF = 0;
/** How often processes tell each other that they are there, and after which time one counts as gone, in ms. */
const BEAT_MS = 1000;
const MAX_SILENCE_MS = 6000;

/** A sequencer in the process of its only worker. */
export function localLink(nsp: Namespace): SequencerLink {
  let onMessage = (_message: ToWorker): void => {};
  const processes = hasOthers(nsp.adapter) ? new Processes(nsp) : undefined;
  const sequencer = new Sequencer({
    hasOthers: processes !== undefined,
    sendToWorker: (_worker, message) => onMessage(message),
    sendToMachine: (process, message) => processes?.send(process, message),
  });
  processes?.listen(sequencer);
  return {
    isLocal: true,
    send: (message) => {
      checked(() => sequencer.onMessage(SELF, message));
      sequencer.flush();
      return true;
    },
    listen: (listener) => {
      onMessage = listener.onMessage;
      listener.onHere();
    },
    close: () => {
      own('closing the state rooms', sequencer.close());
      processes?.close();
    },
  };
}

/** Reports a message that is malformed. */
function checked(handle: () => void): void {
  try {
    handle();
  } catch (error) {
    if (!(error instanceof MalformedMessage)) throw error;
    thisProcess.reports.malformed('state', error.message);
  }
}

/** The event between processes. */
const EVENT = 'gjallar:state';

/**
 * Other processes that an adapter of the application's own joins: each is a machine to the others. The messages to one of them
 * are numbered, so that it notices what is missing.
 */
class Processes {
  private readonly id = randomBytes(9).toString('base64url');
  private readonly others = new Map<string, { heardAt: number; received: number; sent: number }>();
  private sequencer: Sequencer | undefined;
  private readonly timer: NodeJS.Timeout;
  private readonly receive = (from: unknown, to: unknown, number: unknown, message: unknown) => {
    if (from !== this.id && (to === this.id || to === '')) this.onMessage(from, to, number, message);
  };

  constructor(private readonly nsp: Namespace) {
    nsp.on(EVENT as never, this.receive as never);
    this.timer = setInterval(() => this.beat(), BEAT_MS).unref();
  }

  listen(sequencer: Sequencer): void {
    this.sequencer = sequencer;
    this.emit('', 0, 'hello');
  }

  send(to: string, message: Buffer): void {
    const other = this.others.get(to);
    if (other) this.emit(to, ++other.sent, message.toString('base64'));
  }

  close(): void {
    clearInterval(this.timer);
    this.nsp.off(EVENT as never, this.receive as never);
    this.emit('', 0, 'bye');
  }

  private emit(to: string, number: number, message: string): void {
    this.nsp.serverSideEmit(EVENT, this.id, to, number, message);
  }

  private beat(): void {
    this.emit('', 0, 'beat');
    for (const [id, { heardAt }] of this.others) if (performance.now() - heardAt > MAX_SILENCE_MS) this.gone(id);
  }

  private onMessage(from: unknown, to: unknown, number: unknown, message: unknown): void {
    if (typeof from !== 'string' || !/^[\w-]{1,32}$/.test(from) || typeof message !== 'string') {
      return thisProcess.reports.malformed('state', 'a message of state rooms of no process');
    }
    if (message === 'bye') return this.gone(from);
    const isNew = !this.others.has(from);
    const other = this.others.get(from) ?? { heardAt: 0, received: 0, sent: 0 };
    other.heardAt = performance.now();
    this.others.set(from, other);
    if (message === 'hello' || isNew) {
      if (message === 'hello') Object.assign(other, { received: 0, sent: 0 });
      if (to === '') this.emit(from, 0, 'hello back');
      if (!isNew) this.sequencer?.onMachineGone(from);
      this.sequencer?.onMachineHere(from);
    }
    if (to === '' || number === 0) return;
    if (number !== other.received + 1) {
      // Something is missing: all of it comes again.
      this.sequencer?.onMachineGone(from);
      this.sequencer?.onMachineHere(from);
    }
    other.received = Number(number);
    checked(() => this.sequencer?.onMachineMessage(from, decodeFromMachine(Buffer.from(message, 'base64'))));
  }

  private gone(id: string): void {
    if (this.others.delete(id)) this.sequencer?.onMachineGone(id);
  }
}
