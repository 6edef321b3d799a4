import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { Namespace } from 'socket.io';
import { MalformedMessage } from '../../base/errors.js';
import { owned } from '../../base/owner.js';
import type { Notice, OtherServers } from './services.js';

/** The event between servers. */
const EVENT = 'gjallar:heartbeat';
/** How often a server beats, in ms. */
const BEAT_MS = 2000;
/** After this number of turns without a notice of it, a server is gone. */
const MAX_SILENT_TURNS = 3;

interface NumberedNotice extends Notice {
  /** The number of the notice among those of its server, from 1 on. */
  readonly number: number;
  /** The only server that it is for. */
  readonly to?: string;
}

/**
 * The other servers of a namespace whose adapter does not tell of them: that of `BUS=redis`, and those of other packages. Their
 * pub/sub may lose messages and servers without a word, so each server beats and numbers what its services send. A server that
 * is silent, or whose numbers do not continue, is gone.
 */
export class Heartbeats extends EventEmitter<{ here: [string]; gone: [string] }> implements OtherServers {
  private static readonly byNamespace = new WeakMap<Namespace, Heartbeats>();
  readonly id = randomUUID();
  private readonly last = new Map<string, { number: number; silentTurns: number }>();
  private readonly timer: NodeJS.Timeout;
  private readonly onBeat = (notice: unknown) => isNumbered(notice) && this.hears(notice);
  private number = 0;
  private users = 0;

  /** Those of a namespace, which all its services share. Each of them releases them. */
  static of(nsp: Namespace): Heartbeats {
    const beats = Heartbeats.byNamespace.get(nsp) ?? new Heartbeats(nsp);
    Heartbeats.byNamespace.set(nsp, beats);
    beats.users++;
    return beats;
  }

  private constructor(private readonly nsp: Namespace) {
    super();
    nsp.on(EVENT as never, this.onBeat as never);
    this.timer = setInterval(
      owned('telling other servers of this one', () => this.turn()),
      BEAT_MS,
    ).unref();
  }

  send(event: string, notice: Notice, to?: string): void {
    this.nsp.adapter.serverSideEmit([event, { ...notice, number: ++this.number, to } satisfies NumberedNotice]);
  }

  hears(notice: Notice): boolean {
    if (!isNumbered(notice)) throw new MalformedMessage('a notice has no number');
    if (notice.from === this.id) return false;
    const { from, number, to } = notice;
    const last = this.last.get(from)?.number ?? 0;
    const isKnown = this.last.has(from);
    this.last.set(from, { number, silentTurns: 0 });
    const isNext = number === last + 1;
    if (!isNext) this.emit('gone', from);
    if (!isNext || !isKnown) this.emit('here', from);
    return to === undefined || to === this.id;
  }

  release(): void {
    if (--this.users > 0) return;
    clearInterval(this.timer);
    this.nsp.off(EVENT as never, this.onBeat as never);
    Heartbeats.byNamespace.delete(this.nsp);
  }

  private turn(): void {
    this.send(EVENT, { from: this.id });
    for (const [server, last] of this.last) {
      if (++last.silentTurns <= MAX_SILENT_TURNS) continue;
      this.last.delete(server);
      this.emit('gone', server);
    }
  }
}

function isNumbered(notice: unknown): notice is NumberedNotice {
  const { from, number } = (notice ?? {}) as Partial<NumberedNotice>;
  return typeof from === 'string' && Number.isSafeInteger(number);
}
