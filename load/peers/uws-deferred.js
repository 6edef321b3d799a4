// uWebSockets.js alone, publishing once the handler has returned. While a handler runs, its socket holds the loop's only cork
// buffer; when so many messages are published meanwhile that uWS must drain a subscriber (32), it writes them one by one.
// Outside, they leave in one write. It makes no difference until more than 32 messages are published in one turn of the
// event loop; from then on it does.

import { app } from './uws-app.js';
import { serve } from './uws-server.js';

serve((topic, message) => setImmediate(() => app.publish(topic, message)));
