import { isIP, SocketAddress } from 'node:net';

/**
 * The address of a client behind so many proxies of ours. Each proxy appends whom it was asked by to `X-Forwarded-For`,
 * so that only the last `hops` entries are true: what stands to their left is what the client itself has sent.
 * @param direct the address that the connection came from
 * @param forwardedFor the header, several of them joined by commas
 */
export function clientAddress(direct: string, forwardedFor: string | undefined, hops: number): string {
  if (hops === 0 || !forwardedFor) return direct;
  const trusted = forwardedFor.split(',').slice(-hops);
  for (const entry of trusted) {
    const address = withoutPort(entry.trim());
    // A proxy that does not tell leaves the one behind it to be the client.
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

/**
 * What an address is counted by: an IPv4 address itself, however it is written, and the first 64 bits of an IPv6
 * address, since one client usually has all the rest for itself.
 */
export function addressKey(address: string): string {
  const version = isIP(address);
  if (version !== 6) return address;
  const { address: short } = new SocketAddress({ address: address.replace(/%.*$/, ''), family: 'ipv6' });
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(short);
  if (mapped) return mapped[1]!;
  const [head = '', tail] = short.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail ? tail.split(':') : [];
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0');
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`;
}
