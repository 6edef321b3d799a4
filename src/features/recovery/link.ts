import { clearTimeout, queueMicrotask, setTimeout } from '../../base/clock.js';
import type { HubLink } from '../../base/hub-service.js';
import { within } from '../../base/within.js';
import { Keeper } from './keeper/keeper.js';
import {
  type DataPacker,
  decode,
  encode,
  type KeeperFigures,
  noFigures,
  type ToKeeper,
  type ToWorker,
  textPacker,
  WINDOW_MS,
} from './messages.js';
import type { NamespaceRecovery } from './namespace-recovery.js';

/** How long a worker waits for the answer of its keeper, in ms. */
const MAX_WAIT_MS = 5000;

/** The way of messages to a keeper. */
interface Wire {
  readonly packer: DataPacker;
  /** Returns false if the keeper is not there. */
  send(messages: readonly ToKeeper[]): boolean;
  listen(listener: { onHere(): void; onMessage(message: ToWorker): void; onGone(): void }): void;
  close(): void;
}

/** This worker's end of the link to the keeper of its machine, for all of its namespaces. */
export class KeeperLink {
  figures: KeeperFigures = noFigures;
  private readonly spaces = new Map<string, NamespaceRecovery>();
  private readonly answers = new Map<number, (answer: ToWorker | undefined) => void>();
  private queue: ToKeeper[] = [];
  private timer: NodeJS.Timeout | undefined;
  private isFlushPlanned = false;
  private lastRequest = 0;
  private isHere = false;
  private wasHere = false;
  private waiting: (() => void)[] = [];

  constructor(private readonly wire: Wire) {
    wire.listen({
      onHere: () => this.onHere(),
      onMessage: (message) => this.receive(message),
      onGone: () => this.onGone(),
    });
  }

  get packer(): DataPacker {
    return this.wire.packer;
  }

  add(space: string, listener: NamespaceRecovery): void {
    this.spaces.set(space, listener);
    if (this.isHere) listener.introduce(false);
  }

  remove(space: string, listener: NamespaceRecovery): void {
    // A client may have made a namespace of the same name meanwhile.
    if (this.spaces.get(space) !== listener) return;
    this.post({ type: 'close', space });
    this.flush();
    this.spaces.delete(space);
  }

  /** Sends a message soon, after those that were posted before. */
  post(message: ToKeeper): void {
    this.queue.push(message);
    this.plan();
  }

  /** Changes are posted soon. */
  plan(): void {
    this.timer ??= setTimeout(() => this.flush(), WINDOW_MS);
  }

  /** Sends what was posted at the end of this turn. */
  hurry(): void {
    if (this.isFlushPlanned) return;
    this.isFlushPlanned = true;
    queueMicrotask(() => {
      this.isFlushPlanned = false;
      this.flush();
    });
  }

  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    for (const listener of this.spaces.values()) listener.postChanges();
    if (this.queue.length === 0) return;
    const messages = this.queue;
    this.queue = [];
    if (this.isHere) this.wire.send(messages);
  }

  /** Resolves with the answer, or with undefined if there is no keeper, or none that answers. */
  async ask<Answer extends ToWorker>(questionOf: (request: number) => ToKeeper): Promise<Answer | undefined> {
    if (!this.isHere) await within(MAX_WAIT_MS, new Promise<void>((resolve) => this.waiting.push(resolve)));
    if (!this.isHere) return undefined;
    const request = ++this.lastRequest;
    const answered = new Promise<ToWorker | undefined>((resolve) => this.answers.set(request, resolve));
    this.post(questionOf(request));
    this.hurry();
    const answer = await within(MAX_WAIT_MS, answered);
    this.answers.delete(request);
    return answer as Answer | undefined;
  }

  private onHere(): void {
    if (this.isHere) return;
    this.isHere = true;
    this.queue = [];
    for (const listener of this.spaces.values()) listener.introduce(this.wasHere);
    this.wasHere = true;
    this.flush();
    for (const go of this.waiting.splice(0)) go();
  }

  private onGone(): void {
    this.isHere = false;
    this.queue = [];
    for (const resolve of [...this.answers.values()]) resolve(undefined);
  }

  private receive(message: ToWorker): void {
    switch (message.type) {
      case 'found':
      case 'removed':
      case 'synced': {
        const answer = this.answers.get(message.request);
        if (answer) return answer(message);
        // The worker waits for it no longer, so its client has got a new session.
        if (message.type !== 'found' || message.found.outcome !== undefined) return;
        return this.post({ type: 'failed', space: message.space, pid: message.found.session.pid });
      }
      case 'figures':
        this.figures = message.figures;
        return;
      case 'post':
        this.post({ type: 'posted' });
        return this.flush();
      case 'taking':
        return this.spaces.get(message.space)?.onTaking(message);
      case 'end':
        return this.spaces.get(message.space)?.onEnd(message.pid);
      case 'joined':
        return this.spaces.get(message.space)?.onJoined(message.room);
      case 'lost':
        return this.spaces.get(message.space)?.onLost(message.ms);
      case 'ended':
        return this.spaces.get(message.space)?.onEnded(message.sender, message.last);
      case 'tail':
        return this.spaces.get(message.space)?.onTail(message.sender, message.packets);
      case 'expired':
        return this.spaces.get(message.space)?.onExpired(message.session);
    }
  }

  close(): void {
    this.flush();
    clearTimeout(this.timer);
    this.isHere = false;
    this.wire.close();
  }
}

/** A keeper in the hub of the machine. */
export function wireOver(link: HubLink): Wire {
  return {
    packer: textPacker,
    send: (messages) => link.send(encode(messages)),
    listen: ({ onMessage, ...listener }) =>
      link.listen({
        ...listener,
        onMessage: (bytes) => {
          for (const message of decode<ToWorker>(bytes)) onMessage(message);
        },
      }),
    // The worker has it until it ends.
    close: () => {},
  };
}

/** The only worker of a keeper in its own process. */
const SELF = 0;

/** A keeper in the process of its only worker. */
export function wireInProcess(): Wire {
  let onMessage = (_message: ToWorker): void => {};
  const keeper = new Keeper({
    isAlone: true,
    sendToWorker: (_worker, message) => onMessage(message),
    sendToKeeper: () => {},
  });
  return {
    // As stock, it keeps the data itself.
    packer: { pack: (data) => data, unpack: (data) => data },
    send: (messages) => {
      for (const message of messages) keeper.onMessage(SELF, message);
      return true;
    },
    listen: (listener) => {
      onMessage = listener.onMessage;
      listener.onHere();
    },
    close: () => keeper.close(),
  };
}
