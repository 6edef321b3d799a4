import { own } from '../../base/owner.js';
import { thisProcess } from '../../base/process.js';
import { MalformedMessage } from '../../errors.js';
import type { HybridClock } from '../clock.js';
import type { Channel } from './channel.js';
import type { Departures } from './departures.js';
import type { Message, News, Page, Progress, Question, Rest, Welcome } from './messages.js';
import * as messages from './messages.js';
import type { Opening } from './opening.js';
import type { Outgoing } from './outgoing.js';
import { Peer, type Peers } from './peer.js';
import type { Pulls } from './pulls.js';
import type { Replicas } from './replica.js';

/** What incoming messages need of the hub. */
export interface IncomingHost {
  readonly node: string;
  readonly clock: HybridClock;
  readonly channel: Channel;
  readonly rooms: Replicas;
  readonly peers: Peers;
  readonly outgoing: Outgoing;
  readonly pulls: Pulls;
  readonly opening: Opening;
  readonly departures: Departures;
  peerOf(progress: Progress): Peer;
  /** A message of a worker has been handled; some before it may be missing. */
  onNews(node: string): void;
}

/** Handles the messages of the other workers. */
export class Incoming {
  constructor(private readonly host: IncomingHost) {}

  receive(given: unknown): void {
    const { node } = this.host;
    try {
      const message = messages.check(given);
      if (message.node === node) return;
      if ('to' in message && message.to !== node) return;
      this.handle(message);
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
      thisProcess.reports.malformed('state', error.message);
    }
  }

  private handle(message: Message): void {
    const { host } = this;
    const { node, channel, outgoing, pulls, departures } = host;
    switch (message.type) {
      case 'changes': {
        const changes = message.changes.map((change) => messages.fromWire(change, message.node));
        const peer = host.peerOf(message);
        pulls.adopt(message.room, message.epoch, changes);
        peer.received(message.sequence, message.clock);
        if (host.rooms.has(message.room)) peer.changed(message.room, changes.at(-1)?.clock ?? 0);
        break;
      }
      case 'beat':
        host.peerOf(message).claims(message.sequence, message.clock);
        break;
      case 'bye':
        this.bye(message);
        break;
      case 'hello':
        this.hello(message);
        return this.answer(message, host.opening.welcome(message.room));
      case 'ping':
        return this.answer(message, { type: 'pong' });
      case 'pull':
        if (message.of === node) this.answer(message, pulls.page(message));
        return;
      case 'lost':
        if (message.of === node) channel.send({ type: 'beat', ...outgoing.flushed() });
        else this.answer(message, departures.answerTo(message));
        return;
      default:
        return channel.answered(message);
    }
    host.onNews(message.node);
  }

  private hello({ node, sequence, clock }: Progress): void {
    const { peers, clock: own } = this.host;
    own.heard(clock);
    // A worker that has just started has not sent anything that could be missing.
    if (sequence === 0 && !peers.has(node)) peers.admit(node, new Peer(0, clock));
    else this.host.peerOf({ node, sequence, clock }).claims(sequence, clock);
  }

  private bye({ node, sequence, clock }: News & { type: 'bye' }): void {
    const { peers, departures } = this.host;
    const peer = peers.get(node);
    if (!peer) return;
    if (sequence !== undefined && clock !== undefined) peer.claims(sequence, clock);
    if (peer.hasGap) own('noting that a worker is gone', departures.lose(node, peer));
    else departures.left(node, peer);
  }

  private answer({ node: to, id }: Question, content: Welcome | { type: 'pong' } | Page | Rest): void {
    const { channel, outgoing } = this.host;
    channel.send({ ...outgoing.flushed(), to, id, ...content });
  }
}
