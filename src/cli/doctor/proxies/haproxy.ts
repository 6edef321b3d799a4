import { createHash } from 'node:crypto';
import type { ProxyRequest } from './request.js';

/** HAProxy 2.6 or later. */
export function haproxy({ place, addresses, check, balanceFactor }: ProxyRequest): string {
  const http = check && [
    '    option httpchk',
    `    http-check send meth GET uri ${check} ver HTTP/1.1 hdr Host localhost`,
    '    http-check expect status 200',
  ];
  const bounded = balanceFactor && [
    '    # A worker that is this far above the average, in percent, passes clients on to the next one in their order.',
    `    hash-balance-factor ${balanceFactor}`,
  ];
  return `${[
    'defaults',
    '    mode http',
    '    option redispatch 1',
    '    retries 3',
    '    # Tells a worker that a client no longer waits for its poll.',
    '    option abortonclose',
    '    timeout connect 5s',
    '    # Longer than the ping interval of 25 s and the ping timeout of 20 s together.',
    '    timeout client 75s',
    '    timeout server 75s',
    '    timeout tunnel 75s',
    '    timeout check 3s',
    '',
    'frontend web',
    '    bind :80',
    '    option forwardfor',
    '    default_backend gjallar',
    '',
    'backend gjallar',
    `    # Clients with the same ?${place}= meet on one worker. Clients without it go by their address.`,
    `    http-request set-var(txn.place) url_param(${place})`,
    '    http-request set-var(txn.place) src unless { var(txn.place) -m len gt 0 }',
    '    balance hash var(txn.place)',
    '    hash-type consistent sdbm avalanche',
    ...(bounded || []),
    ...(http || []),
    '    # A high weight spreads keys evenly. With an id by its address, a worker keeps its keys when others come or go.',
    '    default-server weight 100 check inter 1s fastinter 500ms fall 3 rise 2',
    ...serversOf(addresses),
  ].join('\n')}\n`;
}

/** HAProxy derives the place of a server in its order from the lowest 20 bits of its id. */
const MAX_ID = 2 ** 20 - 1;

function serversOf(addresses: readonly string[]): string[] {
  const ids = new Set<number>();
  return addresses.map((address) => {
    let id = 1 + (createHash('sha256').update(address).digest().readUInt32BE() % MAX_ID);
    while (ids.has(id)) id = 1 + (id % MAX_ID);
    ids.add(id);
    return `    server ${address.replace(/[[\]]/g, '')} ${address} id ${id}`;
  });
}
