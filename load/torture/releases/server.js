import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WITHOUT_LIMITS } from '../../harness/service.js';
import { rooms } from '../support/hosted.js';
import { RunningService } from '../support/service.js';

const fault = fileURLToPath(new URL('fault.cjs', import.meta.url));

/** The chat service, or an application under `gjallar run`, whose next release may be at fault. */
export class ReleasedServer extends RunningService {
  #folder;

  /** @param {{ isHosted: boolean, environment: Record<string, string> }} options */
  static async start({ isHosted, environment }) {
    const folder = mkdtempSync(join(tmpdir(), 'torture-release-'));
    install(folder, { fault: 'none' });
    const release = { ADMIN_PORT: '0', RELEASE: fileIn(folder), NODE_OPTIONS: `--require ${fault}` };
    const server = await ReleasedServer.open({
      environment: { ...WITHOUT_LIMITS, ...release, ...environment },
      app: isHosted ? rooms : undefined,
    });
    server.#folder = folder;
    return server;
  }

  /** Workers that start from now on run this release. */
  install(release) {
    install(this.#folder, release);
  }

  /** The process ids of the workers that respond, in order. */
  async pidsNow() {
    return (await this.workers()).map(({ pid }) => pid).sort((one, other) => one - other);
  }

  async stop() {
    await super.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const fileIn = (folder) => join(folder, 'release');
const install = (folder, release) => writeFileSync(fileIn(folder), JSON.stringify(release));
