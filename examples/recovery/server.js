// Serves a page of your own site, which uses the chat service on another origin.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const chat = process.env.CHAT_URL ?? 'http://localhost:3000';
const read = (name) => readFileSync(new URL(`page/${name}`, import.meta.url), 'utf8').replaceAll('CHAT_URL', chat);
const files = {
  '/': ['text/html', read('index.html')],
  '/page.js': ['text/javascript', read('page.js')],
};

const server = createServer((request, response) => {
  const [type, body] = files[request.url] ?? [];
  response.writeHead(body ? 200 : 404, { 'Content-Type': type ?? 'text/plain' }).end(body);
});

const port = Number(process.env.PORT ?? 8080);
server.listen(port, () => console.log(`listening on ${port}`));
