import { text } from '../attacker/dial.js';
import { filled } from '../attacker/kit.js';

// Events of one WebSocket, as fast as the attacker may send.

export const event = (...values) => text(`42${JSON.stringify(values)}`);
const MB = 1_000_000;

/** A WebSocket whose client has joined `room`. */
export async function member(attacker, room = 'flood') {
  const connection = await attacker.socket();
  await connection.write(event('join', room));
  return connection;
}

function flood(name, bytes, { rate = 10 * MB, isReading = true } = {}) {
  return {
    name: `chat: ${name}, ${rate / MB} MB/s${isReading ? '' : ', not reading'}`,
    about: `${bytes
      .slice(0, 60)
      .toString('latin1')
      .replaceAll(/[^ -~]/g, '.')}…`,
    rate,
    run: (attacker) =>
      attacker.floodOn(async () => {
        const connection = await member(attacker);
        return isReading ? connection : connection.stopReading();
      }, bytes),
  };
}

const short = filled(event('message', { room: 'flood', text: 'spam' }));
const asked = filled(text('421["message",{"room":"flood","text":"spam"}]'));
const echo = filled(text('421["echo","x"]'));
const long = filled(event('message', { room: 'flood', text: '€'.repeat(10_000) }), 120_000);
const coming = filled(Buffer.concat([event('join', 'revolving'), event('leave', 'revolving')]));
const namespaces = filled(Buffer.concat([text('41'), text('40')]));

/** @type {import('../attacks.js').Attack[]} */
export const chatFloods = [
  flood('messages', short, { rate: 3 * MB }),
  flood('messages', short),
  flood('messages with acknowledgements', asked),
  flood('messages of 30 KB', long),
  flood('echoes', echo),
  flood('echoes', echo, { isReading: false }),
  flood('echoes of 30 KB', filled(text(`421["echo","${'x'.repeat(30_000)}"]`), 120_000), { isReading: false }),
  flood('unknown events', filled(event('z'))),
  flood('a room that is joined and left', coming),
  flood('a namespace that is joined and left', namespaces),
  flood('namespaces that are not there', filled(text('40/x,'))),
  flood('tokens', filled(text('421["token","x.y.z"]'))),
];
