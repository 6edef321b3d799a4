import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The proxies. `files` makes the configuration from the one in deploy/, with two servers and a port; `takeOut` makes the
 * proxy stop sending clients to a server where it does not find out from /readyz by itself.
 */
const read = (name) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');

/** Replaces exactly what is there: a changed configuration must not be tested by accident without its servers. */
function replaced(text, pairs) {
  for (const [from, to] of pairs) {
    if (!text.includes(from)) throw new Error(`the configuration has no ${from}`);
    text = text.replaceAll(from, to);
  }
  return text;
}

const targets = ([one, two]) => [
  ['gjallar-1:3000', `127.0.0.1:${one}`],
  ['gjallar-2:3000', `127.0.0.1:${two}`],
];

function nginxFiles(folder, servers, port, down) {
  const pairs = [...targets(servers), ['listen 80;', `listen 127.0.0.1:${port};`]];
  let site = replaced(read('nginx/gjallar.conf'), pairs);
  if (down) site = replaced(site, [[`server 127.0.0.1:${down} `, `server 127.0.0.1:${down} down `]]);
  writeFileSync(join(folder, 'gjallar.conf'), site);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; pid ${folder}/nginx.pid; error_log ${folder}/error.log; events {}
     http { access_log off; ${paths.join(' ')} include ${folder}/gjallar.conf; }`,
  );
}

export const proxies = {
  nginx: {
    files: nginxFiles,
    command: (folder) => ['nginx', '-p', folder, '-c', join(folder, 'nginx.conf')],
    takeOut(folder, servers, port, down, child) {
      nginxFiles(folder, servers, port, down);
      child.kill('SIGHUP');
    },
  },
  haproxy: {
    files(folder, servers, port) {
      const pairs = [...targets(servers), ['bind :80\n', `bind 127.0.0.1:${port}\n`]];
      writeFileSync(join(folder, 'haproxy.cfg'), replaced(read('haproxy/haproxy.cfg'), pairs));
    },
    command: (folder) => ['haproxy', '-db', '-f', join(folder, 'haproxy.cfg')],
  },
  apache2: {
    files(folder, servers, port) {
      const modules = [
        ...['mpm_event', 'authz_core', 'proxy', 'proxy_http', 'proxy_balancer', 'proxy_hcheck', 'lbmethod_byrequests'],
        ...['headers', 'slotmem_shm', 'watchdog'],
      ];
      // Some modules may be built in.
      const load = modules.map(
        (name) =>
          `<IfModule !${name}_module>\nLoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so\n</IfModule>`,
      );
      writeFileSync(
        join(folder, 'apache.conf'),
        `ServerRoot ${folder}\nServerName localhost\nListen 127.0.0.1:${port}\nPidFile ${folder}/pid\nErrorLog ${folder}/error.log
DefaultRuntimeDir ${folder}\n${load.join('\n')}\n${process.getuid() === 0 ? 'User www-data\nGroup www-data\n' : ''}
${replaced(read('apache/gjallar.conf'), targets(servers))}`,
      );
    },
    command: (folder) => ['apache2', '-f', join(folder, 'apache.conf'), '-DFOREGROUND'],
  },
  caddy: {
    files(folder, servers, port) {
      const pairs = [...targets(servers), [':80 {', `http://127.0.0.1:${port} {`]];
      writeFileSync(join(folder, 'Caddyfile'), `{\n\tadmin off\n}\n${replaced(read('caddy/Caddyfile'), pairs)}`);
    },
    command: (folder) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')],
  },
};
