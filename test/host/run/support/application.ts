import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cleanEnvironment, RunningService } from '../../../support/service.js';

const apps = fileURLToPath(new URL('../apps/', import.meta.url));

/** An application; `admin` is the URL of its port for operators, if `ADMIN_PORT` is set. */
export type RunningApplication = RunningService & { readonly admin: string };

const defaults = { WORKERS: '2', RATE_LIMIT: 'off', ADMIN_PORT: '0', RELOAD_SETTLE: '50ms' };
const open: RunningService[] = [];

/** Stops the applications of the test. */
export async function stopAll(): Promise<void> {
  await Promise.all(open.splice(0).map((application) => application.stop()));
}

/** The path of an application of these tests. */
export function pathOf(app: string): string {
  return resolve(apps, app);
}

/** Runs an application of these tests with `gjallar run`, until all its workers listen. */
export async function runApp(
  app: string,
  {
    args = [],
    env = {},
    main,
    through,
  }: { args?: string[]; env?: Record<string, string>; main?: string; through?: string[] } = {},
): Promise<RunningApplication> {
  const application = new RunningService({
    env: { ...cleanEnvironment(), TMPDIR: undefined, DATA_DIR: undefined, ...defaults, ...env },
    args: ['run', pathOf(app), ...args],
    ...{ main, through, hasChannel: true },
  });
  open.push(application);
  await application.start();
  const isAdminOn = env.ADMIN_PORT !== '';
  const adminPort = isAdminOn && (await application.logged(({ msg }) => msg === 'the admin port is open')).port;
  return Object.assign(application, { admin: `http://127.0.0.1:${adminPort}` });
}
