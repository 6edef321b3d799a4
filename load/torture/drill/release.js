import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Station } from './station.js';

/** How long a worker of the broken release lives, in ms: until it listens, and less than RELOAD_SETTLE. */
const LIFE_MS = 2000;

/** A release whose workers end soon after they have started. @returns {Promise<import('./faults.js').Part>} */
export async function releasePart({ directory }) {
  const broken = join(directory, 'broken');
  const module = join(directory, 'release.mjs');
  writeFileSync(
    module,
    `import cluster from 'node:cluster';
import { existsSync } from 'node:fs';
if (cluster.isWorker && existsSync(${JSON.stringify(broken)})) setTimeout(() => process.exit(3), ${LIFE_MS});
`,
  );
  const station = await Station.start({
    name: 'release',
    environment: { NODE_OPTIONS: `--import=${pathToFileURL(module)}`, RELOAD_SETTLE: '5s' },
  });
  const reload = () => process.kill(station.primary, 'SIGHUP');
  return {
    station,
    faults: [
      {
        name: 'broken release',
        inject: async () => {
          writeFileSync(broken, '');
          reload();
        },
        undo: () => {
          rmSync(broken);
          reload();
        },
        signals: {
          readyz: 'RELOAD_ABORTED',
          log: /^reload aborted/,
          metric: 'gjallar_reloads_total{instance="$i",outcome="aborted"} > 0',
          alert: { alertname: 'GjallarReloadAborted' },
          remedy: /Correct the release/,
        },
      },
    ],
  };
}
