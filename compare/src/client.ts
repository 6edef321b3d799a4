import { setTimeout as wait } from 'node:timers/promises';
import { Manager, type Socket } from 'socket.io-client';
import type { Neutral } from './observation.js';
import type { SentEvent } from './options.js';

/** A client that plays waits no longer for its connection, or for an acknowledgement before it leaves, in ms. */
const MAX_CONNECT_MS = 10_000;
const MAX_ACK_MS = 3000;

/** What one client received in one namespace, in order; an acknowledgement is filled in at the place of its event. */
export type Entry = unknown[];

export interface ClientOptions {
  readonly name: string;
  readonly url: string;
  /** Options of the manager. */
  readonly options: object;
  readonly activity: Activity;
  readonly neutral: Neutral;
}

/** A client of socket.io-client that notes what it receives. It does not reconnect. */
export class PlayedClient {
  /** What was received, by namespace. */
  readonly received = new Map<string, Entry[]>();
  /** How the server answered the client's events, by namespace. */
  readonly acks = new Map<string, Entry[]>();
  readonly answers = new Map<string, unknown[][]>();
  private readonly manager: Manager;
  private readonly sockets = new Map<string, Socket>();
  /** What is not answered yet, connects and events. */
  private readonly unanswered = { connects: new Set<Promise<void>>(), events: new Set<Promise<void>>() };
  /** Call each when no answer can come any more. */
  private readonly expected = new Set<() => void>();
  private last: Promise<void> = Promise.resolve();

  constructor(private readonly given: ClientOptions) {
    this.manager = new Manager(given.url, { reconnection: false, autoConnect: false, ...given.options });
  }

  /**
   * Does one thing after the other: the client sends events once it is connected, and leaves once it has its
   * acknowledgements.
   */
  inTurn(act: () => void, isLeaving: boolean): void {
    const end = this.given.activity.begin();
    this.last = this.last.then(async () => {
      const { connects, events } = this.unanswered;
      await within(MAX_CONNECT_MS, connects);
      if (isLeaving) await within(MAX_ACK_MS, events);
      try {
        act();
      } finally {
        end();
      }
    });
  }

  /** Calls the returned function when the answer has come. */
  private expectAnswer(kind: keyof typeof this.unanswered): () => void {
    const end = this.given.activity.begin();
    let answered = () => {};
    const over = () => {
      clearTimeout(late);
      this.expected.delete(over);
      this.unanswered[kind].delete(answer);
      answered();
      end();
    };
    const answer = new Promise<void>((resolve) => {
      answered = resolve;
    });
    this.unanswered[kind].add(answer);
    // An answer that never comes must not delay each later step.
    const late = setTimeout(end, MAX_ACK_MS);
    this.expected.add(over);
    return over;
  }

  connect(namespace: string, auth: Record<string, unknown> | undefined): void {
    const { name, activity, neutral } = this.given;
    const entries = this.received.get(namespace) ?? [];
    this.received.set(namespace, entries);
    const end = this.expectAnswer('connects');
    const note = (...entry: Entry) => {
      activity.note();
      entries.push(entry);
    };
    const socket = this.manager.socket(namespace, { auth });
    this.sockets.set(namespace, socket);
    socket.on('connect', () => {
      neutral.name(socket.id, `${name} on ${namespace}`);
      neutral.name(socket.io.engine?.id, `the connection of ${name}`);
      note('connect');
      end();
    });
    socket.on('connect_error', (error: Error & { data?: unknown }) => {
      note('connect_error', error.message, error.data ?? null);
      end();
    });
    socket.on('disconnect', (reason) => {
      note('disconnect', reason);
      end();
    });
    socket.onAny((event: string, ...args: unknown[]) => {
      const answer = args.at(-1);
      const isAsked = typeof answer === 'function';
      note('event', event, ...(isAsked ? [...args.slice(0, -1), '<asks for an acknowledgement>'] : args));
      if (isAsked) answer(...(this.answers.get(namespace)?.shift() ?? []));
    });
    socket.connect();
  }

  emit(namespace: string, { event, args, ack }: SentEvent): void {
    const socket = this.sockets.get(namespace);
    // Socket.IO would keep it for a connection that never comes.
    if (!socket?.connected) return;
    this.given.activity.note();
    if (!ack) return void socket.emit(event, ...args);
    const end = this.expectAnswer('events');
    const entry: Entry = ['acknowledgement of', event, 'none came'];
    const all = this.acks.get(namespace) ?? [];
    this.acks.set(namespace, all);
    all.push(entry);
    socket.emit(event, ...args, (...values: unknown[]) => {
      entry.splice(2, 1, ...values);
      end();
    });
  }

  leave(namespace: string): void {
    this.given.activity.note();
    this.sockets.get(namespace)?.disconnect();
  }

  close(): void {
    this.given.activity.note();
    for (const socket of this.sockets.values()) socket.disconnect();
    this.manager._close();
    for (const over of this.expected) over();
  }
}

/** Resolves when all have, or after `ms`. */
async function within(ms: number, all: ReadonlySet<Promise<void>>): Promise<void> {
  if (all.size === 0) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([Promise.all(all), late]);
  clearTimeout(timer);
}

/** Knows when clients and server have nothing more to say: nothing came or went for a while, and no answer is missing. */
export class Activity {
  private last = performance.now();
  private pending = 0;

  constructor(private readonly quietMs: number) {}

  note(): void {
    this.last = performance.now();
  }

  /** Until the returned function is called, something is missing. */
  begin(): () => void {
    this.pending++;
    this.note();
    let isOver = false;
    return () => {
      if (!isOver) this.pending--;
      isOver = true;
      this.note();
    };
  }

  /** Resolves when it is quiet, or after `maxMs`. */
  async settled(maxMs: number): Promise<void> {
    const end = performance.now() + maxMs;
    while (performance.now() < end) {
      const silent = performance.now() - this.last;
      if (this.pending === 0 && silent >= this.quietMs) return;
      await wait(Math.max(5, Math.min(this.quietMs - silent, end - performance.now())));
    }
  }
}
