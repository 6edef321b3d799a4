// Listens on a Unix socket behind a proxy, as nginx's `proxy_pass http://unix:…` wants it.
import { createServer } from 'node:http';
import { Server } from 'socket.io';

const http = createServer((_message, response) => response.end(http.address()));
new Server(http);
http.listen(process.env.APP_PATH);
