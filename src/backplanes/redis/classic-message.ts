import { sendable } from '../../base/sendable.js';
import { defaultParser, type MessageParser } from '../../compat/redis-adapter.js';
import { checkBroadcast, checkRequest, checkResponse } from '../checks.js';
import { type Inbox, malformed } from '../inbox.js';

/** The first byte of a message in JSON. */
const BRACE = 0x7b;

/** The type of a client's acknowledgement in `@socket.io/redis-adapter`. */
const ACKNOWLEDGEMENT = 9;

const parser = defaultParser();

/**
 * A message of `@socket.io/redis-adapter` on its way to the adapter, instead of its bytes. The adapter decodes it with
 * {@link classicParser}, after it has looked whether this worker has the room at all.
 */
export class ClassicMessage {
  constructor(
    private readonly bytes: Buffer,
    private readonly inbox: Inbox,
    private readonly check: (value: unknown) => void,
  ) {}

  read(): unknown {
    try {
      const value = this.bytes[0] === BRACE ? JSON.parse(this.bytes.toString()) : parser.decode(this.bytes);
      this.check(value);
      return value;
    } catch (error) {
      const dropped = malformed(error);
      // The adapter ignores the exception where it expects requests and responses.
      this.inbox.drop(dropped);
      throw dropped;
    }
  }
}

/** An answer of a client, which may be nested too deeply. It is encoded where nothing could catch an exception. */
function isAcknowledgement(value: unknown): boolean {
  return (value as { type?: unknown } | undefined)?.type === ACKNOWLEDGEMENT;
}

/** The parser for the adapter's option: it decodes and checks {@link ClassicMessage}s. */
export const classicParser: MessageParser = {
  encode: (value) => parser.encode(isAcknowledgement(value) ? sendable(value, 'an acknowledgement') : value),
  decode: (message) => (message as unknown as ClassicMessage).read(),
};

/**
 * Hands messages of Redis to adapters.
 * @param prefix the prefix of the channels
 */
export function classicReceiver(prefix: string, inbox: Inbox) {
  const responses = Buffer.from(`${prefix}-response#`);
  return (channel: Buffer, bytes: Buffer, isBroadcast: boolean, emit: (message: unknown) => void): void => {
    const isResponse = channel.subarray(0, responses.length).equals(responses);
    const check = isBroadcast ? checkBroadcast : isResponse ? checkResponse : checkRequest;
    const message = new ClassicMessage(bytes, inbox, check);
    inbox.receive(
      () => false,
      () => emit(message),
    );
  };
}
