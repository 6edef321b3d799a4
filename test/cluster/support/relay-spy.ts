import { Redis } from 'ioredis';
import { Envelope } from '../../../src/cluster/wire/envelope.js';
import { ENVELOPES } from '../../../src/cluster/wire/hub-frame.js';
import { isRelayed, types } from '../../../src/cluster/wire/types.js';

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
      else if (bytes[1] === types.frame) {
        const envelope = new Envelope(bytes, ENVELOPES);
        while (envelope.next()) if (isRelayed(envelope.type)) this.count++;
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
