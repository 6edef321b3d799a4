import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { own } from '../../support/children.js';
import { envoyProgram } from '../../support/envoy.js';
import { freePort } from '../../support/ports.js';
import { until } from '../../support/until.js';

const deployed = fileURLToPath(new URL('../../../deploy', import.meta.url));

/**
 * A file of deploy/, which names the workers 3001 to 3004 of gjallar-1 and gjallar-2, with workers of this machine instead.
 * @param machines the first port of the workers of each machine
 * @param workers how many workers each machine has, 4 at most
 */
export function configurationOf(file: string, machines: readonly number[], workers: number): string {
  const text = readFileSync(join(deployed, file), 'utf8');
  const portOf = (machine: string, worker: string) => machines[Number(machine) - 1]! + Number(worker) - 1;
  const isKept = (machine: string, worker: string) => Number(machine) <= machines.length && Number(worker) <= workers;
  if (file.startsWith('envoy')) {
    const configuration = JSON.parse(text);
    const [cluster] = configuration.static_resources.clusters;
    for (const { lb_endpoints: endpoints } of cluster.load_assignment.endpoints) {
      const kept = (endpoints as EnvoyEndpoint[]).filter(({ endpoint: { address } }) => {
        const { address: host, port_value: port } = address.socket_address;
        const [machine, worker] = [host.at(-1)!, String(port).at(-1)!];
        Object.assign(address.socket_address, { address: '127.0.0.1', port_value: portOf(machine, worker) });
        return isKept(machine, worker);
      });
      endpoints.splice(0, endpoints.length, ...kept);
    }
    return JSON.stringify(configuration, null, 2);
  }
  const lines = text
    .split('\n')
    .filter((line) => {
      const [, machine, worker] = /gjallar-(\d):300(\d)/.exec(line) ?? [];
      return machine === undefined || isKept(machine, worker!);
    })
    .map((line) =>
      line.replace(/\bgjallar-(\d):300(\d)/g, (_all, machine, worker) => `127.0.0.1:${portOf(machine, worker)}`),
    );
  return withRanks(lines, machines.length * workers).join('\n');
}

/**
 * There are as many ranks as workers. In the backend of rank 1, each worker has the id that the one before it has in the first
 * list, and so on.
 */
function withRanks(lines: readonly string[], ranks: number): string[] {
  const ids: string[] = [];
  let rank = 0;
  let place = 0;
  return lines.flatMap((line) => {
    const [, backend] = /^backend gjallar(?:_(\d+))?$/.exec(line) ?? [];
    if (line.startsWith('backend ')) [rank, place] = [Number(backend ?? 0), 0];
    const named = /str\((\d+):\)|use_backend gjallar_(\d+)/.exec(line);
    if (rank >= ranks || Number(named?.[1] ?? named?.[2] ?? 0) >= ranks) return [];
    const [, id] = /^ +server .* id (\d+)/.exec(line) ?? [];
    if (id === undefined) return line;
    if (rank === 0) ids.push(id);
    const at = (place++ - rank) % ids.length;
    return rank === 0 ? line : line.replace(` id ${id}`, ` id ${ids.at(at)}`);
  });
}

interface EnvoyEndpoint {
  endpoint: { address: { socket_address: { address: string; port_value: number } } };
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
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
