// Arguments: url, transport, number of clients. Prints a line for each thing that a client notices.
import { io } from 'socket.io-client';

const [url, transport, count] = process.argv.slice(2);
for (let index = 0; index < Number(count); index++) {
  const socket = io(url, { transports: [transport], forceNew: true });
  socket.on('connect', () => socket.emit('echo', 1, () => console.log(`${index} ready`)));
  socket.on('disconnect', (reason) => console.log(`${index} disconnect [${reason}]`));
}
process.stdin.resume().on('end', () => process.exit(0));
