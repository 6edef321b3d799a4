import { Connection, frame, opcodes, request, upgradeRequest } from '../../harness/connection.js';
import { recordings } from './recordings.js';

const ENGINE = '/socket.io/?EIO=4&transport=';
/** What comes by itself: pings, events and attachments. */
const UNASKED = /^(2$|6$|0\{|42|b)/;

const asFrame = (text, header) =>
  text.startsWith('b') && !header
    ? frame(Buffer.from(text.slice(1), 'base64'), { opcode: opcodes.binary })
    : frame(text, header);

/**
 * How a session is on the wire: its first request, with what answers it, and how each text is sent after it.
 * `sid` is that of a session on polling, which is there before or begins with the first request.
 */
const wires = {
  websocket: { opening: () => upgradeRequest(`${ENGINE}websocket`), opened: /^101 /, encode: asFrame },
  upgrade: {
    opening: ({ sid }) => upgradeRequest(`${ENGINE}websocket&sid=${sid}`),
    opened: /^101 /,
    encode: asFrame,
    isUpgrade: true,
  },
  plain: {
    opening: () => upgradeRequest('/$ROOM?token=$TOKEN'),
    opened: /^101 /,
    encode: (text, more) => frame(text, more),
  },
  polling: {
    opening: () => request('GET', `${ENGINE}polling`),
    opened: /^200 0\{/,
    encode: (text, _header, { sid }) => request('POST', `${ENGINE}polling&sid=${sid}`, {}, text),
  },
  http: { encode: (text) => Buffer.from(text, 'latin1') },
};

let runs = 0;

/** A session under way. */
class Session {
  sid = 'none';
  isOpen = false;
  #packets = [];

  constructor(name, { port, token, apiKey, use }) {
    Object.assign(this, { name, port, wire: wires[recordings[name].wire] });
    const room = `fuzz ${name} ${runs++}`.replaceAll(' ', '-');
    this.fill = (text) => text.replaceAll('$ROOM', room).replaceAll('$TOKEN', token).replaceAll('$KEY', apiKey);
    this.connection = use(new Connection(port), 'end');
    this.polls = use(new Connection(port), 'end');
  }

  /** The recorded steps, with the first request as one of them. */
  async steps() {
    const { opening, opened, isUpgrade } = this.wire;
    if (isUpgrade) this.sid = await this.#handshake(this.polls);
    const first = opening && { text: opening(this).toString('latin1'), want: opened, isOpening: true };
    const rest = recordings[this.name].steps.map(([text, want]) => ({ text, want }));
    return [...(first ? [first] : []), ...rest].map((step) => ({ ...step, text: this.fill(step.text) }));
  }

  send({ text, header, isOpening, encode = (bytes) => bytes }) {
    const bytes = isOpening ? Buffer.from(text, 'latin1') : this.wire.encode(text, header, this);
    this.connection.write(encode(bytes));
  }

  /** @throws Error if the answer is another one */
  async expect({ want, text, isOpening }) {
    const isPolling = this.wire === wires.polling;
    // Each POST has its own response, beside what is polled.
    if (isPolling && !isOpening) await this.#answered(/^200 ok$/, text);
    if (!want) return;
    if (this.wire === wires.http || isOpening) {
      const answer = await this.#answered(want, text);
      if (isPolling) this.sid = JSON.parse(answer.slice(5)).sid;
      this.isOpen = true;
    } else check(await this.#next(isPolling), want, text);
  }

  async #answered(want, text) {
    const response = await this.connection.response();
    const answer = response && `${response.status} ${response.body}`;
    check(answer, want, text);
    return answer;
  }

  async #next(isPolling) {
    for (;;) {
      const packet = isPolling ? await this.#polled() : await this.#frame();
      if (packet === undefined || !UNASKED.test(packet)) return packet;
    }
  }

  async #frame() {
    const received = await this.connection.frame();
    if (!received || received.opcode === opcodes.close) return undefined;
    return received.opcode === opcodes.binary ? 'b' : received.payload.toString();
  }

  async #polled() {
    if (this.#packets.length === 0) {
      const poll = request('GET', `${ENGINE}polling&sid=${this.sid}`);
      const response = await this.polls.write(poll).response();
      if (response?.status !== 200) return undefined;
      this.#packets = response.body.split('\x1e');
    }
    return this.#packets.shift();
  }

  async #handshake(connection) {
    const { body } = await connection.write(request('GET', `${ENGINE}polling`)).response();
    return JSON.parse(body.slice(1)).sid;
  }

  /** Ends the own half. The server must end the other one, and whatever it has said before is no failure of its own. */
  async end() {
    this.connection.endHalf();
    const heard = [];
    const take = (bytes) =>
      bytes.length > 0 ? { value: heard.push(Buffer.from(bytes)), length: bytes.length } : undefined;
    while ((await this.connection.read(take)) !== undefined);
    // As stock answers a method that a session does not have: 500. What fails otherwise is in the log.
    const [failure] = /HTTP\/1\.1 5(?!0[015])\d\d.*/s.exec(Buffer.concat(heard).toString('latin1')) ?? [];
    if (failure) throw new Error(`the server answered ${failure.slice(0, 300)}`);
    // A session on polling would stay until its heartbeat is due.
    if (this.sid !== 'none') {
      const close = new Connection(this.port).write(request('POST', `${ENGINE}polling&sid=${this.sid}`, {}, '1'));
      await close.response();
      close.end();
    }
  }
}

function check(answer, want, text) {
  if (answer !== undefined && want.test(answer)) return;
  throw new Error(`expected ${want} for ${shown(text)}, got ${shown(answer ?? 'the end of the connection')}`);
}

export const shown = (text) => (text.length > 300 ? `${text.slice(0, 300)}…` : text);

/**
 * Plays a session, as it was recorded or changed. Up to the first change, each answer must be the right one.
 * @param {(steps: object[]) => object[]} [change]
 * @throws Error
 */
export async function play(name, context, change = (steps) => steps) {
  const session = new Session(name, context);
  const steps = change(await session.steps());
  const first = steps.findIndex(({ isChanged }) => isChanged);
  const intact = first === -1 ? steps : steps.slice(0, first);
  for (const step of intact) {
    session.send(step);
    await session.expect(step);
  }
  for (const step of steps.slice(intact.length)) session.send(step);
  await session.end();
}
