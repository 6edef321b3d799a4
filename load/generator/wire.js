// What a client puts on the wire: the WebSocket handshake and masked frames.

/**
 * The upgrade request of an Engine.IO v4 client that starts with WebSocket at once. Only the headers that RFC 6455
 * (section 4.1) demands, so that no server is charged for headers it may or may not keep.
 * @param {string} host
 * @param {number} port
 * @param {number} serial makes the key differ from connection to connection
 */
export function upgradeRequest(host, port, serial) {
  const nonce = Buffer.alloc(16);
  nonce.writeUInt32BE(process.pid, 0);
  nonce.writeUInt32BE(serial, 4);
  return (
    'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\n' +
    `Host: ${host}:${port}\r\n` +
    'Connection: Upgrade\r\n' +
    'Upgrade: websocket\r\n' +
    'Sec-WebSocket-Version: 13\r\n' +
    `Sec-WebSocket-Key: ${nonce.toString('base64')}\r\n\r\n`
  );
}

// Fixed, because the generator must be cheap; not zero, because some servers skip the unmasking of a zero key and would
// be measured with work left out that real clients make them do.
const MASK = [0x37, 0xfa, 0x21, 0x3d];

const TEXT = 0x81;
const PONG = 0x8a;

/** A masked frame that holds `payload`. */
function maskedFrame(first, payload) {
  const { length } = payload;
  const header = length < 126 ? 2 : 4;
  if (length > 65535) throw new RangeError(`payload of ${length} bytes: the generator sends at most 65,535`);
  const frame = Buffer.allocUnsafe(header + 4 + length);
  frame[0] = first;
  frame[1] = 0x80 | Math.min(length, 126);
  if (header === 4) frame.writeUInt16BE(length, 2);
  for (let i = 0; i < 4; i++) frame[header + i] = MASK[i];
  for (let i = 0; i < length; i++) frame[header + 4 + i] = payload[i] ^ MASK[i & 3];
  return frame;
}

/** @param {string} text an Engine.IO packet */
export const textFrame = (text) => maskedFrame(TEXT, Buffer.from(text));

/** @param {unknown[]} event a Socket.IO event: its name and arguments */
export const eventFrame = (...event) => textFrame(`42${JSON.stringify(event)}`);

/** The answer to a WebSocket ping (not to be confused with Engine.IO's own). */
export const pongFrame = (payload) => maskedFrame(PONG, payload);

export const CONNECT = textFrame('40');
export const ENGINE_PONG = textFrame('3');
