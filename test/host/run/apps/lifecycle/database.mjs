// Listens as soon as its database, which is the file that DATABASE names, is there.
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { Server } from 'socket.io';

const server = createServer();
new Server(server);
const isThere = () => existsSync(process.env.DATABASE);
while (!isThere()) await new Promise((resolve) => setTimeout(resolve, 20));
server.listen(0, '127.0.0.1', () => console.log(`listens: ${process.pid}`));
