import { clearTimeout, performance, queueMicrotask, setTimeout } from '../base/clock.js';
import { MalformedMessage } from '../base/errors.js';
import type { HubLink, HubService, HubServiceHost, OpenHubService } from '../base/hub-service.js';
import { type ProcessHost, thisProcess } from '../base/process.js';
import { Question } from '../base/question.js';
import { within } from '../base/within.js';

/** What a question has beside its content. */
export interface LinkQuestion {
  /** Its number. */
  readonly request: number;
  /** How long the answer is waited for, in ms; undefined until one of the two ends. */
  readonly ms?: number | undefined;
}

/** What an answer has beside its content. */
export interface LinkAnswer {
  /** The number of the question. */
  readonly answers: number;
}

/** A question without what the one that asks it adds. */
export type Asked<Message> = Message extends LinkQuestion ? Omit<Message, keyof LinkQuestion> : never;

/** The longest time of a timer of Node.js, in ms. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** How long an answer may be on its way, in ms. */
const ON_ITS_WAY_MS = 250;

/** Until when an answer is of use. Each step towards it waits no longer, and those that it asks do not either. */
export class Deadline {
  private readonly end: number;

  constructor(ms: number) {
    this.end = performance.now() + ms;
  }

  /** For the one that answers. */
  static of({ ms = Number.POSITIVE_INFINITY }: LinkQuestion): Deadline {
    return new Deadline(ms - ON_ITS_WAY_MS);
  }

  /** In ms. */
  get left(): number {
    return Math.max(0, this.end - performance.now());
  }

  /** For a step that others follow. */
  get half(): Deadline {
    return new Deadline(this.left / 2);
  }

  /** Settles as a promise does, or with undefined when the time is over. */
  wait<T>(promise: PromiseLike<T>): Promise<T | undefined> {
    return within(this.left, promise);
  }
}

/** Questions that wait for their answers: of workers to their hub, of a hub to workers and to other hubs. */
export class OpenQuestions<Other, Reply> {
  private readonly open = new Map<number, Question<Other, Reply>>();
  private last = 0;

  /** Resolves with what those have answered that were asked, once all have, are gone, or the time is over. */
  ask(
    others: Iterable<Other>,
    ms: number,
    send: (other: Other, question: LinkQuestion) => void,
  ): Promise<Map<Other, Reply>> {
    const request = ++this.last;
    return new Promise((resolve) => {
      const question = new Question<Other, Reply>(others, Math.min(ms, MAX_TIMER_MS), ({ answers }) => {
        this.open.delete(request);
        resolve(answers);
      });
      this.open.set(request, question);
      if (question.missing.size === 0) return question.end();
      const numbered = { request, ms: Number.isFinite(ms) ? ms : undefined };
      for (const other of [...question.missing]) send(other, numbered);
    });
  }

  /** @returns false if nobody waits for it */
  answered(other: Other, number: number, reply: Reply): boolean {
    const question = this.open.get(number);
    if (!question?.missing.has(other)) return false;
    question.answered(other, reply);
    return true;
  }

  /** One that does not answer any more. */
  gone(other: Other): void {
    for (const question of [...this.open.values()]) question.gone(other);
  }
}

/** The way of messages between a worker and a service. */
export interface Wire<ToService, ToWorker> {
  /** Whether the service is in this process, and handles a message within the call. */
  readonly isLocal: boolean;
  send(messages: readonly ToService[]): void;
  listen(listener: { onHere(): void; onMessage(message: ToWorker): void; onGone(): void }): void;
  close(): void;
}

/** To the link, the service is one. */
const SERVICE = 0;

/** The link of a feature on this worker to its service, in the hub of the machine or in this process. */
export abstract class FeatureLink<ToService, ToWorker extends object> {
  isHere = false;
  private wasHere = false;
  private queue: ToService[] = [];
  private timer: NodeJS.Timeout | undefined;
  private isFlushPlanned = false;
  private isFlushing = false;
  private readonly questions = new OpenQuestions<typeof SERVICE, ToWorker>();
  private waiting: (() => void)[] = [];

  /** @param windowMs how long what is posted waits for more */
  constructor(
    private readonly wire: Wire<ToService, ToWorker>,
    private readonly windowMs = 0,
  ) {}

  /** Tells a service that does not know this worker yet. @param isAgain whether another one was there before */
  protected abstract introduce(isAgain: boolean): void;
  /** Posts what has changed since the last call. */
  protected abstract postChanges(): void;
  /** A message that is no answer, or one to a question whose time is over. */
  protected abstract onMessage(message: ToWorker): void;

  get isLocal(): boolean {
    return this.wire.isLocal;
  }

  /** Begins, once both ends are made. */
  protected open(): void {
    this.wire.listen({
      onHere: () => this.onHere(),
      onMessage: (message) => this.receive(message),
      onGone: () => this.onGone(),
    });
  }

  /** Sends a message soon, after those that were posted before. While the service is not there, it is dropped. */
  post(message: ToService): void {
    this.queue.push(message);
    if (!this.isFlushing) this.plan();
  }

  /** Changes are posted soon. */
  plan(): void {
    this.timer ??= setTimeout(() => this.flush(), this.windowMs);
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

  /** Sends what was posted. */
  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.isFlushing = true;
    this.postChanges();
    this.isFlushing = false;
    const messages = this.queue;
    this.queue = [];
    if (this.isHere && messages.length > 0) this.wire.send(messages);
  }

  /** Sends a message after what was posted. */
  send(message: ToService): void {
    this.queue.push(message);
    this.flush();
  }

  /** Resolves with the answer; with undefined if the service ends before it, or the time is over. */
  async ask<Reply extends ToWorker>(
    question: Asked<ToService>,
    ms = Number.POSITIVE_INFINITY,
  ): Promise<Reply | undefined> {
    const deadline = new Deadline(ms);
    if (!this.isHere) await deadline.wait(this.here());
    if (!this.isHere) return undefined;
    const replies = this.questions.ask([SERVICE], deadline.left, (_service, numbered) => {
      this.queue.push({ ...question, ...numbered } as ToService);
      if (this.isLocal) this.flush();
      else this.hurry();
    });
    return (await replies).get(SERVICE) as Reply | undefined;
  }

  /** Resolves when the service is there. */
  async here(): Promise<void> {
    if (!this.isHere) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  private onHere(): void {
    if (this.isHere) return;
    this.isHere = true;
    this.queue = [];
    this.introduce(this.wasHere);
    this.wasHere = true;
    this.flush();
    for (const go of this.waiting.splice(0)) go();
  }

  private onGone(): void {
    this.isHere = false;
    this.queue = [];
    this.questions.gone(SERVICE);
  }

  private receive(message: ToWorker): void {
    const { answers } = message as Partial<LinkAnswer>;
    if (answers === undefined || !this.questions.answered(SERVICE, answers, message)) this.onMessage(message);
  }

  /** Ends a service in this process. One in the hub is there until the worker ends. */
  close(): void {
    this.flush();
    if (!this.isLocal) return;
    this.isHere = false;
    this.wire.close();
  }
}

/** How messages travel. */
export interface Codec<Out, In> {
  encode(messages: readonly Out[]): readonly Uint8Array[];
  /** @throws MalformedMessage */
  decode(bytes: Buffer): readonly In[];
}

/** A service in the hub of the machine. */
export function overHub<ToService, ToWorker>(
  link: HubLink,
  codec: Codec<ToService, ToWorker>,
): Wire<ToService, ToWorker> {
  return {
    isLocal: false,
    send: (messages) => {
      for (const bytes of codec.encode(messages)) link.send(bytes);
    },
    listen: ({ onHere, onGone, onMessage }) =>
      link.listen({ onHere, onGone, onMessage: (bytes) => codec.decode(bytes).forEach(onMessage) }),
    close: () => {},
  };
}

/** Opens a service, for the hub or for this process. */
export type OpenFeature<ToService, ToWorker, Between> = (
  host: HubServiceHost<ToWorker, Between>,
) => HubService<ToService, Between>;

/** The number of the only worker of a service in its own process. */
const SELF = 0;

/**
 * A service in this process.
 * @param source names it where a malformed message is reported
 * @param others how it reaches other processes, which are machines to it; by default, there are none
 */
export function inProcess<ToService, ToWorker, Between>(
  open: OpenFeature<ToService, ToWorker, Between>,
  source: Parameters<ProcessHost['reports']['malformed']>[0],
  others?: Pick<HubServiceHost<never, Between>, 'sendToHub'>,
): { readonly wire: Wire<ToService, ToWorker>; readonly service: HubService<ToService, Between> } {
  let onMessage = (_message: ToWorker): void => {};
  const attempt = (act: () => void): void => {
    try {
      act();
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
      thisProcess.reports.malformed(source, error.message);
    }
  };
  const service = open({
    ...{ isAlone: others === undefined, isLinked: undefined, isLocal: true, attempt },
    sendToWorker: (_worker, message) => onMessage(message),
    sendToHub: (hub, message) => others?.sendToHub(hub, message),
  });
  const wire: Wire<ToService, ToWorker> = {
    isLocal: true,
    send: (messages) => {
      for (const message of messages) attempt(() => service.onMessage(SELF, message));
    },
    listen: (listener) => {
      onMessage = listener.onMessage;
      listener.onHere();
    },
    close: () => service.close(),
  };
  return { wire, service };
}

/** A service in the hub, from one that knows messages and not bytes. */
export function serviceInHub<ToService, ToWorker, Between>(
  open: OpenFeature<ToService, ToWorker, Between>,
  ofWorkers: Codec<ToWorker, ToService>,
  ofHubs: Codec<Between, Between>,
): OpenHubService {
  return (host) => {
    // The same message often goes to several hubs.
    let last: { readonly message: Between; readonly encoded: readonly Uint8Array[] } | undefined;
    const service = open({
      ...host,
      sendToWorker: (worker, message) => {
        for (const bytes of ofWorkers.encode([message])) host.sendToWorker(worker, bytes);
      },
      sendToHub: (hub, message) => {
        if (last?.message !== message) last = { message, encoded: ofHubs.encode([message]) };
        for (const bytes of last.encoded) host.sendToHub(hub, bytes);
      },
    });
    return {
      onWorkerHere: (worker) => service.onWorkerHere?.(worker),
      onWorkerGone: (worker) => service.onWorkerGone(worker),
      onMessage: (worker, bytes) => {
        for (const message of ofWorkers.decode(bytes)) service.onMessage(worker, message);
      },
      onHubHere: (hub) => service.onHubHere(hub),
      onHubGone: (hub) => service.onHubGone(hub),
      onHubMessage: (hub, bytes) => {
        for (const message of ofHubs.decode(bytes)) service.onHubMessage(hub, message);
      },
      close: () => service.close(),
    };
  };
}
