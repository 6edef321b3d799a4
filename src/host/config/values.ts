import { hasControlCharacters } from '../../base/bytes.js';
import { type OptionKind, text } from '../../base/options.js';

/** What variables accept, besides the kinds of `base/options.ts`. */

export const isLine = (given: string) => !hasControlCharacters(given);

export const line = text('a string without control characters', isLine);
export const host = text('an IP address or a host name', /^[0-9A-Za-z.:-]+$/);

/** A duration such as `24h`, converted to ms. */
export function duration(example: string, max = Number.POSITIVE_INFINITY): OptionKind<number> {
  const [units, to] = max <= 86_400_000 ? ['ms, s, m or h', ` up to ${max / 3_600_000}h`] : ['ms, s, m, h or d', ''];
  return {
    accepts: `0, or a number with ${units}${to}, such as ${example}`,
    read(given) {
      const [, amount, unit = 'ms'] = /^(0|\d{1,9}(?=[a-z]))(ms|s|m|h|d)?$/.exec(String(given)) ?? [];
      const ms = Number(amount) * { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }[unit]!;
      return ms <= max ? ms : undefined;
    },
  };
}

export function zeroOr(kind: OptionKind<number>): OptionKind<number> {
  return { accepts: `0, or ${kind.accepts}`, read: (given) => (given === '0' ? 0 : kind.read(given)) };
}

function isUrl(given: string, protocol: RegExp): boolean {
  return URL.canParse(given) && protocol.test(new URL(given).protocol) && new URL(given).hostname !== '';
}

export const httpUrl = text('a URL that begins with https:// or http://', (given) => isUrl(given, /^https?:$/));

export const natsUrls = text(
  'a URL that begins with nats:// or tls://, or several such URLs separated by commas',
  (given) => given.split(',').every((url) => isUrl(url.trim(), /^(nats|tls):$/)),
);
