import { own } from '../../base/owner.js';
import { randomBytes, randomInt } from '../../base/random.js';
import type { RoomKey } from '../backplanes/frames/interest/rooms.js';
import { ticksNow } from '../backplanes/frames/interest/withheld.js';
import type { PubSub } from '../backplanes/pub-sub.js';
import { Envelope } from '../wire/envelope.js';
import { ENVELOPES, frameHead, type HubFrame, type HubName } from '../wire/hub-frame.js';
import { Outgoing } from '../wire/stream.js';
import { types } from '../wire/types.js';
import { RemoteClock } from './remote-clock.js';

/** After this number of silent turns, a hub counts as gone. */
const MAX_SILENT_TURNS = 5;
/** How long the answers to the first greeting of a life are waited for, in ms. */
const ANSWERS_MS = 1000;
/** The same, after each answer, where the server does not say how many there will be. */
const UNCOUNTED_MS = 200;
const MAX = 2 ** 32;

/** Stands for any series. */
const ANY = 0;
const newSeries = (): number => randomInt(1, MAX);

const MISSING = 'frames of a machine are missing';
const NOT_ARRIVED = 'frames to a machine have not arrived';

/** The hub of another machine, and the link to it. */
export class OtherHub {
  readonly id: string;
  series = newSeries();
  readonly out = new Outgoing();
  readonly clock = new RemoteClock();
  /** The numbers of its workers. */
  readonly workers = new Set<number>();
  rooms: Set<RoomKey> | undefined;
  sent = 0;
  /** The series from it, and the number of the next frame. */
  receiving: { readonly series: number; next: number } | undefined;
  silentTurns = 0;
  /** The turns since it was met or missed without a series of it. */
  turnsWithout = 0;
  /** Whether frames to it were lost. */
  isBroken = false;

  constructor(readonly name: HubName) {
    this.id = name.hub;
  }

  get machine(): string {
    return this.name.machine;
  }
}

interface OtherHubsEvents {
  /** A series to the hub begins: what it must know first can be added to what goes out. */
  onBegin(hub: OtherHub): void;
  /** The first frame of a series has come, or one to the hub has begun again: both can reach each other. */
  onLinked(hub: OtherHub): void;
  onEnvelope(hub: OtherHub, envelope: Envelope): void;
  /** The hub is gone, or frames of it were lost. It may say again what it has. */
  onLost(hub: OtherHub): void;
  /** Frames to the hub were lost. */
  onUnsent(hub: OtherHub): void;
}

/**
 * The links to the hubs of other machines, over a server that may lose messages. Frames of one hub to another arrive in
 * order, or the one counts as gone and here again: frames are numbered, and a hub that misses one asks for a new series, whose
 * first frame says what it must know. The series of the two directions do not depend on each other.
 *
 * ```
 * ONE                                OTHER
 *  │  greeting (to all)               │
 *  │ ───────────────────────────────▶ │
 *  │           frame (series 9, 0)    │  its workers and rooms
 *  │ ◀─────────────────────────────── │
 *  │  frame (series 7, 0)             │
 *  │ ───────────────────────────────▶ │
 *  │  frame (7, 1)                    │
 *  │ ──────────╳                      │
 *  │  frame (7, 2)                    │
 *  │ ───────────────────────────────▶ │  ONE is gone
 *  │               reset (7)          │
 *  │ ◀─────────────────────────────── │
 *  │  frame (8, 0)                    │
 *  │ ───────────────────────────────▶ │  and here again
 * ```
 */
export class OtherHubs {
  readonly hubs = new Map<string, OtherHub>();
  private readonly id = randomBytes(6).toString('base64url');
  private life = randomInt(0, MAX);
  private lastReset: number | undefined;
  private hasBegun = false;
  /** Waits for the answers to the greeting. */
  private answers:
    | { readonly from: Set<string>; expected: number; pause: NodeJS.Timeout | undefined; end(): void }
    | undefined;

  constructor(
    private readonly machine: string,
    private readonly pubSub: PubSub,
    private readonly channel: string,
    private readonly events: OtherHubsEvents,
  ) {}

  /** The channel of this hub: that of its machine. */
  get ownChannel(): string {
    return this.channelOf(this.machine);
  }

  /**
   * Call this when all subscriptions are there, for the first time or again. Resolves when the other hubs have said what they
   * have.
   */
  async begin(): Promise<void> {
    for (const hub of [...this.hubs.values()]) this.lose(hub);
    this.life = randomInt(0, MAX);
    this.hasBegun = true;
    this.answers?.end();
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => answers.end(), ANSWERS_MS);
      const answers: NonNullable<OtherHubs['answers']> = {
        from: new Set(),
        expected: Number.POSITIVE_INFINITY,
        pause: undefined,
        end: () => {
          clearTimeout(timer);
          clearTimeout(answers.pause);
          if (this.answers === answers) this.answers = undefined;
          resolve();
        },
      };
      this.answers = answers;
      const greeted = this.greet().then((count) => {
        // This hub hears its own greeting, too.
        if (count !== undefined) answers.expected = count - 1;
        else answers.pause = setTimeout(answers.end, UNCOUNTED_MS);
        this.answered();
      });
      own('greeting other machines', greeted);
    });
  }

  /** @throws MalformedMessage */
  onFrame(frame: HubFrame, bytes: Buffer): void {
    const { hub: id, machine, series } = frame;
    if (id === this.id) return;
    // Workers of the same machine have their mesh.
    if (machine === this.machine) return this.answered(id);
    switch (frame.type) {
      case types.greeting:
        this.known(frame).silentTurns = 0;
        return;
      case types.bye: {
        const hub = this.hubs.get(id);
        if (hub) this.lose(hub);
        return;
      }
      case types.reset: {
        const hub = this.known(frame);
        // A new one may have begun already.
        if (hub.series === series || (series === ANY && hub.sent > 1)) this.beginAgain(hub);
        return;
      }
      case types.frame:
        return this.receive(frame, bytes);
    }
  }

  /** Sends what waits. Returns the number of frames. */
  flush(): number {
    let frames = 0;
    for (const hub of this.hubs.values()) {
      if (hub.out.bytes === 0) continue;
      this.send(hub);
      frames++;
    }
    return frames;
  }

  send(hub: OtherHub): void {
    const { health } = this.pubSub;
    const { messages } = hub.out;
    const frame = hub.out.take(this.head(types.frame, hub.series, hub.sent++ >>> 0));
    const { failures } = health;
    const sent = this.pubSub.publish(this.channelOf(hub.machine), frame, messages).then((receivers) => {
      if (this.hubs.get(hub.id) !== hub) return;
      if (receivers !== 0 && health.failures === failures) return;
      hub.isBroken = true;
      if (receivers !== 0) return;
      health.unsent += messages;
      // It listens no more. What it has sent last may still be on its way: it is gone with the next turn, unless it says more.
      hub.silentTurns = MAX_SILENT_TURNS;
    });
    own('sending to another machine', sent);
  }

  close(): void {
    this.answers?.end();
    this.flush();
    for (const { machine } of this.hubs.values()) this.tell(machine, types.bye);
  }

  /** Says that this hub is there, and looks whether others are. Call this once a second. */
  turn(): void {
    if (!this.hasBegun) return;
    // Also while the server rejects it: this shows when it is accepted again.
    own('greeting other machines', this.greet());
    if (!this.pubSub.health.isUp) return;
    for (const hub of [...this.hubs.values()]) {
      if (++hub.silentTurns > MAX_SILENT_TURNS) this.lose(hub);
      // Its first frame has got lost.
      else if (!hub.receiving && ++hub.turnsWithout > 1) this.tell(hub.machine, types.reset, ANY);
    }
    this.mend();
  }

  /** Begins again with the hubs to which frames were lost. */
  mend(): void {
    for (const hub of this.hubs.values()) if (hub.isBroken) this.beginAgain(hub);
  }

  private receive(frame: HubFrame, bytes: Buffer): void {
    const { number, series, hub: id } = frame;
    const hub = this.known(frame);
    if (number === 0) {
      // The sender has reported why it begins again.
      if (hub.receiving) this.events.onLost(hub);
      hub.receiving = { series, next: 0 };
      this.events.onLinked(hub);
    }
    if (hub.receiving?.series !== series || hub.receiving.next !== number) {
      if (hub.receiving) this.miss(hub);
      // Those that follow on their way tell nothing new.
      if (this.lastReset !== series) this.tell(hub.machine, types.reset, series);
      this.lastReset = series;
      return;
    }
    hub.receiving.next = (number + 1) >>> 0;
    hub.silentTurns = 0;
    hub.clock.note(frame.time, ticksNow());
    const envelope = new Envelope(bytes, ENVELOPES);
    try {
      while (envelope.next()) this.events.onEnvelope(hub, envelope);
      envelope.expectEnd();
    } finally {
      if (number === 0) this.answered(id);
    }
  }

  /** The link to a hub in its present life. */
  private known({ hub: id, machine, life }: HubName): OtherHub {
    const known = this.hubs.get(id);
    if (known?.name.life === life) return known;
    // A machine has one hub: the former one of this machine has ended without a word.
    for (const former of [...this.hubs.values()]) if (former.machine === machine) this.lose(former);
    const hub = new OtherHub({ hub: id, machine, life });
    this.hubs.set(id, hub);
    this.events.onBegin(hub);
    this.send(hub);
    return hub;
  }

  /** Frames of the hub were lost. */
  private miss(hub: OtherHub): void {
    hub.receiving = undefined;
    hub.turnsWithout = 0;
    this.pubSub.health.noteGap(hub.machine, MISSING);
    this.events.onLost(hub);
  }

  /** Frames to the hub were lost. */
  private beginAgain(hub: OtherHub): void {
    this.pubSub.health.noteGap(hub.machine, NOT_ARRIVED);
    hub.series = newSeries();
    hub.sent = 0;
    hub.isBroken = false;
    hub.out.take();
    this.events.onUnsent(hub);
    this.events.onBegin(hub);
    if (hub.receiving) this.events.onLinked(hub);
    this.send(hub);
  }

  private lose(hub: OtherHub): void {
    if (this.hubs.get(hub.id) !== hub) return;
    this.hubs.delete(hub.id);
    this.events.onLost(hub);
  }

  private greet(): Promise<number | undefined> {
    return this.pubSub.publish(this.channel, this.head(types.greeting, 0, 0), 0);
  }

  private tell(machine: string, type: number, series = 0): void {
    own('telling another machine', this.pubSub.publish(this.channelOf(machine), this.head(type, series, 0), 0));
  }

  private answered(id?: string): void {
    const { answers } = this;
    if (!answers) return;
    if (id !== undefined) answers.from.add(id);
    answers.pause?.refresh();
    if (answers.from.size >= answers.expected) answers.end();
  }

  private head(type: number, series: number, number: number): Buffer {
    const { id: hub, machine, life } = this;
    return frameHead({ type, hub, machine, life, series, number, time: ticksNow() });
  }

  private channelOf(machine: string): string {
    return `${this.channel}:${machine}`;
  }
}
