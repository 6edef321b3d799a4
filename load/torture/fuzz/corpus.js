import { cleaningUp } from '../support/scenario.js';
import { join } from './clients.js';
import { packets } from './corpus/packets.js';
import { badRequests, expectRefused } from './corpus/requests.js';
import { sessions } from './corpus/sessions.js';
import * as frames from './families/frames.js';

/**
 * Attacks and mistakes that are known by name, each sent once with every seed.
 * @returns {Promise<number>} how many inputs that were; what went wrong is added to `mismatches`
 */
export async function runCorpus(context, mismatches) {
  const { port, apiKey, users } = context;
  const auth = { token: users[0].token };
  const endsOf = (transport, attack) => async (use) => {
    const client = use(await join(port, transport, auth), 'leave');
    attack(client);
    while ((await client.next()) !== undefined);
  };
  const cases = [
    ...Object.entries(badRequests(apiKey)).map(([name, bytes]) => [name, () => expectRefused(port, bytes)]),
    ...Object.entries(packets).flatMap(([name, attack]) =>
      ['websocket', 'polling'].map((transport) => [`${name}, over ${transport}`, endsOf(transport, attack)]),
    ),
    ...Object.entries(frames.known).map(([name, sent]) => [name, (use) => frames.play(sent, { ...context, use })]),
    ...Object.entries(sessions).map(([name, play]) => [name, (use) => play({ ...context, use })]),
  ];
  for (const [name, play] of cases) {
    await cleaningUp(play).catch((error) => mismatches.push(`${name}: ${error.message}`));
  }
  return cases.length;
}
