import { EventEmitter } from 'node:events';

type EventMap<Events> = { [Event in keyof Events]: unknown[] };

/** What the parts for applications have of an EventEmitter. */
export interface Listened<Events extends EventMap<Events>> {
  /** Calls a listener with each event of a name. */
  on<Event extends keyof Events & string>(event: Event, listener: (...values: Events[Event]) => void): this;
  /** Calls a listener with the next event of a name. */
  once<Event extends keyof Events & string>(event: Event, listener: (...values: Events[Event]) => void): this;
  /** Removes a listener. */
  off<Event extends keyof Events & string>(event: Event, listener: (...values: Events[Event]) => void): this;
}

/** Has listeners, and none of the other methods of an EventEmitter. */
export class Listeners<Events extends EventMap<Events>> implements Listened<Events> {
  private readonly emitter = new EventEmitter();

  on<Event extends keyof Events & string>(event: Event, listener: (...values: Events[Event]) => void): this {
    this.emitter.on(event, listener as () => void);
    return this;
  }

  once<Event extends keyof Events & string>(event: Event, listener: (...values: Events[Event]) => void): this {
    this.emitter.once(event, listener as () => void);
    return this;
  }

  off<Event extends keyof Events & string>(event: Event, listener: (...values: Events[Event]) => void): this {
    this.emitter.off(event, listener as () => void);
    return this;
  }

  protected tell<Event extends keyof Events & string>(event: Event, ...values: Events[Event]): void {
    this.emitter.emit(event, ...values);
  }

  protected hasListeners(event: keyof Events & string): boolean {
    return this.emitter.listenerCount(event) > 0;
  }
}
