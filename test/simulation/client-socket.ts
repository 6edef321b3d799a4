type Listener = (...values: never[]) => void;
type Reply = (error: Error | undefined, reply?: unknown) => void;

/** What an application has of a client: the part of a socket of socket.io-client that the helpers use. */
export class ClientSocket {
  connected = false;
  id: string | undefined;
  readonly active = true;
  private readonly listeners = new Map<string, Set<Listener>>();
  private readonly anyListeners = new Set<Listener>();
  /** Requests that wait for their answers. */
  private readonly requests = new Map<number, Reply>();
  private waiting: string[] = [];
  private number = 0;

  constructor(private readonly write: (packet: string) => void) {}

  on(event: string, listener: Listener): void {
    this.listeners.set(event, (this.listeners.get(event) ?? new Set()).add(listener));
  }

  off(event: string, listener: Listener): void {
    this.listeners.get(event)?.delete(listener);
  }

  onAny(listener: Listener): void {
    this.anyListeners.add(listener);
  }

  offAny(listener: Listener): void {
    this.anyListeners.delete(listener);
  }

  emit(event: string, value: unknown, reply: Reply = () => {}): void {
    const id = this.number++;
    const packet = `2${id}${JSON.stringify([event, value])}`;
    this.requests.set(id, reply);
    if (this.connected) this.write(packet);
    else this.waiting.push(packet);
  }

  timeout(ms: number) {
    const emit = (event: string, value: unknown, reply: Reply) => {
      const timer = setTimeout(() => reply(new Error('operation has timed out')), ms);
      this.emit(event, value, (...result) => {
        clearTimeout(timer);
        reply(...result);
      });
    };
    const emitWithAck = (event: string, value: unknown) =>
      new Promise((resolve, reject) => emit(event, value, (error, reply) => (error ? reject(error) : resolve(reply))));
    return { emit, emitWithAck };
  }

  answered(id: number, reply: unknown): void {
    const tell = this.requests.get(id);
    this.requests.delete(id);
    tell?.(undefined, reply);
  }

  received(values: readonly unknown[]): void {
    for (const listener of this.anyListeners) listener(...(values as never[]));
    this.tell(...(values as [string]));
  }

  /** @param early what has come before the answer to CONNECT */
  hasConnected(id: string, early: () => void): void {
    this.connected = true;
    this.id = id;
    early();
    for (const packet of this.waiting.splice(0)) this.write(packet);
    this.tell('connect');
  }

  hasDisconnected(): void {
    if (!this.connected) return;
    this.connected = false;
    this.id = undefined;
    const requests = [...this.requests.values()];
    this.requests.clear();
    for (const tell of requests) tell(new Error('socket has been disconnected'));
    this.tell('disconnect');
  }

  private tell(event: string, ...values: unknown[]): void {
    for (const listener of [...(this.listeners.get(event) ?? [])]) listener(...(values as never[]));
  }
}
