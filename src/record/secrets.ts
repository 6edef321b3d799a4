import { createHmac, randomBytes } from 'node:crypto';

/**
 * Names of fields, parameters and headers that hold a secret: in lower case, and without what is no letter or digit.
 * Better one name too many than one too few.
 */
const secretName = new RegExp(
  [
    'pass(word|wd|phrase|code|key)|passwd|pwd|secret|token|jwt|bearer|credential|cookie|session|signature|otp|csrf|xsrf|nonce',
    'api_?key|(access|private|public|signing|encryption|license|client|shared|master|ssh|service|account|account_?)key',
    'auth(?!or(?!i[sz]))|log[io]n|signin|signup|oauth|saml|mfa|2fa|captcha|pkce|codeverifier|webhook',
    'sessid|sid$|ssn|socialsecurity|creditcard|cardnumber|cvv|cvc|iban|connectionstring|databaseurl|dsn',
    '^(pass|pin|sid|sig|key|code|state|hash|mac|hmac|salt|seed|mnemonic|pw)$',
  ].join('|'),
);

/** A name in a text that a value follows: of a query, a cookie, a header, JSON or an assignment. */
const assignment = /(?<![\w$%.[\]-])([\w$%.[\]-]+)(["'\\]*\s*(?:=|:|%3[ad])\s*(\\*["'])?)/gi;
/** A JSON Web Token, signed, unsigned or encrypted. */
const jwt = /\bey[JK][\w-]{6,}(\.[\w-]*){1,4}/g;
const scheme = /\b(bearer|basic|digest|negotiate|apikey|token)(\s+|%20|\+)([\w.~+/=:-]{6,})/gi;
const userInfo = /(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@?#]+@/gi;
/** A long run without spaces that has both letters and digits: a key, a hash, a session id, a UUID. */
const longRun = /[\w+/=~.-]{24,}/g;
const pem = /-----BEGIN [^-]+-----[\s\S]*?(-----END [^-]+-----|$)/g;

/** Deeper values are removed, and so are texts that are longer, in characters. */
const MAX_DEPTH = 12;
const MAX_TEXT = 10_000;

export function isSecretName(name: string): boolean {
  const plain = decoded(name)
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
  return secretName.test(plain);
}

/**
 * Replaces secrets in values that clients send. Equal secrets have equal replacements within one recording, so that a
 * room whose name is one remains one room. The key is random and never leaves the process.
 */
export class Secrets {
  private readonly key = randomBytes(32);
  /** How many values were replaced. */
  removed = 0;

  /** What stands for a secret. */
  replace(secret: unknown): string {
    this.removed++;
    const text = typeof secret === 'string' ? secret : (JSON.stringify(secret) ?? 'undefined');
    return `removed-${createHmac('sha256', this.key).update(text).digest('hex').slice(0, 12)}`;
  }

  /** The arguments of an event. If its name speaks of a secret, all texts and numbers are secrets. */
  args(event: string, args: readonly unknown[]): unknown[] {
    return isSecretName(event) ? args.map((one) => this.hide(one, 0)) : (this.value(args, 0) as unknown[]);
  }

  /** A value without its secrets. */
  value(value: unknown, depth = 0): unknown {
    if (typeof value === 'string') return this.text(value);
    const bytes = bytesIn(value);
    if (bytes !== undefined) return { $bytes: bytes };
    if (typeof value !== 'object' || value === null) return value;
    if (depth > MAX_DEPTH) return this.replace(value);
    if (Array.isArray(value)) return this.list(value, depth);
    const entries = Object.entries(value);
    // { name: 'password', value: '…' }: the name is a value itself.
    const isNamed = entries.some(([, one]) => typeof one === 'string' && one.length < 40 && isSecretName(one));
    return Object.fromEntries(
      entries.map(([key, one]) => {
        const isSecret = isSecretName(key) || (isNamed && !(typeof one === 'string' && isSecretName(one)));
        return [this.text(key), isSecret ? this.hide(one, depth + 1) : this.value(one, depth + 1)];
      }),
    );
  }

  /** In `['password', '…']`, the name comes first. */
  private list(list: readonly unknown[], depth: number): unknown[] {
    return list.map((one, index) => {
      const before = list[index - 1];
      const isSecret = typeof before === 'string' && before.length < 40 && isSecretName(before);
      return isSecret ? this.hide(one, depth + 1) : this.value(one, depth + 1);
    });
  }

  /** Replaces everything but the form of a value, and what is true, false or nothing. */
  hide(value: unknown, depth = 0): unknown {
    if (value === null || value === undefined || typeof value === 'boolean') return value;
    const bytes = bytesIn(value);
    if (bytes !== undefined) return { $bytes: bytes };
    if (typeof value !== 'object' || depth > MAX_DEPTH) return this.replace(value);
    if (Array.isArray(value)) return value.map((one) => this.hide(one, depth + 1));
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [this.text(key), this.hide(one, depth + 1)]));
  }

  /** A text without the secrets in it. */
  text(text: string): string {
    if (text.length > MAX_TEXT) return this.replace(text);
    const json = this.json(text);
    if (json !== undefined) return json;
    return this.assigned(text)
      .replace(pem, (all) => this.replace(all))
      .replace(userInfo, (all, start: string) => `${start}${this.replace(all)}@`)
      .replace(jwt, (all) => this.replace(all))
      .replace(scheme, (_all, name: string, space: string, secret: string) => `${name}${space}${this.replace(secret)}`)
      .replace(longRun, (all) => (isRandom(all) ? this.replace(all) : all));
  }

  /** Removes the values behind secret names: up to the quote that closes, to the next parameter, or to the end of the line. */
  private assigned(text: string): string {
    let clean = '';
    let done = 0;
    assignment.lastIndex = 0;
    for (let match = assignment.exec(text); match; match = assignment.exec(text)) {
      const [, name, , quote] = match;
      if (!isSecretName(name!)) continue;
      const from = assignment.lastIndex;
      const closing = quote === undefined ? -1 : closingOf(text, quote, from);
      const others = text.slice(from).search(/[&\r\n]/);
      const to = closing !== -1 ? closing : others === -1 || quote !== undefined ? text.length : from + others;
      if (to > from) clean += text.slice(done, from) + this.replace(text.slice(from, to));
      else clean += text.slice(done, from);
      done = to;
      assignment.lastIndex = to;
    }
    return clean + text.slice(done);
  }

  /** JSON within a text keeps its form, so that its fields are found. */
  private json(text: string): string | undefined {
    if (!/^\s*[[{"]/.test(text)) return undefined;
    try {
      return JSON.stringify(this.value(JSON.parse(text), 1));
    } catch {
      return undefined;
    }
  }

  /** A path with its query. The names of parameters stay, unless they look like a secret themselves. */
  path(path: string): string {
    const [before, query] = split(path, '?');
    const clean = before
      .split('/')
      .map((part) => this.encoded(part))
      .join('/');
    if (query === undefined) return clean;
    const parameters = query.split('&').map((parameter) => {
      const [name, value] = split(parameter, '=');
      if (value === undefined) return this.encoded(name);
      const shown = isSecretName(name) ? this.replace(value) : this.encoded(value);
      return `${this.encoded(name)}=${shown}`;
    });
    return `${clean}?${parameters.join('&')}`;
  }

  /** A part of a URL: secrets are looked for in what it stands for. */
  private encoded(part: string): string {
    const plain = decoded(part);
    const clean = this.text(plain);
    return clean === plain ? part : encodeURIComponent(clean);
  }

  /** The parameters of a handshake. */
  query(query: Readonly<Record<string, unknown>>): Record<string, string> {
    return Object.fromEntries(
      Object.entries(query).map(([name, value]) => [
        this.text(name),
        isSecretName(name) ? this.replace(value) : this.text(String(value)),
      ]),
    );
  }
}

/**
 * Where a quoted value ends: at the next quote that is escaped as often as the one that opens it. One that is escaped more
 * often belongs to the value.
 * @param quote the quote that opens it, with the backslashes before it
 */
function closingOf(text: string, quote: string, from: number): number {
  const escapes = quote.length - 1;
  const mark = quote.at(-1)!;
  for (let at = text.indexOf(mark, from); at !== -1; at = text.indexOf(mark, at + 1)) {
    let start = at;
    while (start > from && text[start - 1] === '\\') start--;
    if (at - start === escapes) return start;
  }
  return -1;
}

function isRandom(text: string): boolean {
  if (text.startsWith('removed-')) return false;
  return /\d/.test(text) && /[A-Za-z]/.test(text);
}

function bytesIn(value: unknown): number | undefined {
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer ? value.byteLength : undefined;
}

/** As often as it was encoded, but for a bound. */
function decoded(text: string): string {
  let plain = text;
  for (let round = 0; round < 3 && plain.includes('%'); round++) {
    try {
      plain = decodeURIComponent(plain);
    } catch {
      return plain;
    }
  }
  return plain;
}

function split(text: string, by: string): [string, string | undefined] {
  const at = text.indexOf(by);
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
