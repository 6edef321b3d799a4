import { z } from 'zod';
import { hasControlCharacters } from '../../base/bytes.js';
import { readNatsUrls } from '../../cluster/backplanes/nats/address.js';

/** Parses a variable; the input is undefined if the variable is unset or empty. */
export type Value<T> = z.ZodType<T, string | undefined>;

export function integer(min: number, max: number, fallback: number): Value<number> {
  return z
    .string()
    .regex(/^\d{1,15}$/)
    .default(String(fallback))
    .transform(Number)
    .pipe(z.number().int().min(min).max(max));
}

/** An integer, or undefined if the variable is unset. */
export function optionalInteger(min: number, max: number): Value<number | undefined> {
  return z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
    .pipe(z.number().int().min(min).max(max))
    .optional();
}

export function text(): Value<string | undefined> {
  return z.string().optional();
}

/** A string without control characters. */
export function line(): Value<string | undefined>;
export function line(fallback: string): Value<string>;
export function line(fallback?: string): Value<string | undefined> {
  return text()
    .refine((value) => !hasControlCharacters(value ?? ''))
    .transform((value) => value ?? fallback);
}

export function matching(pattern: RegExp): Value<string | undefined> {
  return z.string().regex(pattern).optional();
}

export function oneOf<const T extends string>(values: readonly T[], fallback: NoInfer<T>): Value<T> {
  return z.enum(values).default(fallback);
}

/** `true` or `false`. */
export function flag(fallback: boolean): Value<boolean> {
  return oneOf(['true', 'false'], fallback ? 'true' : 'false').transform((value) => value === 'true');
}

/** A duration such as `24h`, converted to ms. */
export function duration(fallback: string): Value<number> {
  return z
    .string()
    .regex(/^(0|\d{1,9}(ms|s|m|h|d))$/)
    .default(fallback)
    .transform((value) => Number.parseInt(value, 10) * (units[value.replace(/^\d+/, '')] ?? 1));
}

const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** One or more URLs, separated by commas. */
export function redisUrls(): Value<string | undefined> {
  const one = z.url({ protocol: /^rediss?$/ });
  return text().refine(
    (value) => value === undefined || value.split(',').every((url) => one.safeParse(url.trim()).success),
  );
}

/** One or more URLs of NATS, separated by commas. */
export function natsUrls(): Value<string | undefined> {
  return text().refine((value) => value === undefined || readNatsUrls(value) !== undefined);
}

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/(\*\.)?[^/\s*]+$/;

/** A list of origins, separated by commas; `*` is allowed, and `*.` in the place of a subdomain. */
export function origins(): Value<string[] | undefined> {
  return z
    .string()
    .transform((value) => value.split(',').map((origin) => origin.trim()))
    .refine((origins) => origins.every((origin) => origin === '*' || ORIGIN.test(origin)))
    .optional();
}

/** A token bucket: it holds `amount`, and refills by `amount` every `per` ms. */
interface Rate {
  amount: number;
  per: number;
}

export type RateLimit = { [what in 'events' | 'bytes' | 'connections']?: Rate };

/** A list such as `events=50/s,connections=60/m`, or `off`. */
export function rates(fallback: string): Value<RateLimit> {
  return z
    .string()
    .refine((value) => readRates(value) !== undefined)
    .default(fallback)
    .transform((value) => readRates(value)!);
}

/** A list of host names without ports, separated by commas. */
export function hosts(): Value<string[] | undefined> {
  return z
    .string()
    .transform((value) => value.split(',').map((host) => host.trim().toLowerCase()))
    .refine((list) => list.every((host) => /^([a-z0-9.-]+|\[[0-9a-f:.]+\])$/.test(host)))
    .optional();
}

/** Returns undefined if the list is malformed. */
function readRates(list: string): RateLimit | undefined {
  const limits: RateLimit = {};
  if (list === 'off') return limits;
  for (const part of list.split(',')) {
    const found = /^ *(events|bytes|connections)=([1-9]\d{0,11})\/(\d{0,6})(ms|s|m|h) *$/.exec(part);
    const [, what, amount, count, unit = ''] = found ?? [];
    const per = Number(count || 1) * (units[unit] ?? 0);
    if (per === 0 || what! in limits) return undefined;
    limits[what as keyof RateLimit] = { amount: Number(amount), per };
  }
  return limits;
}
