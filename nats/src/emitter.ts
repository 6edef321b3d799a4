import { randomInt } from 'node:crypto';
import type { EmitterConnection } from 'gjallar/emitter';
import { subjectOf } from './address.js';
import { splitMessage } from './parts.js';

/** A connection of `@nats-io/transport-node`. */
export interface NatsClient {
  publish(subject: string, payload: Uint8Array): void;
  flush(): Promise<void>;
  readonly info?: { readonly max_payload: number } | undefined;
}

/** What a server of NATS accepts by default, in bytes. */
const DEFAULT_MAX_PAYLOAD = 1024 * 1024;

/**
 * What `gjallar/emitter` publishes with on NATS: `new Emitter(natsConnection(client))`. Its `key` is the servers' NATS_PREFIX.
 * @param client a connection of `@nats-io/transport-node`, which the caller keeps and closes
 */
export function natsConnection(client: NatsClient): EmitterConnection {
  let number = randomInt(2 ** 32);
  return {
    defaultKey: 'gjallar',
    publish: async (channel, bytes) => {
      const payloads = splitMessage(bytes, number++, client.info?.max_payload ?? DEFAULT_MAX_PAYLOAD);
      if (!payloads) throw new Error('the message is too long for NATS');
      for (const payload of payloads) client.publish(subjectOf(channel), payload);
      await client.flush();
      return undefined;
    },
  };
}
