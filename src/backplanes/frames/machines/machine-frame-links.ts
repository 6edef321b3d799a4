import { own } from '../../../base/owner.js';
import { type WorkerLinks, workerName } from '../../../base/worker-links.js';
import { Gateway } from '../gateway/gateway.js';
import { InOrder } from '../gateway/in-order.js';
import type { FrameLinks, FrameListener, Route } from '../links.js';
import { EMITTER, isEmitted, messageOf, readEmitted, types } from '../wire/message.js';
import {
  type MachineFrame,
  MachineFrameWriter,
  machineOf,
  numberBefore,
  numberOf,
  openFrame,
  readEntries,
} from './machine-frame.js';
import { Presence } from './presence.js';
import type { PubSub } from './pub-sub.js';

const LATE = 'the worker was heard of late, and has not got earlier messages of this one';
const bye = messageOf(types.bye, Buffer.alloc(0));

/**
 * Frames between the workers of different machines. Each machine has a channel.
 * @see MachineFrameWriter for the frames, {@link Presence} for how workers find each other, {@link Gateway} for the
 *   workers that subscribe
 */
export class MachineFrameLinks implements FrameLinks {
  private readonly routes = new Map<string, MachineRoute>();
  private readonly machine: string;
  private presence: Presence | undefined;
  private gateway: Gateway | undefined;
  private inOrder: InOrder | undefined;

  /**
   * @param id this worker's id: machine and number
   * @param mates the links to the other workers of this machine, for their gateway
   * @param channels the prefix of the channels
   */
  constructor(
    readonly id: string,
    private readonly mates: WorkerLinks,
    private readonly pubSub: PubSub,
    private readonly channels: string,
  ) {
    this.machine = machineOf(id);
  }

  workers(): Iterable<string> {
    return [];
  }

  routeTo(worker: string): Route {
    const machine = machineOf(worker);
    const known = this.routes.get(machine);
    if (known) return known;
    const route = new MachineRoute(this.id, this.pubSub, this.channelOf(machine));
    this.routes.set(machine, route);
    return route;
  }

  isElsewhere(worker: string): boolean {
    return machineOf(worker) !== this.machine;
  }

  listen(listener: FrameListener): void {
    const { id, pubSub, machine } = this;
    const ownNumber = numberOf(id);
    const ownChannel = this.channelOf(machine);
    const presence = new Presence(id, pubSub, this.channels, {
      onJoin: (worker) => machineOf(worker) !== machine && listener.onJoin(worker),
      onLeave: (worker) => {
        if (machineOf(worker) === machine) return;
        this.routes.get(machineOf(worker))?.forget(worker);
        inOrder.leave(worker);
        listener.onLeave(worker);
      },
      // Workers of this machine answer, too, so that the new worker knows when all have.
      onHello: (worker) => machineOf(worker) === machine && gateway.answer(numberOf(worker)),
      onLate: (worker) => machineOf(worker) !== machine && pubSub.health.noteGap(worker, LATE),
      hasBroadcast: () => listener.hasBroadcast(),
    });
    const inOrder = new InOrder(
      {
        isThere: (sender) => presence.has(sender),
        onFrame: (frame) =>
          guarded(() => {
            presence.heard(frame.sender);
            readEntries(frame, ownNumber, (type, body) => {
              if (type === types.bye) presence.leave(frame.sender);
              else listener.onMessage(frame.sender, type, body);
            });
          }),
        onLoss: (sender, reason) => {
          pubSub.health.noteGap(sender, reason);
          presence.resume(sender);
        },
      },
      () => gateway.hasMates,
    );
    const receive = (frame: MachineFrame) => {
      if (!frame.addressees.includes(ownNumber)) return;
      presence.admit(frame.sender);
      inOrder.receive(frame, numberBefore(frame, ownNumber));
    };
    /** One malformed message must not take those after it along. */
    const guarded = (read: () => void) => {
      try {
        read();
      } catch (error) {
        listener.onMalformed(error);
      }
    };
    pubSub.listen({
      onMessage: (channel, bytes) =>
        guarded(() => {
          if (channel !== ownChannel) {
            if (!isEmitted(bytes)) return presence.receive(bytes);
            return readEmitted(bytes, (type, body) => listener.onMessage(EMITTER, type, body));
          }
          const frame = openFrame(bytes);
          if (machineOf(frame.sender) === machine) return;
          gateway.pass(frame);
          receive(frame);
        }),
      onRenewed: () => {
        gateway.renewed();
        return presence.begin();
      },
      onLost: () => gateway.lost(),
    });
    const gateway = new Gateway(
      this.mates,
      {
        subscribe: () => pubSub.subscribe(ownChannel),
        unsubscribe: () => pubSub.unsubscribe(ownChannel),
        renew: (reason) => pubSub.renew(reason),
      },
      { onFrame: receive, onAnswer: (worker) => presence.heard(workerName(worker, machine)) },
    );
    own('subscribing to the channel of all machines', pubSub.subscribe(this.channels));
    this.presence = presence;
    this.gateway = gateway;
    this.inOrder = inOrder;
  }

  lose(): void {
    if (!this.pubSub.health.isUp) this.pubSub.health.unsent++;
  }

  /** This worker will end soon: others of its machine take over its tasks. */
  retire(): void {
    this.gateway?.retire();
  }

  close(): void {
    // It arrives after everything that was sent before, whichever way that takes.
    const routes = new Set<Route>();
    for (const worker of this.presence?.workers ?? []) {
      if (machineOf(worker) === this.machine) continue;
      const route = this.routeTo(worker);
      route.add(worker, bye);
      routes.add(route);
    }
    for (const route of routes) route.send();
    this.presence?.close();
    this.gateway?.close();
    this.inOrder?.close();
    this.pubSub.close();
  }

  private channelOf(machine: string): string {
    return `${this.channels}:${machine}`;
  }
}

class MachineRoute implements Route {
  private readonly writer: MachineFrameWriter;
  private failures = 0;

  constructor(
    sender: string,
    private readonly pubSub: PubSub,
    private readonly channel: string,
  ) {
    this.writer = new MachineFrameWriter(sender);
  }

  add(worker: string, message: Buffer): void {
    this.writer.add(numberOf(worker), message);
  }

  send(): void {
    const { failures } = this.pubSub.health;
    if (failures !== this.failures) this.writer.restart();
    this.failures = failures;
    const { frame, messages } = this.writer.take();
    own('sending a frame to a machine', this.pubSub.publish(this.channel, frame, messages));
  }

  forget(worker: string): void {
    this.writer.forget(numberOf(worker));
  }
}
