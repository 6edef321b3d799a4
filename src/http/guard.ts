import { createHash, timingSafeEqual } from 'node:crypto';
import type { EngineRequest } from '../engine/http/request.js';
import { GjallarError } from '../errors.js';

/** Who may look at what is the operator's alone. */
export interface Admin {
  user: string;
  password: string;
}

/** The operator that the configuration names, if it names one. */
export function adminOf(config: { adminUser?: string; adminPassword?: string }): Admin | undefined {
  const { adminUser: user, adminPassword: password } = config;
  return user && password ? { user, password } : undefined;
}

/**
 * Lets the operator through: HTTP basic authentication (RFC 7617). Without an operator everybody gets through.
 * @throws GjallarError ADMIN_ONLY
 */
export function requireAdmin({ headers }: EngineRequest, admin: Admin | undefined): void {
  if (!admin) return;
  const given = /^Basic +([\w+/]+=*)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
  const isRight = isSame(Buffer.from(given, 'base64').toString(), `${admin.user}:${admin.password}`);
  if (!isRight) throw new GjallarError('ADMIN_ONLY');
}

/** Compares in a time that tells nothing of where they differ, nor of their lengths. */
export function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
