import { connect } from 'node:net';
import { FrameReader, PEEK } from './frames.js';
import { afterRead } from './rest.js';
import { CONNECT, ENGINE_PONG, PROBE, socketRequest, textFrame, UPGRADE } from './wire.js';

// client                                              server
//   GET /socket.io/?EIO=4&transport=websocket  ───▶
//                                              ◀───  101 Switching Protocols
//                                              ◀───  0{"sid":…}       Engine.IO open
//   40                                         ───▶                   Socket.IO connect to "/"
//                                              ◀───  40{"sid":…}      connected
//                                              ◀───  2                Engine.IO ping, for as long as it lives
//   3                                          ───▶                   Engine.IO pong
//
// One that has started on polling, see `polling.js`, names its session in the request, and has sent its connect already:
//   2probe                                     ───▶
//                                              ◀───  3probe
//   5                                          ───▶                   upgrade
//                                              ◀───  40{"sid":…}

// A read calls back synchronously, so all sockets of the process can share one buffer, and none is allocated per read.
const readBuffer = Buffer.allocUnsafeSlow(256 * 1024);

const TEXT = 0x81;
const CLOSE = 0x88;

// Packet types as they stand in the payload, as character codes.
const ENGINE_OPEN = 0x30;
const ENGINE_PING = 0x32;
const ENGINE_PONG_TYPE = 0x33;
const ENGINE_MESSAGE = 0x34;
const ENGINE_NOOP = 0x36;
const SOCKET_CONNECT = 0x30;
const SOCKET_EVENT = 0x32;
const SOCKET_ACK = 0x33;

/**
 * One WebSocket client on namespace "/".
 *
 * `owner` is shared by all clients of a process, so that the calls on the hot path stay monomorphic:
 * - `event(client, bytes, at, length)`: a Socket.IO event arrived; `bytes[at]` is the `4` of its `42`
 * - `ready(client)`: the namespace is connected
 * - `acknowledged(client, isOk)`: an acknowledgement arrived
 * - `ended(client, reason)`: the connection ended without a close from this side
 * - `pings`: counts the heartbeats answered
 */
export class Client {
  /** Free for the role that the client plays. */
  state = 0;
  #upgraded = false;
  #begun;
  #head = '';
  #pause = 0;
  #frames = new FrameReader();

  /**
   * @param {{ host: string, port: number, localAddress?: string, localPort?: number, name?: string,
   *   begun?: { sid: string, posted: Promise<unknown> }, readSize?: number, owner: object }} to `begun` comes from `startOnPolling()`
   */
  constructor({ host, port, localAddress, localPort, name, begun, readSize, owner }) {
    this.owner = owner;
    this.name = name;
    this.#begun = begun;
    this.socket = connect({
      host,
      port,
      localAddress,
      localPort,
      noDelay: true,
      onread: {
        buffer: readSize ? readBuffer.subarray(0, readSize) : readBuffer,
        callback: (count) => this.#read(count),
      },
    });
    this.socket.on('error', (error) => this.#end(error.message));
    this.socket.on('close', () => this.#end('closed by the server'));
    this.socket.write(socketRequest(begun?.sid));
  }

  /** @param {Buffer} frame */
  send(frame) {
    this.socket.write(frame);
  }

  /** @param {string} room */
  join(room) {
    this.send(textFrame(`420${JSON.stringify(['join', room])}`));
  }

  /** From now on the client pauses for so many ms after each read; Infinity until the next call, 0 not at all. */
  slowDown(ms) {
    this.#pause = ms;
    if (ms === 0) this.socket.resume();
  }

  /** Closes with a reset, which leaves no port in TIME_WAIT for the next run. */
  close() {
    this.owner = null;
    this.socket.resetAndDestroy();
  }

  #read(count) {
    if (this.owner === null) return false;
    const at = this.#upgraded ? 0 : this.#readResponse(count);
    this.#frames.read(readBuffer, at, count, onFrame, this);
    afterRead();
    if (this.#pause > 0) this.#rest();
    return true;
  }

  #rest() {
    this.socket.pause();
    if (this.#pause < Number.POSITIVE_INFINITY) setTimeout(() => this.socket.resume(), this.#pause);
  }

  /** Reads the answer to the upgrade request. Returns where the first frame starts. */
  #readResponse(count) {
    const before = this.#head.length;
    this.#head += readBuffer.latin1Slice(0, count);
    const end = this.#head.indexOf('\r\n\r\n');
    if (end === -1) return count;
    const accepted = this.#head.startsWith('HTTP/1.1 101 ');
    if (!accepted) this.#end(`upgrade refused: ${this.#head.slice(0, this.#head.indexOf('\r\n'))}`);
    this.#upgraded = true;
    this.#head = '';
    if (accepted && this.#begun) this.send(PROBE);
    return accepted ? end + 4 - before : count;
  }

  #end(reason) {
    const owner = this.owner;
    if (owner === null) return;
    this.close();
    owner.ended(this, reason);
  }

  /** Everything but events. */
  control(first, bytes, at, length) {
    const { owner } = this;
    if (first === TEXT && bytes[at] === ENGINE_PING) {
      owner.pings++;
      this.send(ENGINE_PONG);
    } else if (first === TEXT && bytes[at] === ENGINE_OPEN) {
      this.send(this.name ? textFrame(`40${JSON.stringify({ name: this.name })}`) : CONNECT);
    } else if (first === TEXT && bytes[at] === ENGINE_MESSAGE && bytes[at + 1] === SOCKET_CONNECT) {
      owner.ready(this);
    } else if (first === TEXT && bytes[at] === ENGINE_MESSAGE && bytes[at + 1] === SOCKET_ACK) {
      owner.acknowledged(this, !bytes.latin1Slice(at, at + Math.min(length, PEEK)).includes('"ok":false'));
    } else if (first === TEXT && bytes[at] === ENGINE_PONG_TYPE && this.#begun) {
      this.#begun.posted.then(
        () => this.send(UPGRADE),
        (error) => this.#end(error.message),
      );
      this.#begun = undefined;
    } else if (first === TEXT && bytes[at] === ENGINE_NOOP) {
      // Some servers say it once a client has upgraded.
    } else {
      const text = first === CLOSE ? 'a close frame' : bytes.latin1Slice(at, at + Math.min(length, 80));
      this.#end(`unexpected frame: ${text}`);
    }
  }
}

function onFrame(client, first, bytes, at, length) {
  if (client.owner === null) return;
  if (first === TEXT && length > 1 && bytes[at] === ENGINE_MESSAGE && bytes[at + 1] === SOCKET_EVENT) {
    client.owner.event(client, bytes, at, length);
  } else {
    client.control(first, bytes, at, length);
  }
}
