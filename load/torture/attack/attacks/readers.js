import { event, member } from './chat-floods.js';

// Members of a room that never read what is said there.

const READERS = 100;
const MB = 1_000_000;
/** Each reader may have MAX_BACKPRESSURE, 1 MiB, at the same time. MAX_BUFFERED bounds them all, and is larger here. */
const MEMORY = READERS * 1.2 + 80;
const says = event('message', { room: 'busy', text: 'x'.repeat(10_000) });
/** What the kernel holds for one reader, some megabytes, is full after half of the time. */
const RATE = 2 * MB;

const slow = (name, open) => ({
  name: `readers: ${READERS} ${name} that never read`,
  about: 'in a room in which 2 MB are said every second',
  rate: RATE,
  bounds: { memory: MEMORY },
  prepare: async (attacker) => {
    for (let reader = 0; reader < READERS; reader++) {
      // Some of them elsewhere: a limit of connections of one address keeps none out.
      (await open(attacker, `127.0.0.${70 + (reader % 4)}`)).stopReading();
    }
  },
  run: (attacker) => attacker.floodOn(() => member(attacker, 'busy'), says),
});

/** @type {import('../attacks.js').Attack[]} */
export const readers = [
  slow('clients', async (attacker, address) => {
    const connection = await attacker.dial.socket(attacker.target, { auth: attacker.auth, address });
    await connection.write(event('join', 'busy'));
    return connection;
  }),
  slow('plain WebSockets', (attacker, address) => attacker.dial.plain(attacker.target, '/busy', { address })),
];
