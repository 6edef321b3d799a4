import { Connection, frame, opcodes, request, upgradeRequest } from '../../../harness/connection.js';

export const ENGINE = '/socket.io/?EIO=4';

/** How often the kernel may pick another worker than the one that is wanted. */
const MAX_TRIES = 24;

/** The server does not let the client in. */
export class Refused extends Error {}

/**
 * Connections to one worker. The kernel picks a worker for each connection, and a session's id begins with the number
 * of its worker: a handshake tells where the connection ended up.
 */
export class Dial {
  /** How many connections were opened. */
  opened = 0;

  /** @param {number} port @param {string} address where the connections come from */
  constructor(port, address) {
    this.port = port;
    this.address = address;
  }

  /** A session on polling whose connection is at `worker`, or at any where that one is no more. */
  async polling(worker, { address = this.address, patience } = {}) {
    for (let tries = 1; ; tries++) {
      this.opened++;
      const connection = new Connection(this.port, address);
      connection.write(request('GET', `${ENGINE}&transport=polling`));
      const response = await connection.response(patience);
      if (response?.status !== 200) {
        connection.end();
        throw new Refused(`no session: ${response?.status} ${response?.body}`);
      }
      const { sid } = JSON.parse(response.body.slice(1));
      const session = {
        connection,
        worker: workerIn(response.body),
        path: `${ENGINE}&transport=polling&sid=${sid}`,
        sid,
      };
      if (worker === undefined || session.worker === worker || tries === MAX_TRIES) return session;
      await this.#leave(session);
      connection.end();
    }
  }

  /** A connection for HTTP at `worker`. */
  async http(worker, options) {
    const session = await this.polling(worker, options);
    await this.#leave(session);
    return session.connection;
  }

  /** A WebSocket of the engine at `worker`, in the main namespace if there is an `auth`. */
  async socket(worker, { auth, ...options } = {}) {
    const connection = await this.http(worker, options);
    await this.#upgrade(connection, `${ENGINE}&transport=websocket`);
    const opened = await connection.frame(options.patience);
    // The id of this session tells whether the connection is where it seemed to be.
    connection.worker = workerIn(opened?.payload.toString());
    if (auth) await this.#connect(connection, auth, options.patience);
    return connection;
  }

  /** A plain WebSocket at `worker`. */
  async plain(worker, path, options) {
    const connection = await this.http(worker, options);
    await this.#upgrade(connection, path);
    return connection;
  }

  /** The WebSocket that a session on polling moves to. */
  async upgradeOf(session, worker) {
    const connection = await this.http(worker);
    await this.#upgrade(connection, `${ENGINE}&transport=websocket&sid=${session.sid}`);
    return connection;
  }

  async #leave({ connection, path }) {
    connection.write(request('POST', path, {}, '1'));
    await connection.response();
  }

  async #upgrade(connection, path) {
    connection.write(upgradeRequest(path));
    const response = await connection.response();
    if (response?.status === 101) return;
    connection.end();
    throw new Refused(`no WebSocket: ${response?.status} ${response?.body}`);
  }

  async #connect(connection, auth, patience) {
    connection.write(text(`40${JSON.stringify(auth)}`));
    const answer = await connection.frame(patience);
    if (answer?.payload.toString().startsWith('40')) return;
    connection.end();
    throw new Refused(`not let in: ${answer?.payload}`);
  }
}

/** The worker of a session, from the packet that opens it. */
const workerIn = (packet) => Number.parseInt(JSON.parse(packet.slice(1)).sid, 10);

export const text = (packet) => frame(packet);
export const binary = (bytes) => frame(bytes, { opcode: opcodes.binary });
