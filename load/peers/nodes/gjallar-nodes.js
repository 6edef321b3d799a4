// gjallar as the service that `npm start` runs: the chat, in a primary and its workers, on one node or several.
// History is off, as the chats it is compared with keep none, unless the row asks for it.

import { existsSync } from 'node:fs';
import { program } from '../../harness/service.js';
import { settings, unavailable } from '../support/control.js';
import { runNodes } from './nodes.js';

const { workers = 1, bus = 'auto', history = false, env } = settings;

if (!existsSync(program)) unavailable('dist/ is missing; npm run build');
else await runNodes(program, { WORKERS: String(workers), BUS: bus, ...(history ? {} : { HISTORY_TTL: '0' }), ...env });
