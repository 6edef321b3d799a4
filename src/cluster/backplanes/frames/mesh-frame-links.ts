import { MalformedMessage } from '../../../base/errors.js';
import type { WorkerLinks } from '../../../base/worker-links.js';
import { type FrameLinks, type FrameListener, Route } from './links.js';
import { endOf, HEADER } from './wire/message.js';

/** The first byte of a frame. */
export const MESH_VERSION = 4;

/** Hands each message of a frame to the listener, from `at` on. */
export function readFrame(frame: Buffer, at: number, onMessage: (type: number, body: Buffer) => void): void {
  while (at < frame.length) {
    const end = endOf(frame, at);
    onMessage(frame[at + 4]!, frame.subarray(at + HEADER, end));
    at = end;
  }
}

/**
 * Frames between the workers of one machine, over its mesh.
 * @param nameOf the id of a worker among all workers
 */
export class MeshFrameLinks implements FrameLinks {
  readonly id: string;
  /** There are no other machines. */
  readonly isUp = true;

  constructor(
    private readonly links: WorkerLinks,
    private readonly nameOf: (worker: number) => string = String,
  ) {
    this.id = nameOf(links.id);
  }

  workers(): Iterable<string> {
    return this.links.members.map(this.nameOf);
  }

  routeTo(worker: string): Route {
    const number = Number.parseInt(worker, 10);
    return new MeshRoute((frame) => {
      this.links.send(number, frame);
      // Before a message to a client of this worker that was given after what the frame carries.
      this.links.flush?.();
    });
  }

  isElsewhere(): boolean {
    return false;
  }

  listen({ onMessage, onMalformed, onLeave }: FrameListener): void {
    this.links.onMessage((number, frame) => {
      const from = this.nameOf(number);
      try {
        if (frame[0] !== MESH_VERSION) throw new MalformedMessage('a frame has an unknown version');
        readFrame(frame, 1, (type, body) => onMessage(from, type, body));
      } catch (error) {
        onMalformed(error);
      }
    });
    this.links.onLeave((number) => onLeave(this.nameOf(number)));
  }

  lose(): void {}
}

const version = Buffer.of(MESH_VERSION);

class MeshRoute extends Route {
  private parts: Buffer[] = [version];

  constructor(private readonly sendFrame: (frame: Buffer) => void) {
    super();
  }

  add(message: Buffer): void {
    this.parts.push(message);
  }

  protected write(): void {
    const frame = Buffer.concat(this.parts);
    this.parts = [version];
    this.sendFrame(frame);
  }
}
