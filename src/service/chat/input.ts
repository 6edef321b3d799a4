import { z } from 'zod';
import { type ErrorCode, GjallarError } from '../../base/errors.js';
import { MAX_PAGE, type PageQuery } from '../../features/history/index.js';
import { hasInvisibleCharacters, normalForm } from '../accounts/identity.js';

/**
 * Names have no control characters. Half a UTF-16 character could not be expressed in UTF-8, so it would change on the wire and in
 * the history.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const isName = (value: string) => value.isWellFormed() && !/[\u0000-\u001f\u007f]/.test(value);

export const roomName = z.string().overwrite(normalForm).min(1).max(128).refine(isName);
const userName = z
  .string()
  // Before the trim, which would remove U+FEFF.
  .refine((value) => !hasInvisibleCharacters(value))
  .trim()
  .overwrite(normalForm)
  .min(1)
  .max(64)
  .refine(isName);
const text = z
  .string()
  .min(1)
  .max(10_000)
  .refine((value) => value.isWellFormed());

const position = z.int().min(0).optional();
const pageQuery = z.object({
  tag: position,
  after: position,
  before: position,
  limit: z.int().min(1).max(MAX_PAGE).default(50),
});

/** The maximum number of messages in one batch. */
export const MAX_BATCH = 100;
/** A message of the HTTP API. Each of its fields has an error code of its own. */
export const newMessage = z.object({ text, from: userName.default('api') });
/** Its messages are checked one by one. */
const batch = z.array(z.record(z.string(), z.unknown())).min(1).max(MAX_BATCH);
export const postKey = z
  .string()
  .regex(/^[\x20-\x7e]{1,200}$/)
  .optional();

const time = z.int().min(0);
/** What the operator revokes. */
export const revocation = z.object({
  jti: z.string().min(1).max(256).optional(),
  user: userName.optional(),
  before: time.optional(),
  expires: time.optional(),
});

/** @throws GjallarError */
export function read<T>(schema: z.ZodType<T, unknown>, value: unknown, code: ErrorCode, message?: string): T {
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
