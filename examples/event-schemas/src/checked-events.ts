import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Event, Socket } from 'gjallar';

/** The schema of each event's value, of any library of Standard Schema: zod, valibot, arktype. */
export type Schemas = Readonly<Record<string, StandardSchemaV1>>;

/** What a client gets for a value that the schema rejects: as its acknowledgement, or in the event `rejected`. */
export interface Rejection {
  ok: false;
  code: 'BAD_INPUT';
  message: string;
}

type Reply = (answer: { ok: true } | Rejection) => void;

/** The events that the server listens to: each has its checked value, and a function that acknowledges it. */
export type CheckedEvents<S extends Schemas> = {
  [Name in keyof S]: (value: StandardSchemaV1.InferOutput<S[Name]>, reply: Reply) => void;
};

/** The events that clients emit. */
export type SentEvents<S extends Schemas> = {
  [Name in keyof S]: (value: StandardSchemaV1.InferInput<S[Name]>, reply?: Reply) => void;
};

const nameOf = (key: PropertyKey | StandardSchemaV1.PathSegment) => String(typeof key === 'object' ? key.key : key);

/**
 * Checks the events of a socket before its listeners get them. An event without a schema passes, such as those of gjallar's
 * own parts: a server that is typed with {@link CheckedEvents} cannot listen to another one.
 */
// biome-ignore lint/suspicious/noExplicitAny: a socket of any server
export function checkEvents(socket: Socket<any, any, any, any>, schemas: Schemas): void {
  async function check(packet: Event): Promise<boolean> {
    const [event, ...values] = packet;
    const schema = Object.hasOwn(schemas, event) ? schemas[event] : undefined;
    if (!schema) return true;
    const reply: Reply | undefined = typeof values.at(-1) === 'function' ? values.pop() : undefined;
    const result =
      values.length > 1 ? { issues: [{ message: 'Send one value' }] } : await schema['~standard'].validate(values[0]);
    if (!result.issues) {
      packet.splice(1, packet.length, result.value, reply ?? (() => {}));
      return true;
    }
    const texts = result.issues.slice(0, 5).map(({ path = [], message }) => [...path.map(nameOf), message].join(': '));
    const rejection: Rejection = { ok: false, code: 'BAD_INPUT', message: texts.join('; ').slice(0, 500) };
    if (reply) reply(rejection);
    else socket.emit('rejected', event, rejection);
    return false;
  }
  // Events keep their order, although a schema may be asynchronous.
  let turn: Promise<unknown> = Promise.resolve();
  socket.use((packet, next) => {
    turn = turn.then(() => check(packet)).then((isValid) => isValid && next(), next);
  });
}
