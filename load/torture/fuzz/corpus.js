import { join } from './clients.js';
import { frames } from './corpus/frames.js';
import { packets } from './corpus/packets.js';
import { badRequests, expectRefused } from './corpus/requests.js';
import { sessions } from './corpus/sessions.js';

/**
 * Attacks and mistakes that are known by name, each sent once with every seed.
 * @returns {Promise<number>} how many inputs that were; what went wrong is added to `mismatches`
 */
export async function runCorpus(context, mismatches) {
  const { port, apiKey, users } = context;
  const auth = { token: users[0].token };
  const cases = [
    ...Object.entries(badRequests(apiKey)).map(([name, bytes]) => [name, () => expectRefused(port, bytes)]),
    ...Object.entries(packets).flatMap(([name, attack]) =>
      ['websocket', 'polling'].map((transport) => [
        `${name}, over ${transport}`,
        async () => {
          const client = await join(port, transport, auth);
          attack(client);
          while ((await client.next()) !== undefined);
          await client.leave();
        },
      ]),
    ),
    ...Object.entries({ ...frames, ...sessions }).map(([name, play]) => [name, () => play(context)]),
  ];
  for (const [name, play] of cases) {
    await play().catch((error) => mismatches.push(`${name}: ${error.message}`));
  }
  return cases.length;
}
