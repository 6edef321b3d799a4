// node:http, set up as in its documentation.

import { createServer } from 'node:http';
import { ready, settings } from '../support/control.js';
import { answers } from './http-answers.js';

const server = createServer((request, response) => {
  const answer = answers[request.url];
  if (!answer) return response.writeHead(404).end();
  response.writeHead(200, { 'Content-Type': answer.type, 'Content-Length': answer.body.length }).end(answer.body);
});
server.listen({ host: settings.host, port: 0, backlog: 4096 }, () => ready(server.address().port));
