import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { own } from '../../support/children.js';
import { temporaryFolder } from '../../support/folder.js';
import { freePort } from '../../support/ports.js';
import { until } from '../../support/until.js';

const deployed = fileURLToPath(new URL('../../../deploy', import.meta.url));

/** A file of deploy/, which names the machines gjallar-1 and gjallar-2, with ports of this one instead. */
export function configurationOf(file: string, ports: readonly number[]): string {
  const text = readFileSync(join(deployed, file), 'utf8');
  return text.replace(/\bgjallar-(\d):3000/g, (_all, machine) => `127.0.0.1:${ports[Number(machine) - 1]}`);
}

/** The command that keeps the proxy in the foreground, and what is around its configuration. */
export const proxies: Record<string, { command: string[]; around(text: string, folder: string): string }> = {
  haproxy: { command: ['haproxy', '-db', '-f'], around: (text) => text },
  nginx: {
    command: ['nginx', '-e', 'stderr', '-c'],
    around: (text, folder) =>
      `daemon off; pid ${folder}/pid; error_log stderr; events {} http { access_log off; client_body_temp_path ${folder}; ` +
      `proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;\n${text}}`,
  },
};

export interface RunningProxy {
  readonly url: string;
  stop(): Promise<void>;
}

/** Runs a proxy with the configuration on a free port. */
export async function startProxy(name: string, configuration: string): Promise<RunningProxy> {
  const { command, around } = proxies[name]!;
  const folder = temporaryFolder();
  const port = await freePort();
  const file = join(folder, 'configuration');
  writeFileSync(file, around(configuration.replace(/(\blisten |\bbind :)80\b/, `$1${port}`), folder));
  const [program, ...args] = command as [string, ...string[]];
  const env = { PATH: `${process.env.PATH}:/usr/sbin`, HOME: folder };
  const child = own(spawn(program, [...args, file], { env, stdio: ['ignore', 'ignore', 'pipe'] }), 'SIGTERM');
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
    },
  };
}
