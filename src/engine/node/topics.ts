import type { Writable } from '../uws/app.js';
import { OutgoingMessage } from './outgoing-message.js';

/** What gets the messages of a topic. */
export interface Subscriber {
  deliver(message: OutgoingMessage): void;
}

/** The subscriptions of an app. A message to a topic is framed once for all its subscribers. */
export class Topics {
  private readonly subscribers = new Map<string, Set<Subscriber>>();

  subscribe(socket: Subscriber, topic: string): void {
    const known = this.subscribers.get(topic);
    if (known) known.add(socket);
    else this.subscribers.set(topic, new Set([socket]));
  }

  unsubscribe(socket: Subscriber, topic: string): void {
    const known = this.subscribers.get(topic);
    known?.delete(socket);
    if (known?.size === 0) this.subscribers.delete(topic);
  }

  count(topic: string): number {
    return this.subscribers.get(topic)?.size ?? 0;
  }

  /** @returns whether there is a subscriber */
  publish(topic: string, message: Writable, isBinary: boolean, compress: boolean): boolean {
    const subscribers = this.subscribers.get(topic);
    if (!subscribers) return false;
    const outgoing = new OutgoingMessage(message, isBinary, compress);
    for (const socket of subscribers) socket.deliver(outgoing);
    return true;
  }
}
