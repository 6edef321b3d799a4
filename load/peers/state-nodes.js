// The application of the benchmark "state" on several workers or machines: `gjallar run` with state-program.js.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { program, WITHOUT_LIMITS } from '../harness/service.js';
import { settings, unavailable } from './control.js';
import { runNodes } from './nodes.js';

const { workers = 1 } = settings;
const application = fileURLToPath(new URL('state-program.js', import.meta.url));
const env = { ...WITHOUT_LIMITS, STATE_SETTINGS: JSON.stringify(settings) };

if (!existsSync(program)) unavailable('dist/ is missing; npm run build');
else await runNodes(program, env, ['run', application, '--workers', String(workers)]);
