import frameworks from './frameworks.js';
import { installed } from './install.js';
import libraries from './libraries.js';
import pages from './pages.js';
import tools from './tools.js';

/** How many workers `gjallar run` gets. */
const WORKERS = 2;

/**
 * Applications and frameworks of other people. Each is an application of the matrix; besides:
 * - `version`: of what it is about, exact
 * - `state`: why `gjallar run` cannot be compared; shown in its place
 * - `app`: its folder in `apps/`, if that is not its name
 * - `isSequential`: its ways run one after the other, because its script changes its files
 */
export const gallery = Object.fromEntries(
  Object.entries({ ...libraries, ...frameworks, ...pages, ...tools }).map(
    ([name, { from, app = name, ...application }]) => [
      name,
      { ...application, ...installed(app, from), isVerbose: true, workers: WORKERS },
    ],
  ),
);

/** What the gallery lacks, and why. */
export const notRun = {
  'etherpad-lite': 'npm has only 1.8.14 of 2021; docs/gallery.md has a run of 2.5.3 by hand',
  'excalidraw-room': 'not on npm; docs/gallery.md has a run by hand',
  'The Lounge, MagicMirror': 'their newest versions on npm need Node.js 22',
  Directus: 'its realtime interface is WebSocket without Socket.IO',
  'uptime-kuma': 'npm has only 2.0.0-dev.0 of 2023; docs/gallery.md has a run of 2.5.3 by hand',
  Strapi: 'it has no realtime interface itself, and strapi-plugin-io is for Strapi 4',
  '@socket.io/pm2': 'a fork of pm2 that distributes clients itself; pm2 is tested in test/cluster/pm2.test.ts',
  Next: 'in `npm run matrix`, in its newest version',
};
