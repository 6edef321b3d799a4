import { createHash } from 'node:crypto';

/** The workers, and how HAProxy chooses among them. */
export interface Backend {
  readonly addresses: readonly string[];
  readonly check: string | undefined;
  readonly balanceFactor: number | undefined;
}

/**
 * The backend of a rank. In the one of rank 1, each worker has the id, and so the keys, of the worker before it in the list.
 * A key thus has as many different workers as it has ranks, as long as all of them are up.
 */
export function backendOf(
  { addresses, check, balanceFactor }: Backend,
  rank: number,
  rules: readonly string[],
): string[] {
  const http = check && [
    '    option httpchk',
    `    http-check send meth GET uri ${check} ver HTTP/1.1 hdr Host localhost`,
    '    http-check expect status 200',
  ];
  const bounded = balanceFactor && [
    '    # A worker that is this far above the average, in percent, passes clients on to the next one in their order.',
    `    hash-balance-factor ${balanceFactor}`,
  ];
  const checked = [
    ...(bounded || []),
    ...(http || []),
    '    # A high weight spreads keys evenly. With an id by its address, a worker keeps its keys when others come or go.',
    '    default-server weight 100 check inter 1s fastinter 500ms fall 3 rise 2',
  ];
  const ids = idsOf(addresses);
  const nameOf = (address: string) => address.replace(/[[\]]/g, '');
  return [
    `backend ${backendName(rank)}`,
    ...rules,
    '    balance hash var(txn.place)',
    '    hash-type consistent sdbm avalanche',
    ...(rank === 0 ? checked : ['    default-server weight 100']),
    ...addresses.map((address, index) => {
      const id = ids.at((index - rank) % ids.length);
      const state = rank === 0 ? '' : ` track ${backendName(0)}/${nameOf(address)}`;
      return `    server ${nameOf(address)} ${address} id ${id}${state}`;
    }),
  ];
}

export const backendName = (rank: number): string => (rank === 0 ? 'gjallar' : `gjallar_${rank}`);

/** HAProxy derives the place of a server in its order from the lowest 20 bits of its id. */
const MAX_ID = 2 ** 20 - 1;

function idsOf(addresses: readonly string[]): number[] {
  const ids = new Set<number>();
  for (const address of addresses) {
    let id = 1 + (createHash('sha256').update(address).digest().readUInt32BE() % MAX_ID);
    while (ids.has(id)) id = 1 + (id % MAX_ID);
    ids.add(id);
  }
  return [...ids];
}

/** The rules that read the key of a client. */
export const placeRules = (place: string): readonly string[] => [
  `    # Clients with the same ?${place}= meet on one worker. Clients without it go by their address.`,
  `    http-request set-var(txn.place) url_param(${place})`,
];
