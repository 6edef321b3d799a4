import type { Packet } from 'socket.io-parser';
import { Decoder, PacketType } from '../compat/socket-io-parser.js';
import type { Secrets } from './secrets.js';
import { REMOVED_AUTH, type Step } from './steps.js';

/** The parts of an Engine.IO connection that are used. */
export interface RecordedConnection {
  readonly protocol: number;
  readonly transport: { readonly name: string };
  readonly request: { readonly _query?: Readonly<Record<string, unknown>> };
  on(event: string, listener: (...values: never[]) => void): unknown;
}

/** Parameters of the protocol itself. */
const ofTheProtocol = new Set(['EIO', 'transport', 'sid', 't', 'b64', 'j']);

type WithoutTime<S> = S extends unknown ? Omit<S, 'at'> : never;
type Add = (step: WithoutTime<Step>) => void;

/** Records what one client sends. */
export function recordClient(connection: RecordedConnection, client: string, secrets: Secrets, add: Add): void {
  const parameters = Object.entries(connection.request?._query ?? {}).filter(([name]) => !ofTheProtocol.has(name));
  const query = parameters.length > 0 ? secrets.query(Object.fromEntries(parameters)) : undefined;
  add({ do: 'open', client, transport: connection.transport.name, query });
  const decoder = new Decoder();
  (decoder as unknown as { on(event: string, listener: (packet: Packet) => void): void }).on('decoded', (packet) => {
    const step = stepOf(packet, client, secrets);
    if (step) add(step);
  });
  connection.on('packetCreate', (packet: { type: string; data?: unknown }) => {
    const namespace = packet.type === 'message' ? acceptedIn(packet.data) : undefined;
    if (namespace !== undefined) add({ do: 'connected', client, namespace: secrets.text(namespace) });
  });
  let isReadable = true;
  connection.on('upgrade', () => add({ do: 'upgrade', client }));
  connection.on('close', () => {
    isReadable = false;
    add({ do: 'close', client });
  });
  connection.on('data', (data: unknown) => {
    if (!isReadable) return;
    try {
      decoder.add(data);
    } catch {
      // Not the default parser, or malformed: the server closes the connection.
      isReadable = false;
    }
  });
}

/** The namespace of a packet that accepts a client: `0{"sid":"…"}`, or `0/chat,{"sid":"…"}`. */
function acceptedIn(data: unknown): string | undefined {
  if (typeof data !== 'string' || !data.startsWith(String(PacketType.CONNECT))) return undefined;
  return data[1] === '/' ? data.slice(1, data.indexOf(',')) : '/';
}

function stepOf({ type, nsp, data, id }: Packet, client: string, secrets: Secrets): WithoutTime<Step> | undefined {
  // A parameter of a namespace belongs to no namespace, and may be a secret.
  const namespace = secrets.text(nsp.split('?', 1)[0]!);
  const of = { client, namespace };
  switch (type) {
    case PacketType.CONNECT:
      return { do: 'connect', ...of, ...(isEmpty(data) ? {} : { auth: REMOVED_AUTH }) };
    case PacketType.DISCONNECT:
      return { do: 'leave', ...of };
    case PacketType.EVENT:
    case PacketType.BINARY_EVENT: {
      const [event, ...args] = data as unknown[];
      if (typeof event !== 'string') return undefined;
      return {
        do: 'emit',
        ...of,
        event: secrets.text(event),
        args: secrets.args(event, args),
        ...(id === undefined ? {} : { ack: true }),
      };
    }
    case PacketType.ACK:
    case PacketType.BINARY_ACK:
      // What the server asked for is not known here, so that any answer may be a secret.
      return { do: 'answer', ...of, args: secrets.hide(data) as unknown[] };
    default:
      return undefined;
  }
}

function isEmpty(data: unknown): boolean {
  return data === undefined || data === null || (typeof data === 'object' && Object.keys(data).length === 0);
}
