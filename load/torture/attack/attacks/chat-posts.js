import { many, SEPARATOR } from '../attacker/kit.js';
import { event } from './chat-floods.js';

// Many events in one POST: one read of the server, and much to do.

const MEMBERS = 100;
/** Nobody is kept out by a limit of connections: half of the members come from another address. */
const ADDRESSES = ['127.0.0.5', '127.0.0.6'];

/** Fills a room with as many users as are named one by one, whose names are as long as they may be. */
async function crowd(attacker) {
  for (let member = 0; member < MEMBERS; member++) {
    const auth = { name: `${member}`.padEnd(64, '€') };
    const connection = await attacker.dial.socket(attacker.target, { auth, address: ADDRESSES[member % 2] });
    await connection.discard().write(event('join', 'crowd'));
  }
}

const who = {
  name: 'posts: who is in a room of 100 long names, 20,000 times',
  about: '42["who","crowd"] in one POST',
  prepare: crowd,
  run: (attacker) => attacker.postOn(() => attacker.polling(), many(20_000, '421["who","crowd"]')),
};

const post = (name, count, packet, options) => ({
  name: `posts: ${name}`,
  about: `${count} × ${packet.split(SEPARATOR)[0]} in one POST`,
  run: (attacker) =>
    attacker.postOn(() => attacker.polling(), `42["join","room"]${SEPARATOR}${many(count, packet)}`, options),
});

/** @type {import('../attacks.js').Attack[]} */
export const chatPosts = [
  who,
  post('echoes', 60_000, '421["echo","x"]'),
  post('echoes, never polled', 60_000, '421["echo","x"]', { isPolling: false }),
  post('messages', 20_000, '42["message",{"room":"room","text":"spam"}]'),
  post('messages with acknowledgements', 20_000, '421["message",{"room":"room","text":"x"}]'),
  post('a room that is joined and left', 20_000, `42["join","b"]${SEPARATOR}42["leave","b"]`),
];
