// Says farewell to its clients at SIGTERM, as FAREWELL says, and ends.
import { createServer } from 'node:http';
import { Server } from 'socket.io';

const server = createServer();
const io = new Server(server);
process.on('SIGTERM', async () => {
  if (process.env.FAREWELL === 'later') await new Promise((resolve) => setTimeout(resolve, 200));
  io.emit('farewell');
  await io.close();
  process.exit(0);
});
server.listen(0);
