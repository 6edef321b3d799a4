import { isIP, SocketAddress } from 'node:net';
import { Tally } from '../../base/tally.js';
import type { Clock } from '../clock.js';
import { Allowances, type Rate } from './rates.js';

/** A client that counts for its address. The limits keep the key of the address here. */
export interface CountedClient {
  countedAs: string | undefined;
}

/** Limits the clients that one address may have at the same time on this worker, and its rate of new ones. */
export class AddressLimits {
  private readonly rates: Allowances | undefined;
  private readonly counts = new Tally<string>();
  /** Requests on this worker that wait for their responses, by address. */
  private readonly requests = new Tally<string>();

  private constructor(
    private readonly maxClients: number,
    rate: Rate | undefined,
    private readonly clock: Clock,
  ) {
    this.rates = rate && new Allowances(rate);
  }

  /** @param maxClients maximum number of clients of one address; 0 is no limit */
  static of(maxClients: number, rate: Rate | undefined, clock: Clock): AddressLimits | undefined {
    return maxClients > 0 || rate ? new AddressLimits(maxClients, rate, clock) : undefined;
  }

  /** Checks a new client before its handshake. Returns the limit that rejects it. */
  checkConnectionRate(address: string): 'RATE_LIMITED' | 'TOO_MANY_CONNECTIONS' | undefined {
    const key = addressKey(address);
    if (this.isFull(key)) return 'TOO_MANY_CONNECTIONS';
    if (!this.rates) return undefined;
    // A rejected attempt costs nothing, so a client that keeps trying connects as often as the limit allows.
    const now = this.clock.now();
    const allowance = this.rates.of(key, now);
    if (!allowance.has(1, now)) return 'RATE_LIMITED';
    allowance.consume(1, now);
    return undefined;
  }

  /** Counts a new client. Returns false if its address has reached the limit meanwhile. */
  enter(client: CountedClient, address: string): boolean {
    if (this.maxClients === 0) return true;
    const key = addressKey(address);
    if (this.isFull(key)) return false;
    this.add(client, key);
    return true;
  }

  /** Counts a client that another worker has handed over. */
  adopt(client: CountedClient, address: string): void {
    if (this.maxClients > 0) this.add(client, addressKey(address));
  }

  /** Counts a request that waits for its response. Returns false if too many requests of its address are waiting. */
  enterRequest(exchange: { onComplete?: (() => void) | undefined }, address: string): boolean {
    if (this.maxClients === 0) return true;
    const key = addressKey(address);
    if (this.requests.of(key) >= this.maxClients) return false;
    this.requests.add(key);
    exchange.onComplete = () => this.requests.remove(key);
    return true;
  }

  leave(client: CountedClient): void {
    const key = client.countedAs;
    if (key === undefined) return;
    client.countedAs = undefined;
    this.counts.remove(key);
  }

  private add(client: CountedClient, key: string): void {
    client.countedAs = key;
    this.counts.add(key);
  }

  private isFull(key: string): boolean {
    return this.maxClients > 0 && this.counts.of(key) >= this.maxClients;
  }
}

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
  // A connection asks several times in a row.
  if (address !== lastAddress) {
    lastKey = keyOf(address);
    lastAddress = address;
  }
  return lastKey;
}

let lastAddress = '';
let lastKey = '';

function keyOf(address: string): string {
  const short = canonicalAddress(address);
  if (isIP(short) !== 6) return short;
  const [head = '', tail] = short.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail ? tail.split(':') : [];
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0');
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`;
}
