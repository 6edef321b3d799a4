// The same application with gjallar's Server, and nothing else changed.

import { Server } from '../../../dist/index.js';
import { serveExpress } from './express-application.js';

serveExpress(Server);
