import cluster from 'node:cluster';
import { createServer } from 'node:http';
import { Server } from 'socket.io';

const server = createServer();
new Server(server);
const { id } = cluster.worker;
process.on('message', (message) => {
  if (message === `throw ${id}`) throw new Error('a bug');
  if (message === `listen ${id}`) listen();
});
const listen = () => server.listen(0, () => console.log(`worker ${id} listens`));
setInterval(() => {}, 1000);
// The second worker listens when it is told to.
if (id === 2) console.log('worker 2 waits');
else listen();
