import { createHash, timingSafeEqual } from 'node:crypto';
import { GjallarError } from '../errors.js';

/** The operator's account. */
export interface Admin {
  user: string;
  password: string;
}

/** The operator's account from the configuration, if there is one. */
export function adminOf(config: { adminUser?: string; adminPassword?: string }): Admin | undefined {
  const { adminUser: user, adminPassword: password } = config;
  return user && password ? { user, password } : undefined;
}

/**
 * Requires the operator, by HTTP basic authentication (RFC 7617). Without an operator's account, all requests pass.
 * @throws GjallarError ADMIN_ONLY
 */
export function requireAdmin(
  { headers }: { readonly headers: { readonly authorization?: string | undefined } },
  admin: Admin | undefined,
): void {
  if (!admin) return;
  const given = /^Basic +([\w+/]+=*)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
  const isRight = isSame(Buffer.from(given, 'base64').toString(), `${admin.user}:${admin.password}`);
  if (!isRight) throw new GjallarError('ADMIN_ONLY');
}

/** Compares two strings. The time it takes reveals neither where they differ nor their lengths. */
export function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
