import { Redis } from 'ioredis';
import { EntryReader, hubTypes } from '../../../src/cluster/backplanes/frames/hub/entries.js';
import { ENTRIES, frameTypes } from '../../../src/cluster/hub/hub-frame.js';

/**
 * Counts the messages of the relay between hubs, as another client of the same Redis. While it listens, Redis does not tell
 * that a hub is gone: each message has a receiver.
 */
export class RelaySpy {
  private count = 0;
  private onFence = () => {};

  private constructor(
    private readonly subscriber: Redis,
    private readonly publisher: Redis,
  ) {
    subscriber.on('pmessageBuffer', (pattern: Buffer, _channel: Buffer, bytes: Buffer) => {
      if (pattern.toString() === 'fence') this.onFence();
      else if (bytes[1] === frameTypes.frame) {
        const reader = new EntryReader(bytes, ENTRIES);
        while (reader.next()) if (reader.type === hubTypes.relay) this.count++;
      }
    });
  }

  static async start(url: string): Promise<RelaySpy> {
    const subscriber = new Redis(url);
    const spy = new RelaySpy(subscriber, new Redis(url));
    await subscriber.psubscribe('socket.io:frames:hubs:*', 'fence');
    return spy;
  }

  /** The number of messages so far. */
  async messages(): Promise<number> {
    const passed = new Promise<void>((resolve) => {
      this.onFence = resolve;
    });
    await this.publisher.publish('fence', '');
    await passed;
    return this.count;
  }

  close(): void {
    this.subscriber.disconnect();
    this.publisher.disconnect();
  }
}
