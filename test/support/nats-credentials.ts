import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

/** The first bytes of the public keys of NATS, which make them begin with O, A and U, and of the seed of a user. */
const prefixes = { operator: 14 << 3, account: 0, user: 20 << 3 } as const;
const SEED_OF_USER = Buffer.of((18 << 3) | ((20 << 3) >> 5), ((20 << 3) & 31) << 3);

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

function base32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? []).map((part) => ALPHABET[Number.parseInt(part.padEnd(5, '0'), 2)]).join('');
}

/** Base 32 with the CRC-16 that NATS appends to its keys. */
function encodeKey(bytes: Buffer): string {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return base32(Buffer.concat([bytes, Buffer.of(crc & 255, crc >> 8)]));
}

const raw = (key: KeyObject, field: 'x' | 'd') =>
  Buffer.from(key.export({ format: 'jwk' })[field] as string, 'base64url');

class Key {
  private readonly pair = generateKeyPairSync('ed25519');
  readonly id: string;

  constructor(type: keyof typeof prefixes) {
    this.id = encodeKey(Buffer.concat([Buffer.of(prefixes[type]), raw(this.pair.publicKey, 'x')]));
  }

  get seed(): string {
    return encodeKey(Buffer.concat([SEED_OF_USER, raw(this.pair.privateKey, 'd')]));
  }

  /** A token of NATS about a subject. */
  issue(subject: Key, name: string, nats: object): string {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = { iat: Math.floor(Date.now() / 1000), iss: this.id, name, sub: subject.id, nats };
    const jti = base32(createHash('sha256').update(JSON.stringify(claims)).digest());
    const text = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part({ ...claims, jti })}`;
    return `${text}.${sign(null, Buffer.from(text), this.pair.privateKey).toString('base64url')}`;
  }
}

/** What an operator of NATS with accounts has: settings of the server, and the credentials of a user. */
export function natsAccount(): { settings: string[]; credentials: string } {
  const [operator, account, user] = [new Key('operator'), new Key('account'), new Key('user')] as const;
  const limits = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
  const accountToken = operator.issue(account, 'chat', { limits, type: 'account', version: 2 });
  const userToken = account.issue(user, 'gjallar', { subs: -1, data: -1, payload: -1, type: 'user', version: 2 });
  return {
    settings: [
      `operator: ${operator.issue(operator, 'operator', { type: 'operator', version: 2 })}`,
      'resolver: MEMORY',
      `resolver_preload: { ${account.id}: ${accountToken} }`,
    ],
    credentials: [
      ...['-----BEGIN NATS USER JWT-----', userToken, '------END NATS USER JWT------', ''],
      ...['-----BEGIN USER NKEY SEED-----', user.seed, '------END USER NKEY SEED------', ''],
    ].join('\n'),
  };
}
