import { type Backend, backendOf, placeRules } from './haproxy-backend.js';
import { COUNTS, rankRules, ranksOf } from './haproxy-ranks.js';
import type { ProxyRequest } from './request.js';

/** HAProxy 2.6 or later. */
export function haproxy({ place, addresses, check, balanceFactor, placeMax }: ProxyRequest): string {
  const byPlace = [
    ...placeRules(place),
    '    http-request set-var(txn.place) src unless { var(txn.place) -m len gt 0 }',
  ];
  const backend: Backend = { addresses, check, balanceFactor };
  const ranks = placeMax ? ranksOf(addresses) : 1;
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
    ...(placeMax ? rankRules(place, placeMax, ranks) : []),
    '    default_backend gjallar',
    '',
    ...backendOf(backend, 0, placeMax ? COUNTS : byPlace),
    ...Array.from({ length: ranks - 1 }, (_, index) => ['', ...backendOf(backend, index + 1, [])]).flat(),
  ].join('\n')}\n`;
}
