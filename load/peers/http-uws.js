// uWebSockets.js alone, as in its examples.

import { answers } from './http-answers.js';
import { app, listen } from './uws-app.js';

for (const [path, { type, body }] of Object.entries(answers)) {
  app.get(path, (res) => res.writeHeader('Content-Type', type).end(body));
}
listen();
