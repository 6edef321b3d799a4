import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { proxyConfiguration } from '../../../src/cli/doctor/proxies/index.js';
import { loadConfig } from '../../../src/config/load.js';
import { endWithFile } from '../../support/children.js';
import { envoyProgram } from '../../support/envoy.js';
import { freePort } from '../../support/ports.js';
import { until } from '../../support/until.js';

/** What `gjallar doctor --proxy` prints, without a process of its own. */
export function configurationOf(args: string[], env: Record<string, string> = {}): string {
  return proxyConfiguration(['--proxy', ...args], loadConfig(env));
}

const envoyPath = envoyProgram();

/** The command that keeps the proxy in the foreground, and what is around its configuration. */
export const proxies: Record<string, { command: string[]; around(text: string, folder: string): string }> = {
  haproxy: { command: ['haproxy', '-db', '-f'], around: (text) => text },
  nginx: {
    command: ['nginx', '-e', 'stderr', '-c'],
    around: (text, folder) =>
      `daemon off; pid ${folder}/pid; error_log stderr; events {} http { access_log off; client_body_temp_path ${folder}; ` +
      `proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;\n${text}}`,
  },
  ...(envoyPath && {
    envoy: {
      command: [envoyPath, '--use-dynamic-base-id', '-l', 'error', '--concurrency', '1', '-c'],
      around: (text: string) => text,
    },
  }),
};

export interface RunningProxy {
  readonly url: string;
  stop(): Promise<void>;
}

/** Runs a proxy with the configuration on a free port. */
export async function startProxy(name: string, configuration: string): Promise<RunningProxy> {
  const { command, around } = proxies[name]!;
  const folder = mkdtempSync(join(tmpdir(), 'gjallar-placement-'));
  const port = await freePort();
  const file = join(folder, 'configuration.yaml');
  writeFileSync(file, around(configuration.replace(/(\blisten |\bbind :|"port_value": )80\b/, `$1${port}`), folder));
  const [program, ...args] = command as [string, ...string[]];
  const env = { PATH: `${process.env.PATH}:/usr/sbin`, HOME: folder };
  const child = endWithFile(spawn(program, [...args, file], { env, stdio: ['ignore', 'ignore', 'pipe'] }), 'SIGTERM');
  let errors = '';
  child.stderr!.on('data', (chunk) => {
    errors += chunk;
  });
  const url = `http://127.0.0.1:${port}`;
  await until(async () => {
    if (child.exitCode !== null) throw new Error(errors);
    return (await fetch(`${url}/pid`).catch(() => undefined))?.status === 200;
  });
  return {
    url,
    stop: async () => {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
