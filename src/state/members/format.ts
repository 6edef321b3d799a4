import type { Namespace } from 'socket.io';
import type { EncodedPackets } from '../../rooms/encoded-packet.js';
import { decodeValue } from '../value.js';
import type { Chunk, StateMeta } from './chunk.js';

/** How a kind of client gets changes. Clients with the same format share a topic, and what is encoded for it. */
export interface StateFormat {
  /** Unique among the formats of a room. */
  readonly name: string;
  /** What precedes each text on a WebSocket. */
  readonly prefix: string;
  /** The messages for a chunk, in order. */
  encode(chunk: Chunk, meta: StateMeta): EncodedPackets;
}

interface Encoder {
  encode(packet: { type: number; nsp: string; data: unknown[] }): EncodedPackets;
}

/** PacketType of socket.io-parser. */
const EVENT = 2;

/** The format of socket.io-client: one event with the changes and the meta. */
export function socketIoFormat(nsp: Namespace, event: string): StateFormat {
  const encoder = (nsp.server as unknown as { encoder: Encoder }).encoder;
  const address = nsp.name === '/' ? '' : `${nsp.name},`;
  const start = `[${JSON.stringify(event)},[`;
  const encodeEvent = (changes: unknown[], meta: unknown) =>
    encoder.encode({ type: EVENT, nsp: nsp.name, data: [event, changes, meta] });
  const [sample] = encodeEvent([], {});
  // The default parser writes JSON, in which values that are encoded already have their place.
  const isJson = sample === `${EVENT}${address}${start}],{}]`;
  return {
    name: 'socket.io',
    prefix: '4',
    encode(chunk, meta) {
      if (!isJson) return encodeEvent(chunk.entries.map(pairOf), meta);
      const attachments: Buffer[] = [];
      const pairs = chunk.entries.map(({ head, value }) => {
        if (value === undefined) return `${head}]`;
        if (typeof value === 'string') return `${head},${value}]`;
        return `${head},{"_placeholder":true,"num":${attachments.push(value) - 1}}]`;
      });
      const type = attachments.length > 0 ? `${EVENT + 3}${attachments.length}-` : `${EVENT}`;
      return [`${type}${address}${start}${pairs.join(',')}],${JSON.stringify(meta)}]`, ...attachments];
    },
  };
}

/** A change as the application sees it: a key and its value, or the key alone if it was deleted. */
export type StateChange = [key: string, value: unknown] | [key: string];

function pairOf({ key, value }: Chunk['entries'][number]): StateChange {
  return value === undefined ? [key] : [key, decodeValue(value)];
}
