// uWebSockets.js alone, publishing what has come in once per window of 25 ms, which is gjallar's default. A lone message
// leaves at once. It is what a delivery costs when nothing but the window is added to uWebSockets.js.

import { app } from './uws-app.js';
import { serve } from './uws-server.js';

const WINDOW_MS = 25;

let held = [];
let heldUntil = 0;

serve((topic, message) => {
  held.push(topic, message);
  if (held.length > 2) return;
  const wait = heldUntil - performance.now();
  if (wait > 0) setTimeout(flush, wait);
  else setImmediate(flush);
});

function flush() {
  const messages = held;
  held = [];
  for (let i = 0; i < messages.length; i += 2) app.publish(messages[i], messages[i + 1]);
  heldUntil = performance.now() + WINDOW_MS;
}
