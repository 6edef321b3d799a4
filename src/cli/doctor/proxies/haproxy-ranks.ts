import { backendName, placeRules } from './haproxy-backend.js';

/** How many workers the clients of one key can fill. Each adds a backend that lists all workers. */
const MAX_RANKS = 16;

export const ranksOf = (addresses: readonly string[]): number => Math.min(addresses.length, MAX_RANKS);

/** The table of the counts. If it is full, it forgets keys without clients; further keys then do not spill over. */
export const COUNTS: readonly string[] = ['    stick-table type string len 128 size 100k expire 1m store conn_cur'];

/**
 * Rules that find the rank of a WebSocket: the first of the key's workers on which fewer than `placeMax` WebSockets of the key
 * are open. They count per key and rank, not per key: after clients of the first worker have left, new ones come to it again.
 *
 * Polling requests stay on the first worker. HAProxy sees only separate requests of such a client, which would have to find
 * the same worker whatever the counts are meanwhile. A session that starts on polling moves to the worker of its WebSocket.
 */
export function rankRules(place: string, placeMax: number, ranks: number): string[] {
  const full = `{ var(txn.rank),table_conn_cur(${backendName(0)}) ge ${placeMax} }`;
  const setRank = (rank: number, condition: string) =>
    `    http-request set-var(txn.rank) str(${rank}:),concat(,txn.place) if ${condition}`;
  const others = Array.from({ length: ranks - 1 }, (_, index) => index + 1);
  return [
    ...placeRules(place),
    `    # Each worker gets at most ${placeMax} WebSockets of a key. Further ones go to the next worker in the list.`,
    '    # "show table gjallar" on the stats socket shows the count of each rank and key.',
    setRank(0, '{ req.hdr(upgrade) -i websocket } { var(txn.place) -m len gt 0 }'),
    ...others.map((rank) => setRank(rank, full)),
    '    # If all of them are full, clients go by their address.',
    `    http-request set-var(txn.rank) str(none) if ${full}`,
    '    http-request track-sc0 var(txn.rank) table gjallar unless { var(txn.rank) -m str none }',
    '    http-request set-var(txn.place) src unless { var(txn.place) -m len gt 0 } !{ var(txn.rank) -m str none }',
    '    # A worker counts the clients of each rank on their own. Clients cannot send the header themselves.',
    '    http-request set-header X-Gjallar-Rank 0',
    '    http-request set-header X-Gjallar-Rank %[var(txn.rank),field(1,:)] if { var(txn.rank) -m found }',
    ...others.map((rank) => `    use_backend ${backendName(rank)} if { var(txn.rank) -m beg ${rank}: }`),
  ];
}
