import { MalformedMessage } from '../../../../errors.js';
import type { FrameLinks, FrameListener, Route } from '../links.js';
import { MachineFrameWriter, machineOf, numberOf, readEntries, senderOf } from './machine-frame.js';
import { Presence } from './presence.js';
import type { PubSub } from './pub-sub.js';

/** The channel on which all workers meet; those of the machines begin with the same name. */
export const framesChannel = (prefix: string): string => `${prefix}:frames`;

/**
 * Frames between the workers of different machines. Each machine has a channel.
 * @see MachineFrameWriter for the frames, {@link Presence} for how workers find each other
 */
export class MachineFrameLinks implements FrameLinks {
  private readonly routes = new Map<string, MachineRoute>();
  private readonly machine: string;
  private presence: Presence | undefined;

  /**
   * @param id this worker's id: machine and number
   * @param channels the prefix of the channels
   */
  constructor(
    readonly id: string,
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
    const channel = this.channelOf(machine);
    const route = new MachineRoute(this.id, (frame, messages) => void this.pubSub.publish(channel, frame, messages));
    this.routes.set(machine, route);
    return route;
  }

  listen(listener: FrameListener): void {
    const { id, pubSub, machine } = this;
    const ownChannel = this.channelOf(machine);
    const presence = new Presence(id, pubSub, this.channels, {
      onJoin: (worker) => machineOf(worker) !== machine && listener.onJoin(worker),
      onLeave: (worker) => machineOf(worker) !== machine && listener.onLeave(worker),
      // Workers of this machine answer, too, so that the new worker knows when all have.
      onHello: (worker) => machineOf(worker) === machine && this.routeTo(worker).send(),
    });
    this.presence = presence;
    pubSub.listen(
      (channel, bytes) => {
        try {
          if (channel !== ownChannel) return presence.receive(bytes);
          const { sender, at } = senderOf(bytes);
          presence.heard(sender);
          if (machineOf(sender) === machine) return;
          readEntries(bytes, at, numberOf(id), (type, body) => listener.onMessage(sender, type, body));
        } catch (error) {
          listener.onMalformed(error instanceof MalformedMessage ? error : new MalformedMessage(String(error)));
        }
      },
      () => presence.begin(),
    );
    pubSub.subscribe(ownChannel);
    pubSub.subscribe(this.channels);
  }

  lose(): void {
    if (!this.pubSub.health.isUp) this.pubSub.health.unsent++;
  }

  close(): void {
    this.presence?.close();
    this.pubSub.close();
  }

  private channelOf(machine: string): string {
    return `${this.channels}:${machine}`;
  }
}

class MachineRoute implements Route {
  private readonly writer: MachineFrameWriter;

  constructor(
    sender: string,
    private readonly publish: (frame: Buffer, messages: number) => void,
  ) {
    this.writer = new MachineFrameWriter(sender);
  }

  add(worker: string, message: Buffer): void {
    this.writer.add(numberOf(worker), message);
  }

  send(): void {
    const { frame, messages } = this.writer.take();
    this.publish(frame, messages);
  }
}
