import { isIP, SocketAddress } from 'node:net';

/**
 * The address of a client behind trusted proxies. Each proxy appends the address of its peer to `X-Forwarded-For`. Only
 * the last `hops` entries can be trusted, because the client itself may have sent the others.
 * @param direct the address of the connection
 * @param forwardedFor the header; repeated headers are joined by commas
 * @param hops the number of trusted proxies
 */
export function clientAddress(direct: string, forwardedFor: string | undefined, hops: number): string {
  if (hops === 0 || !forwardedFor) return direct;
  const trusted = forwardedFor.split(',').slice(-hops);
  for (const entry of trusted) {
    const address = withoutPort(entry.trim());
    // If a proxy hides the address, the next proxy counts as the client.
    if (isIP(address)) return address;
  }
  return direct;
}

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(entry);
  if (bracketed) return bracketed[1]!;
  const withPort = /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(entry);
  return withPort ? withPort[1]! : entry;
}

/** One way to write each address, so that two of them can be compared. */
export function canonicalAddress(address: string): string {
  if (isIP(address) !== 6) return address;
  const { address: short } = new SocketAddress({ address: address.replace(/%.*$/, ''), family: 'ipv6' });
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(short)?.[1] ?? short;
}

/**
 * The key under which an address is counted: the IPv4 address, however it is written, or the first 64 bits of an IPv6
 * address. One client usually owns all addresses with the same 64 bits.
 */
export function addressKey(address: string): string {
  const short = canonicalAddress(address);
  if (isIP(short) !== 6) return short;
  const [head = '', tail] = short.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail ? tail.split(':') : [];
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0');
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`;
}
