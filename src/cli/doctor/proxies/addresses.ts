const MAX_ADDRESSES = 1024;
const HOST = /^(?:[0-9A-Za-z.-]+|\[[0-9A-Fa-f:]+\])$/;

/**
 * The addresses in a list such as `10.0.0.1:3001-3004,10.0.0.2:3001`, in its order; undefined if the list is malformed,
 * names an address twice, or is too long.
 */
export function addressesIn(list: string): string[] | undefined {
  const addresses: string[] = [];
  for (const part of list.split(',')) {
    const [, host = '', first, last = first] = /^ *(.+):(\d{1,5})(?:-(\d{1,5}))? *$/.exec(part) ?? [];
    const [from, to] = [Number(first), Number(last)];
    if (!HOST.test(host) || !(from > 0) || to < from || to > 65_535) return undefined;
    if (addresses.length + to - from >= MAX_ADDRESSES) return undefined;
    for (let port = from; port <= to; port++) addresses.push(`${host}:${port}`);
  }
  return new Set(addresses).size === addresses.length ? addresses : undefined;
}
