import type { Namespace } from 'socket.io';
import { MalformedMessage } from '../../errors.js';
import { hasOthers } from '../../rooms/index.js';
import type { Change } from '../entries.js';
import { isTick, NO_EPOCH } from '../version.js';

/** A worker that is asked and does not answer within this time counts as gone, in ms. */
export const ANSWER_MS = 2000;

/** A change as workers send it. The origin is left out if it is the sender. */
export type WireChange = [key: string, clock: number, kind: Kind, value: string, origin?: string];

const kinds = { deleted: 0, json: 1, bytes: 2 } as const;
type Kind = (typeof kinds)[keyof typeof kinds];

/** How far a worker is: it has sent the messages up to `sequence`, and with them all its changes up to `clock`. */
export interface Progress {
  node: string;
  sequence: number;
  clock: number;
}

/** What a worker tells all others. */
export type News =
  | (Progress & { type: 'changes'; room: string; epoch: string; changes: WireChange[] })
  | (Progress & { type: 'beat' })
  | { type: 'bye'; node: string; sequence?: number; clock?: number };

/** What a worker asks all others; `id` numbers its questions. */
export type Question = { node: string; id: number } & (
  | /** It has just opened a room. */
  (Progress & { type: 'hello'; room: string }) /** It wants to know how far they are. */
  | {
      type: 'ping';
    } /** It wants the changes that one of them, `of`, has in a room, after a time and a number in its order. */
  | {
      type: 'pull';
      of: string;
      room: string;
      since: number;
      after: number;
      /** Only changes of this worker. Older versions send all. */
      origin?: string;
    } /** The worker `of` is gone. It has received that one up to a message and a time, and asks who has more. */
  | { type: 'lost'; of: string; heard: number; since: number }
);

/** The answer to the question `id` of the worker `to`. */
export type Answer = Progress & { to: string; id: number } & (Welcome | { type: 'pong' } | Page | Rest);

/** The answer to `hello`. */
export interface Welcome {
  type: 'welcome';
  /** Whether it has the room: not at all, not yet, or completely. */
  has: 'nothing' | 'part' | 'all';
  /** How far it has received the others. */
  peers: Progress[];
}

/** The answer to `pull`. */
export interface Page {
  type: 'page';
  epoch: string;
  /** Deletions up to this time may be missing. */
  forgotten: number;
  changes: WireChange[];
  /** The number after which the next page begins; undefined on the last page. */
  next?: number;
}

/** The answer to `lost`. */
export interface Rest {
  type: 'rest';
  /** How far it has received the worker that is gone: the message and the time. */
  heard: number;
  clockOf: number;
  /** The rooms in which it may have more changes of that worker. */
  rooms: string[];
}

export type Message = News | Question | Answer;

export function toWire({ key, clock, origin, value }: Change, sender: string): WireChange {
  const wire: WireChange =
    value === undefined
      ? [key, clock, kinds.deleted, '']
      : typeof value === 'string'
        ? [key, clock, kinds.json, value]
        : [key, clock, kinds.bytes, value.toString('base64')];
  if (origin !== sender) wire.push(origin);
  return wire;
}

/** @throws MalformedMessage */
export function fromWire(wire: WireChange, sender: string): Change {
  if (!Array.isArray(wire)) throw new MalformedMessage('a change that is no list');
  const [key, clock, kind, text, origin = sender] = wire;
  if (typeof key !== 'string' || typeof text !== 'string' || (origin !== sender && !isName(origin))) {
    throw new MalformedMessage('a change with fields of other types');
  }
  if (!isTick(clock)) throw new MalformedMessage('a change has no time');
  if (kind === kinds.deleted) return { key, clock, origin, value: undefined };
  if (kind === kinds.bytes) return { key, clock, origin, value: Buffer.from(text, 'base64') };
  return { key, clock, origin, value: text };
}

type Check = (value: unknown) => boolean;

/** Versions of clients have the names and the epochs in them, and Redis has the names. */
const NAME = /^[\w~-]{1,64}$/;
const EPOCH = /^[\w-]{1,24}$/;

const isText: Check = (value) => typeof value === 'string';
const isName: Check = (value) => typeof value === 'string' && NAME.test(value);
const isEpoch: Check = (value) => typeof value === 'string' && (EPOCH.test(value) || value === NO_EPOCH);
const isOptionalName: Check = (value) => value === undefined || isName(value);
const isTextList: Check = (value) => Array.isArray(value) && value.every(isText);
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isOptionalCount: Check = (value) => value === undefined || isCount(value);
const isOptionalTick: Check = (value) => value === undefined || isTick(value);
const isProgress: Check = (value) => {
  const { node, sequence, clock } = (value ?? {}) as Progress;
  return isName(node) && isCount(sequence) && isTick(clock);
};
const isChange: Check = (value) => {
  if (!Array.isArray(value)) return false;
  const [key, clock, kind, text, origin] = value;
  return isText(key) && isTick(clock) && isCount(kind) && isText(text) && isOptionalName(origin);
};
const isChangeList: Check = (value) => Array.isArray(value) && value.every(isChange);
const isProgressList: Check = (value) => Array.isArray(value) && value.every(isProgress);

const progress = { node: isName, sequence: isCount, clock: isTick };
const answer = { ...progress, to: isName, id: isCount };
const question = { node: isName, id: isCount };

const fieldsOf: Readonly<Record<Message['type'], Readonly<Record<string, Check>>>> = {
  // Each change is checked when it is read, at once.
  changes: { ...progress, room: isText, epoch: isEpoch, changes: Array.isArray },
  beat: progress,
  bye: { node: isName, sequence: isOptionalCount, clock: isOptionalTick },
  hello: { ...question, ...progress, room: isText },
  ping: question,
  pull: { ...question, of: isName, room: isText, since: isCount, after: isCount, origin: isOptionalName },
  lost: { ...question, of: isName, heard: isCount, since: isCount },
  welcome: { ...answer, has: isText, peers: isProgressList },
  pong: answer,
  page: { ...answer, epoch: isEpoch, forgotten: isTick, changes: isChangeList, next: isOptionalCount },
  rest: { ...answer, heard: isCount, clockOf: isTick, rooms: isTextList },
};

/**
 * Other programs may publish on the backplane too. Unknown fields pass: a newer version may send them.
 * @throws MalformedMessage
 */
export function check(message: unknown): Message {
  const given = (message ?? {}) as Record<string, unknown>;
  const { type } = given;
  if (typeof type !== 'string' || !Object.hasOwn(fieldsOf, type))
    throw new MalformedMessage('a message of no known type');
  for (const [name, isValid] of Object.entries(fieldsOf[type as Message['type']])) {
    if (!isValid(given[name])) throw new MalformedMessage(`${type} with an invalid ${name}`);
  }
  return message as Message;
}

/** The event between workers. */
const EVENT = 'gjallar:state';

interface Asked {
  /** The workers whose answers are missing. */
  readonly missing: Set<string>;
  readonly answers: Answer[];
  finish(): void;
}

/** A question without its number. */
type NewQuestion = Question extends infer Each ? (Each extends Question ? Omit<Each, 'id'> : never) : never;

/**
 * The messages of state rooms between the workers and machines that share a namespace, over any adapter. Answers are sent
 * to all: adapters gather acknowledgements, and wait in vain for a process that has no state rooms.
 */
export class Channel {
  private readonly asked = new Map<number, Asked>();
  private listener: ((message: unknown) => void) | undefined;
  private questions = 0;
  private isClosed = false;

  constructor(private readonly nsp: Namespace) {}

  /** Whether the adapter reaches other workers. */
  get hasOthers(): boolean {
    return hasOthers(this.nsp.adapter);
  }

  listen(listener: (message: unknown) => void): void {
    this.listener = listener;
    this.nsp.on(EVENT as never, listener as never);
  }

  close(): void {
    this.isClosed = true;
    if (this.listener) this.nsp.off(EVENT as never, this.listener as never);
    for (const { finish } of [...this.asked.values()]) finish();
  }

  send(message: Message): void {
    if (this.hasOthers && !this.isClosed) this.nsp.serverSideEmit(EVENT, message);
  }

  /**
   * Asks other workers.
   * @param expected resolves as soon as these have answered; with none of them, only after the time
   * @param maxWaitMs resolves after this time in any case
   */
  ask(question: NewQuestion, expected: Iterable<string>, maxWaitMs: number): Promise<readonly Answer[]> {
    if (this.isClosed) return Promise.resolve([]);
    const id = ++this.questions;
    return new Promise((resolve) => {
      const answers: Answer[] = [];
      const finish = () => {
        clearTimeout(timer);
        this.asked.delete(id);
        resolve(answers);
      };
      const timer = setTimeout(finish, maxWaitMs);
      this.asked.set(id, { missing: new Set(expected), answers, finish });
      this.send({ ...question, id } as Question);
    });
  }

  /** An answer for this worker has arrived. */
  answered(answer: Answer): void {
    const asked = this.asked.get(answer.id);
    if (!asked) return;
    asked.answers.push(answer);
    if (asked.missing.delete(answer.node) && asked.missing.size === 0) asked.finish();
  }
}
