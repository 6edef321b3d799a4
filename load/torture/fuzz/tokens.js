import { SignJWT, UnsecuredJWT } from 'jose';

const key = (secret) => new TextEncoder().encode(secret);
const draft = (claims) => new SignJWT({ sub: 'fuzz', ...claims });
const header = { alg: 'HS256' };

/** A token of a user. @param {object} [rooms] what it allows */
export function tokenFor(secret, name, rooms) {
  return draft({ sub: name, rooms }).setProtectedHeader(header).setExpirationTime('1d').sign(key(secret));
}

/** Tokens that the server must reject, each with the expected error code. */
export async function badTokens(secret) {
  const good = await tokenFor(secret, 'fuzz');
  const [head, body, signature] = good.split('.');
  const sign = (claims, protectedHeader = header) =>
    draft(claims).setProtectedHeader(protectedHeader).sign(key(secret));
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const invalid = [
    'x.y.z',
    '..',
    'Bearer x',
    `${head}.${body}.`,
    `${head}.${body}.${signature}x`,
    `${head}.${part({ sub: 'admin' })}.${signature}`,
    new UnsecuredJWT({ sub: 'fuzz' }).encode(),
    ...['none', 'None', 'HS512', 'RS256', '', null, 7, ['HS256']].map((alg) => `${part({ alg })}.${body}.${signature}`),
    `${part({ alg: 'HS256', jwk: { kty: 'oct', k: 'AA' } })}.${body}.${signature}`,
    `${part({ alg: 'HS256', jku: 'http://127.0.0.1:1/', x5u: 'http://127.0.0.1:1/' })}.${body}.${signature}`,
    `${part({ alg: 'HS256', crit: ['exp'] })}.${body}.${signature}`,
    `${'A'.repeat(900)}.${'A'.repeat(900)}.${'A'.repeat(900)}`,
    await draft({}).setProtectedHeader(header).sign(key('another secret of more than thirty-two bytes')),
    await sign({ sub: undefined }),
    await sign({ sub: 'x'.repeat(65) }),
    await sign({ sub: 'half \ud800' }),
    await sign({ sub: { __proto__: null } }),
    await sign({ sub: undefined, name: 'admin' }),
    await sign({ sub: 'admin\u200b' }),
    await sign({ rooms: 'all' }),
    await sign({ rooms: { Join: [] } }),
    await sign({ rooms: { join: ['x'.repeat(130)] } }),
    await sign({ nbf: 4_000_000_000 }),
    ...(await Promise.all(
      ['../../dev/null', "' OR 1=1 --", '__proto__'].map(
        async (kid) => `${part({ alg: 'HS256', kid })}.${body}.${signature}`,
      ),
    )),
  ];
  return [
    ...invalid.map((token) => ({ token, code: 'TOKEN_INVALID' })),
    { token: await sign({ exp: 1 }), code: 'TOKEN_EXPIRED' },
  ];
}
