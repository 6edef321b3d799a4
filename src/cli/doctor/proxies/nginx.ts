import { GjallarError } from '../../../errors.js';
import type { ProxyRequest } from './request.js';

/** For the `http` block of nginx. */
export function nginx({ place, addresses, check, balanceFactor, placeMax }: ProxyRequest): string {
  if (balanceFactor) {
    throw new GjallarError(
      'BAD_CONFIG',
      'nginx has no bound for hashing; leave out --hash-balance-factor, or use haproxy',
    );
  }
  if (placeMax) {
    throw new GjallarError(
      'BAD_CONFIG',
      'nginx can bound only the first worker of a key; leave out --place-max, or use haproxy',
    );
  }
  if (check) {
    throw new GjallarError(
      'BAD_CONFIG',
      'nginx has no health checks in its free version; leave out --check, or use haproxy',
    );
  }
  return `${[
    `# Clients with the same ?${place}= meet on one worker. Clients without it go by their address.`,
    `map $arg_${place} $gjallar_place {`,
    `    default $arg_${place};`,
    "    ''      $remote_addr;",
    '}',
    'map $http_upgrade $gjallar_connection {',
    '    default upgrade;',
    "    ''      '';",
    '}',
    'upstream gjallar {',
    '    hash $gjallar_place consistent;',
    ...addresses.map((address) => `    server ${address} max_fails=2 fail_timeout=5s;`),
    '    keepalive 64;',
    '}',
    'server {',
    '    listen 80;',
    '    # Not smaller than MAX_PAYLOAD.',
    '    client_max_body_size 1m;',
    '    location / {',
    '        proxy_pass http://gjallar;',
    '        proxy_http_version 1.1;',
    '        proxy_set_header Upgrade $http_upgrade;',
    '        proxy_set_header Connection $gjallar_connection;',
    '        proxy_set_header Host $host;',
    '        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;',
    '        proxy_set_header X-Forwarded-Proto $scheme;',
    '        # Longer than the ping interval of 25 s and the ping timeout of 20 s together.',
    '        proxy_read_timeout 75s;',
    '        proxy_send_timeout 75s;',
    '        proxy_connect_timeout 5s;',
    '        proxy_buffering off;',
    '    }',
    '}',
  ].join('\n')}\n`;
}
