import { own } from '../../../base/owner.js';
import type { WorkerLinks } from '../../../base/worker-links.js';
import { type MachineFrame, openFrame } from '../machines/machine-frame.js';
import { FrameLog } from './frame-log.js';
import * as messages from './messages.js';
import { type Mate, mayStop, rolesAmong, shouldBegin } from './messages.js';

/** For how long frames arrive on both ways when a worker changes from one to the other, in ms. */
const OVERLAP_MS = 1000;
/** How often the gateway and its deputy tell each other which frames they have, in ms. */
const CONFIRM_INTERVAL_MS = 100;
const NO_GATEWAY = 'no worker of this machine hands on the frames of other machines';

/** This worker's subscription to the channel of its machine. */
export interface ChannelSubscription {
  /** Resolves with whether the server has confirmed it; if not, it is confirmed with the next connection. */
  subscribe(): Promise<boolean>;
  unsubscribe(): void;
  /** Messages may have been lost: the bus counts as down until all subscriptions are confirmed again. */
  renew(reason: string): void;
}

interface GatewayListener {
  /** A worker of this machine hands on a frame. */
  onFrame(frame: MachineFrame): void;
  /** A worker of this machine has got the hello of this one. */
  onAnswer(worker: number): void;
}

/**
 * - `starting`: waits for the server to confirm the subscription;
 * - `reading`: gets all frames from the channel;
 * - `stopping`: still subscribed, until the gateway has handed on everything for a while;
 * - `fed`: not subscribed; the gateway hands frames on.
 */
type Phase = 'starting' | 'reading' | 'stopping' | 'fed';

/** Another worker of this machine. */
interface KnownMate extends Mate {
  /** Whether the gateway hands frames on to it. */
  isFed: boolean;
}

/**
 * Decides which workers of a machine subscribe to its channel, so that the server sends each frame at most twice to a
 * machine, however many workers it has.
 *
 * Each worker begins as a subscriber. One that finds two others before it stops: the *gateway*, which hands frames on over
 * the mesh, and its *deputy*, which keeps them until the gateway confirms that it has handed them on. When the gateway is
 * gone or late, the deputy hands on what it has kept. The gateway keeps what is for the deputy in the same way, in case the
 * deputy loses its connection. The order of the workers is the order of their numbers; those that
 * lose their connection or end soon come last. All workers tell each other what they do, so nothing is voted on: if two
 * take themselves for the gateway for a moment, frames arrive twice, and {@link InOrder} drops the second.
 *
 * ```
 * THIRD WORKER                         GATEWAY
 *  │  state: not reading                │
 *  │ ─────────────────────────────────▶ │
 *  │                           feeding  │
 *  │ ◀───────────────────────────────── │  frames arrive on both ways
 *  │  (after a second: unsubscribes)    │
 * ```
 */
export class Gateway {
  private readonly mates = new Map<number, KnownMate>();
  private phase: Phase = 'starting';
  private isConnected = false;
  private isRetired = false;
  private roles: ReturnType<typeof rolesAmong> = {};
  private told = '';
  /** The gateway, and a former one for a moment. */
  private isHandingOn = false;
  /** The gateway that hands frames on to this worker, which therefore waits to unsubscribe. */
  private feeder: { readonly id: number } | undefined;
  /** What the deputy keeps for the others and the gateway, or the gateway for the deputy. */
  private readonly log = new FrameLog((frame) => {
    if (this.roles.deputy === this.links.id) this.handOn(frame);
  });
  /** What was passed, as the gateway or deputy, and is not confirmed to the other one: the last number of each sender. */
  private readonly passed = new Map<string, number>();

  /** @param links a purpose of the mesh of its own */
  constructor(
    private readonly links: WorkerLinks,
    private readonly channel: ChannelSubscription,
    private readonly listener: GatewayListener,
  ) {
    links.onMessage((from, message) => this.receiveFrom(from, message));
    links.onLeave((worker) => {
      if (this.mates.delete(worker)) this.review();
    });
    own('subscribing to the channel of this machine', channel.subscribe());
    this.review();
  }

  /** Whether other workers of this machine may hand frames on. */
  get hasMates(): boolean {
    return this.mates.size > 0;
  }

  /** Call this when all subscriptions are confirmed, for the first time or again. */
  renewed(): void {
    this.isConnected = true;
    if (this.phase !== 'fed') this.phase = 'reading';
    this.review();
  }

  /** Call this when the connection or a subscription is lost. */
  lost(): void {
    this.isConnected = false;
    if (this.phase !== 'fed') this.phase = 'starting';
    this.review();
  }

  /** This worker will end soon: others take over. */
  retire(): void {
    this.isRetired = true;
    this.review();
  }

  /** Call this with each frame from the channel, before it is handled. */
  pass(frame: MachineFrame): void {
    const { otherReader } = this;
    if (this.isHandingOn) this.handOn(frame);
    if (otherReader === undefined) return;
    this.confirmLater(frame);
    const { addressees } = frame;
    const isDeputy = this.roles.deputy === this.links.id;
    if (isDeputy ? addressees.some((worker) => worker !== this.links.id) : addressees.includes(otherReader)) {
      this.log.add(frame);
    }
  }

  /** Tells a worker of this machine that its hello has arrived. */
  answer(worker: number): void {
    this.links.send(worker, messages.answer);
  }

  close(): void {
    this.links.broadcast(messages.stateMessage({ isReading: false, isCandidate: false }));
    this.log.clear();
    this.passed.clear();
    this.mates.clear();
    this.isHandingOn = false;
  }

  private get self(): Mate {
    const isCandidate = this.isConnected && !this.isRetired;
    return { id: this.links.id, isReading: this.phase === 'reading', isCandidate };
  }

  /** The deputy, if this worker is the gateway, or the gateway, if it is the deputy. */
  private get otherReader(): number | undefined {
    const { gateway, deputy } = this.roles;
    if (gateway === this.links.id) return deputy;
    return deputy === this.links.id ? gateway : undefined;
  }

  /** Call this after every change of this worker or another one. */
  private review(): void {
    this.move();
    const { self, links, mates } = this;
    const state = messages.stateMessage(self);
    if (this.told !== state.toString('latin1')) {
      this.told = state.toString('latin1');
      links.broadcast(state);
    }
    const before = this.roles;
    this.roles = rolesAmong([self, ...mates.values()]);
    const { gateway } = this.roles;
    if (this.feeder?.id !== gateway || this.phase !== 'stopping') this.feeder = undefined;
    if (gateway === links.id && before.gateway !== links.id) this.begin();
    if (gateway !== links.id && before.gateway === links.id) this.end();
    if (this.otherReader === undefined) this.log.clear();
  }

  /** Goes from one phase to the next. */
  private move(): void {
    const others = [...this.mates.values()];
    switch (this.phase) {
      case 'reading':
        if (mayStop(this.self, others)) this.phase = 'stopping';
        break;
      case 'stopping':
        if (shouldBegin(this.self, others)) this.phase = 'reading';
        break;
      case 'fed':
        if (!shouldBegin(this.self, others)) break;
        this.phase = 'starting';
        own('subscribing to the channel of this machine', this.subscribe());
    }
    // Frames of this moment are lost. Renewing counts as a lost connection, so this happens once.
    const isAlone = this.phase === 'starting' && !others.some(({ isReading }) => isReading);
    if (isAlone && this.isConnected) this.channel.renew(NO_GATEWAY);
  }

  private async subscribe(): Promise<void> {
    const isConfirmed = await this.channel.subscribe();
    if (!isConfirmed || this.phase !== 'starting' || !this.isConnected) return;
    this.phase = 'reading';
    this.review();
  }

  /** This worker is the gateway from now on. */
  private begin(): void {
    this.isHandingOn = true;
    for (const frame of this.log.takeAll()) this.handOn(frame);
    for (const { id, isReading } of this.mates.values()) if (!isReading) this.links.send(id, messages.feeding);
  }

  private end(): void {
    afterOverlap(() => {
      if (this.roles.gateway !== this.links.id) this.isHandingOn = false;
    });
  }

  private receiveFrom(from: number, message: Buffer): void {
    switch (message[1]) {
      case messages.kinds.state:
        return this.setState(from, message);
      case messages.kinds.feeding:
        return this.fedBy(from);
      case messages.kinds.frame:
        return this.listener.onFrame(openFrame(message.subarray(messages.HEADER)));
      case messages.kinds.passed:
        if (from === this.otherReader) this.log.confirm(messages.passedNumbers(message));
        return;
      case messages.kinds.answer:
        return this.listener.onAnswer(from);
    }
  }

  private setState(id: number, message: Buffer): void {
    const { links, mates } = this;
    // A worker that is gone must not return with a late message.
    if (!links.members.includes(id)) return;
    const known = mates.get(id);
    const mate = { id, ...messages.stateOf(message), isFed: known?.isFed ?? false };
    mates.set(id, mate);
    if (!known) links.send(id, messages.stateMessage(this.self));
    if (!mate.isReading) {
      mate.isFed = true;
      // The deputy has lost its connection. What it has not confirmed was not handed on to it.
      if (this.roles.gateway === links.id && this.roles.deputy === id) {
        for (const frame of this.log.takeAll()) this.handOn(frame);
      }
    } else if (mate.isFed) {
      // Each change makes a new object.
      afterOverlap(() => {
        mate.isFed = false;
      });
    }
    this.review();
    if (!mate.isReading && this.roles.gateway === links.id) links.send(id, messages.feeding);
  }

  private fedBy(gateway: number): void {
    if (this.phase !== 'stopping' || gateway !== this.roles.gateway || this.feeder) return;
    const feeder = { id: gateway };
    this.feeder = feeder;
    afterOverlap(() => {
      if (this.feeder !== feeder) return;
      this.feeder = undefined;
      this.phase = 'fed';
      this.channel.unsubscribe();
    });
  }

  /** To those of its addressees that do not read the channel. */
  private handOn({ bytes, addressees }: MachineFrame): void {
    let message: Buffer | undefined;
    for (const worker of addressees) {
      if (!this.mates.get(worker)?.isFed) continue;
      message ??= messages.frameMessage(bytes);
      this.links.send(worker, message);
    }
  }

  private confirmLater({ sender, number }: MachineFrame): void {
    if (this.passed.size === 0) setTimeout(() => this.confirm(), CONFIRM_INTERVAL_MS).unref();
    this.passed.set(sender, number);
  }

  private confirm(): void {
    const { otherReader } = this;
    if (otherReader !== undefined) this.links.send(otherReader, messages.passedMessage(this.passed));
    this.passed.clear();
  }
}

/** After a stall, what has arrived meanwhile is read before the action. */
function afterOverlap(action: () => void): void {
  setTimeout(() => setImmediate(action), OVERLAP_MS).unref();
}
