import type { BackplaneEvents } from '../../backplanes/index.js';
import type { NatsAddress } from '../../backplanes/nats/address.js';
import { NatsConnection } from '../../backplanes/nats/connection.js';
import { own } from '../../base/owner.js';
import type { WorkerChannels } from './channels.js';

interface ChannelOptions {
  address: NatsAddress;
  /** The prefix of the subjects. */
  prefix: string;
  /** The name of this worker. */
  name: string;
  events: BackplaneEvents;
}

/**
 * Opens this worker's subject on NATS, and publishes on those of others. Each message names a subject for a reply, on which
 * NATS reports at once that no worker has subscribed.
 */
export function natsChannels({ address, prefix, name, events }: ChannelOptions): WorkerChannels {
  let onMessage: (bytes: Buffer) => void = () => {};
  let onLoss = () => {};
  const subjectOf = (worker: string) => `${prefix}.relay.${worker}`;
  const replies = `${prefix}.relay.replies.${name}`;
  /** Called if no worker has subscribed, by the subjects for the replies. */
  const waiting = new Map<string, () => void>();
  let lastReply = 0;
  const reported: BackplaneEvents = {
    ...events,
    onDown: (...details) => {
      events.onDown(...details);
      onLoss();
    },
  };
  const connection = new NatsConnection(address, reported, {
    onMessage: (subject, bytes) => subject === subjectOf(name) && onMessage(bytes),
    onRenewed: () => Promise.resolve(),
    onNoResponders: (reply) => waiting.get(reply)?.(),
  });
  for (const subject of [subjectOf(name), `${replies}.*`]) {
    own('subscribing to the channel of this worker', connection.subscribe(subject));
  }
  const { health } = connection;
  return {
    traffic: health,
    get isUp() {
      return health.isUp;
    },
    publish: async (to, message) => {
      const reply = `${replies}.${++lastReply}`;
      const missing = new Promise<number>((resolve) => waiting.set(reply, () => resolve(0)));
      const sent = connection.publish(subjectOf(to), message, 1, reply).then(() => 1);
      try {
        return await Promise.race([missing, sent]);
      } finally {
        waiting.delete(reply);
      }
    },
    listen: (message, loss) => {
      onMessage = message;
      onLoss = loss;
    },
    ready: () => health.whenUp(),
    close: () => connection.close(),
  };
}
