// uWebSockets.js alone, as in its examples.

import { app, listen } from '../support/uws-app.js';
import { answers } from './http-answers.js';

for (const [path, { type, body }] of Object.entries(answers)) {
  app.get(path, (res) => res.writeHeader('Content-Type', type).end(body));
}
listen();
