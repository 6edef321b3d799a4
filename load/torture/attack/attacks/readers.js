import { event } from './chat-floods.js';

// Members of a room that never read what is said there.

const READERS = 100;
const MB = 1_000_000;
const says = event('message', { room: 'busy', text: 'x'.repeat(1000) });

const slow = (name, open) => ({
  name: `readers: ${READERS} ${name} that never read`,
  about: 'in a room in which 300 KB are said every second',
  rate: 0.3 * MB,
  prepare: async (attacker) => {
    for (let reader = 0; reader < READERS; reader++) {
      // Some of them elsewhere: a limit of connections of one address keeps none out.
      (await open(attacker, `127.0.0.${70 + (reader % 4)}`)).stopReading();
    }
  },
  run: (attacker) =>
    attacker.floodOn(async () => {
      const connection = await attacker.socket();
      await connection.write(event('join', 'busy'));
      return connection;
    }, says),
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
