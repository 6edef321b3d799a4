import type { BackplaneEvents } from './backplane.js';

/** How long another wire counts as present after its last message, in ms. */
const MEMORY_MS = 60_000;

/** What the wire of earlier versions of gjallar is called. */
export const FORMER_FRAMES = 'former-frames';

/** The channel of stock servers and emitters for their main namespace. Those of its rooms begin with it. */
export const stockChannel = (prefix: string): string => `${prefix}#/#`;

/**
 * Notices servers and emitters on the same Redis that use another wire, which this worker does not understand: frames
 * where it uses the channels of `@socket.io/redis-adapter`, or the other way round.
 */
export class OtherWire {
  private timer: NodeJS.Timeout | undefined;

  /** @param name the value of the option BUS that the others use, or `redis-sharded` */
  constructor(
    private readonly name: string,
    private readonly events: Pick<BackplaneEvents, 'onOtherWire'>,
  ) {}

  /** Call this with each message of the other wire. */
  note(): void {
    if (this.timer) return void this.timer.refresh();
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.events.onOtherWire?.(this.name, false);
    }, MEMORY_MS).unref();
    this.events.onOtherWire?.(this.name, true);
  }

  close(): void {
    clearTimeout(this.timer);
  }
}
