import * as z from 'zod/mini';
import { type ErrorCode, GjallarError } from '../../base/errors.js';
import { MAX_PAGE, type PageQuery } from '../../features/history/index.js';
import { hasInvisibleCharacters, normalForm } from '../accounts/identity.js';

/**
 * Names have no control characters. Half a UTF-16 character could not be expressed in UTF-8, so it would change on the wire and in
 * the history.
 */
const isName = (value: string) => value.isWellFormed() && !/\p{Cc}/u.test(value);

/** A page shows several spaces in a row as one, and U+0020 with U+3000 looks the same in either order. */
const hasSingleSpaces = (value: string) => !/[ \u3000]{2}/.test(value);

const normal = z.overwrite(normalForm);
const name = z.refine<string>(isName);
const least = z.minLength(1);

export const roomName = z.string().check(normal, least, z.maxLength(128), name);
export const userName = z.string().check(
  // Before the trim, which would remove U+FEFF.
  z.refine<string>((value) => !hasInvisibleCharacters(value)),
  z.trim(),
  normal,
  least,
  z.maxLength(64),
  name,
  z.refine<string>(hasSingleSpaces),
);
const text = z.string().check(
  least,
  z.maxLength(10_000),
  z.refine<string>((value) => value.isWellFormed()),
);

const position = z.optional(z.int().check(z.gte(0)));
export const pageQuery = z.object({
  tag: position,
  after: position,
  before: position,
  limit: z._default(z.int().check(z.gte(1), z.lte(MAX_PAGE)), 50),
});

/** The maximum number of messages in one batch. */
export const MAX_BATCH = 100;
/** A message of the HTTP API. Each of its fields has an error code of its own. */
export const newMessage = z.object({ text, from: z._default(userName, 'api') });
/** Its messages are checked one by one. */
const batch = z.array(z.record(z.string(), z.unknown())).check(least, z.maxLength(MAX_BATCH));
export const postKey = z.optional(z.string().check(z.regex(/^[\x20-\x7e]{1,200}$/)));

/** What the operator revokes. */
export const revocation = z.object({
  jti: z.optional(z.string().check(least, z.maxLength(256))),
  user: z.optional(userName),
  before: position,
  expires: position,
});

/** @throws GjallarError */
export function read<T>(schema: z.ZodMiniType<T, unknown>, value: unknown, code: ErrorCode, message?: string): T {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new GjallarError(code, message);
  return parsed.data;
}

/** @throws GjallarError BAD_ROOM */
export function readRoom(value: unknown): string {
  return read(roomName, value, 'BAD_ROOM');
}

/** @throws GjallarError BAD_TEXT */
export function readText(value: unknown): string {
  return read(text, value, 'BAD_TEXT');
}

/** @throws GjallarError BAD_NAME */
export function readName(value: unknown): string {
  return read(userName, value, 'BAD_NAME');
}

/** The part of a conversation to read. @throws GjallarError BAD_PAGE */
export function readPageQuery(value: unknown): PageQuery {
  return read(pageQuery, value, 'BAD_PAGE');
}

/** The fields of an object that a client sent. @throws GjallarError BAD_INPUT */
export function readObject(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new GjallarError('BAD_INPUT');
  return value as Record<string, unknown>;
}

/** The messages of a batch; undefined if the input is one message. @throws GjallarError BAD_INPUT, BAD_BATCH */
export function readBatch(value: unknown): Record<string, unknown>[] | undefined {
  const { messages } = readObject(value);
  return messages === undefined ? undefined : read(batch, messages, 'BAD_BATCH');
}

/** @throws GjallarError BAD_KEY */
export function readPostKey(value: unknown): string | undefined {
  return read(postKey, value, 'BAD_KEY');
}
