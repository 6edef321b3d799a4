// A client of the helper whose process reads nothing for a while. It says how old the oldest value is that it sees then.
import { io } from 'socket.io-client';
import { StateMap } from '../../../../public/gjallar-client.js';

const [url, transport, pauseMs] = process.argv.slice(2);
/** By then, it has acknowledged something. */
const MESSAGES_BEFORE = 30;

const socket = io(url, { transports: [transport] });
let messages = 0;
const map = new StateMap(socket, 'quote', { watch: 'watch' });
map.on('change', (keys) => {
  if (!map.isComplete || ++messages < MESSAGES_BEFORE) return;
  if (messages === MESSAGES_BEFORE) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(pauseMs));
    return;
  }
  map.close();
  process.send(
    keys.map((key) => Date.now() - map.get(key)),
    () => process.exit(),
  );
});
