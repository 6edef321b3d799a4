import { EventEmitter } from 'node:events';

type Listener = (...values: never[]) => void;

/**
 * The events of a transport that applications listen to: `close`, and `headers` (headers, request) of polling. Hardly
 * anybody does, so that the emitter is made for the first listener; the session itself is told by calls.
 */
export class TransportEvents {
  private events: EventEmitter | undefined = undefined;

  on(event: string, listener: Listener): this {
    this.events ??= new EventEmitter();
    this.events.on(event, listener as () => void);
    return this;
  }

  once(event: string, listener: Listener): this {
    this.events ??= new EventEmitter();
    this.events.once(event, listener as () => void);
    return this;
  }

  off(event: string, listener: Listener): this {
    this.events?.off(event, listener as () => void);
    return this;
  }

  removeListener(event: string, listener: Listener): this {
    return this.off(event, listener);
  }

  protected emit(event: 'close' | 'headers', ...values: unknown[]): void {
    this.events?.emit(event, ...values);
  }
}
