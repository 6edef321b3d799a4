/** Tokens that are not accepted: one by its id, or all that were issued before a time, of one user or of all. */
export interface Revocation {
  /** Names the tokens: `jti:…`, `user:…` or `all`. A later revocation with the same id widens this one. */
  id: string;
  /** Tokens issued before this time are revoked, in ms since 1970; undefined for one with a token's id. */
  before?: number;
  /** When it was revoked, in ms since 1970. */
  at: number;
  /** When the tokens have expired by themselves, in ms since 1970. The revocation is forgotten then. */
  expires: number;
}

/** What is known about one id. Lifting a revocation leaves its record, so that who knows only the revocation does not bring it back. */
export interface RevocationRecord extends Revocation {
  /** Revocations up to this time were lifted, in ms since 1970. */
  lifted?: number;
}

export const isInForce = ({ at, lifted }: RevocationRecord): boolean => lifted === undefined || at > lifted;

/** Combines what two sides know about one id: neither may weaken what the other one has revoked. */
export function combine(one: RevocationRecord, other: RevocationRecord = one): RevocationRecord {
  const lifted = later(one.lifted, other.lifted);
  const [before, otherBefore] = [one, other].map((side) => (isInForce({ ...side, lifted }) ? side.before : undefined));
  const [at, expires] = [Math.max(one.at, other.at), Math.max(one.expires, other.expires)];
  return { id: one.id, before: later(before, otherBefore), at, expires, lifted };
}

const later = (one: number | undefined, other: number | undefined) => ((one ?? -1) > (other ?? -1) ? one : other);

/** Whether one who knows `known` lacks nothing of `record`. */
export const isCovered = (record: RevocationRecord, known: RevocationRecord | undefined): boolean =>
  known !== undefined && JSON.stringify(combine(known, record)) === JSON.stringify(combine(known));
