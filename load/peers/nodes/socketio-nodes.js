// A chat on stock socket.io, on one node or several.

import { fileURLToPath } from 'node:url';
import { settings } from '../support/control.js';
import { runNodes } from './nodes.js';

await runNodes(fileURLToPath(new URL('socketio-chat.js', import.meta.url)), settings.env);
