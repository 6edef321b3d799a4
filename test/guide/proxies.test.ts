import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { own } from '../support/children.js';
import { connect, expectOk, nextEvent, upgraded } from '../support/clients.js';
import { atEnd } from '../support/ends.js';
import { temporaryFolder } from '../support/folder.js';
import { freePort } from '../support/ports.js';
import { sharedServer } from '../support/server.js';
import { until } from '../support/until.js';

const page = readFileSync(fileURLToPath(new URL('../../docs/guide/proxies.md', import.meta.url)), 'utf8');

/** The configuration in the section of a proxy. */
function configurationOf(proxy: string): string {
  return new RegExp(`\n## ${proxy}\n[\\s\\S]*?\`\`\`\\w+\n([\\s\\S]*?)\`\`\``).exec(page)![1]!;
}

const modules = [
  'mpm_event',
  'authz_core',
  'proxy',
  'proxy_http',
  'proxy_balancer',
  'slotmem_shm',
  'lbmethod_byrequests',
];

/** What the page leaves to the reader's installation, and the command that stays in the foreground. */
const proxies: Record<string, { around(page: string, folder: string, port: number): string; command: string[] }> = {
  nginx: {
    around: (text, folder) =>
      `daemon off; pid ${folder}/pid; error_log stderr; events {} http { access_log off; client_body_temp_path ${folder}; ` +
      `proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;\n${text}}`,
    command: ['nginx', '-e', 'stderr', '-c'],
  },
  HAProxy: { around: (text) => text, command: ['haproxy', '-db', '-f'] },
  'Apache httpd': {
    around: (text, folder, port) =>
      [
        `ServerRoot ${folder}`,
        `PidFile ${folder}/pid`,
        'ServerName localhost',
        `ErrorLog ${folder}/log`,
        'User nobody',
        `DefaultRuntimeDir ${folder}`,
        `Listen 127.0.0.1:${port}`,
        ...modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`),
        text,
      ].join('\n'),
    command: ['apache2', '-DFOREGROUND', '-f'],
  },
  Caddy: {
    around: (text, folder, port) =>
      `{\n  admin off\n  storage file_system ${folder}\n}\n${text.replace('chat.example.com', `http://:${port}`)}`,
    command: ['caddy', 'run', '--adapter', 'caddyfile', '--config'],
  },
};

const server = sharedServer({ WORKERS: '3', HOST: '0.0.0.0', TRUST_PROXY: '1' });

test.each(Object.entries(proxies))('%s, as the guide configures it', async (name, { around, command }) => {
  const folder = temporaryFolder();
  const port = await freePort();
  const text = configurationOf(name)
    .replaceAll('10.0.0.1:3000', `127.0.0.1:${server.port}`)
    .replaceAll('10.0.0.2:3000', `127.0.0.2:${server.port}`)
    .replace(/\b(listen |bind :)80\b/, `$1${port}`);
  const file = join(folder, 'configuration');
  writeFileSync(file, around(text, folder, port));
  const [program, ...args] = command as [string, ...string[]];
  const path = `${process.env.PATH}:/usr/sbin`;
  const env = { PATH: path, HOME: folder };
  const proxy = own(spawn(program, [...args, file], { env, stdio: ['ignore', 'ignore', 'pipe'] }), 'SIGTERM');
  let errors = '';
  proxy.stderr!.on('data', (chunk) => {
    errors += chunk;
  });
  const url = `http://127.0.0.1:${port}`;
  atEnd(async () => {
    proxy.kill('SIGTERM');
    if (proxy.exitCode === null) await once(proxy, 'exit');
  });
  await until(async () => {
    if (proxy.exitCode !== null) throw new Error(errors);
    return (await fetch(`${url}/healthz`).catch(() => undefined))?.status === 200;
  });
  const clients = [connect(url), connect(url, { transports: ['websocket'] })];
  await Promise.all(clients.map(upgraded));
  const heard = clients.map((client) => nextEvent<[{ text: string }]>(client, 'message'));
  for (const client of clients) expectOk(await client.emitWithAck('join', name));
  expectOk(await clients[0]!.emitWithAck('message', { room: name, text: 'Hello!' }));
  expect((await Promise.all(heard)).map(([{ text }]) => text)).toEqual(['Hello!', 'Hello!']);
  await Promise.all(
    clients.map((client) => {
      const closed = nextEvent(client.io.engine, 'close');
      client.disconnect();
      return closed;
    }),
  );
});
