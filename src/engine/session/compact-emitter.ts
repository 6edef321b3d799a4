import { EventEmitter } from 'node:events';

type Listener = (...values: never[]) => void;
// biome-ignore lint/suspicious/noExplicitAny: what each version of @types/node returns can be this
type AnyListener = (...values: any[]) => void;

/** EventEmitter without its constructor. Its methods create missing fields, so an unused emitter takes no memory. */
export const LazyEventEmitter = function LazyEventEmitter() {} as unknown as new () => EventEmitter;
LazyEventEmitter.prototype = Object.create(EventEmitter.prototype, { constructor: { value: LazyEventEmitter } });

/**
 * An EventEmitter for servers with very many emitters, each with one listener for the same three events. Those
 * listeners are fields. The table of listeners, which is larger than everything else, is created only for further
 * listeners.
 */
export class CompactEmitter extends LazyEventEmitter {
  private dataListener: Listener | undefined = undefined;
  private errorListener: Listener | undefined = undefined;
  private closeListener: Listener | undefined = undefined;
  /** Whether there has ever been a listener for another event. */
  protected isObserved = false;

  override on(event: string | symbol, listener: Listener): this {
    const slot = slotOf(event);
    // once() adds a wrapper that removeListener() must unwrap, which only the table supports.
    if (slot === undefined || this[slot] !== undefined || 'listener' in listener || super.listenerCount(event) > 0) {
      if (slot === undefined) this.observe(event);
      return super.on(event, listener as never);
    }
    this[slot] = listener;
    return this;
  }

  override addListener(event: string | symbol, listener: Listener): this {
    return this.on(event, listener);
  }

  override prependListener(event: string | symbol, listener: Listener): this {
    this.emptySlot(event);
    this.observe(event);
    return super.prependListener(event, listener as never);
  }

  override prependOnceListener(event: string | symbol, listener: Listener): this {
    this.emptySlot(event);
    this.observe(event);
    return super.prependOnceListener(event, listener as never);
  }

  override removeListener(event: string | symbol, listener: Listener): this {
    const slot = slotOf(event);
    if (slot === undefined || this[slot] !== listener) return super.removeListener(event, listener as never);
    this[slot] = undefined;
    return this;
  }

  override off(event: string | symbol, listener: Listener): this {
    return this.removeListener(event, listener);
  }

  override removeAllListeners(event?: string | symbol): this {
    if (event === undefined) for (const name of ['data', 'error', 'close']) this.emptySlot(name);
    else this.emptySlot(event);
    return super.removeAllListeners(event);
  }

  override emit(event: string | symbol, ...values: unknown[]): boolean {
    const listener = this.listenerInField(event);
    if (listener === undefined) return super.emit(event, ...values);
    (listener as (...values: unknown[]) => void).apply(this, values);
    if (super.listenerCount(event) > 0) super.emit(event, ...values);
    return true;
  }

  override listenerCount(event: string | symbol, listener?: Listener): number {
    const slot = slotOf(event);
    const mine = slot && this[slot];
    const counts = mine !== undefined && (listener === undefined || listener === mine);
    return super.listenerCount(event, listener as never) + (counts ? 1 : 0);
  }

  override listeners(event: string | symbol): AnyListener[] {
    this.emptySlot(event);
    return super.listeners(event) as AnyListener[];
  }

  override rawListeners(event: string | symbol): AnyListener[] {
    this.emptySlot(event);
    return super.rawListeners(event) as AnyListener[];
  }

  override eventNames(): (string | symbol)[] {
    for (const name of ['data', 'error', 'close']) this.emptySlot(name);
    return super.eventNames();
  }

  /** Called for every message, so it names the fields: `this[slot]` would be a slow lookup. */
  private listenerInField(event: string | symbol): Listener | undefined {
    if (event === 'data') return this.dataListener;
    if (event === 'close') return this.closeListener;
    return event === 'error' ? this.errorListener : undefined;
  }

  /** Called for each listener in the table, before it is added. */
  protected observe(_event: string | symbol): void {
    this.isObserved = true;
  }

  /** Moves a listener to the table, in front of listeners that were added after it. */
  private emptySlot(event: string | symbol): void {
    const slot = slotOf(event);
    const listener = slot && this[slot];
    if (slot === undefined || listener === undefined) return;
    this[slot] = undefined;
    super.prependListener(event, listener as never);
  }
}

function slotOf(event: string | symbol): 'dataListener' | 'errorListener' | 'closeListener' | undefined {
  if (event === 'data') return 'dataListener';
  if (event === 'close') return 'closeListener';
  if (event === 'error') return 'errorListener';
  return undefined;
}
