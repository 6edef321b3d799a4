import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import { logsOf, segmentsOf } from './read.js';
import { type MessageRow, type StateRow, tables } from './schema.js';

/** The offsets of one statement. */
const RANGE = 5000;

/** A message by its place in the archive. */
export interface ArchivedPlace {
  log: number;
  offset: number;
}

/**
 * Makes a batch that an archiver has read from the history, and not written yet, a conflict: it may have texts that are
 * erased there meanwhile. The archiver then reads the batch again.
 */
export async function rejectBatchesInFlight(knex: Knex): Promise<void> {
  await knex.transaction(async (trx) => {
    // The lock that a writer takes first.
    await trx<StateRow>(tables.state).where('name', 'cursor').update({ until: 0 });
    await trx<StateRow>(tables.state)
      .where('name', 'erasures')
      .update({ value: randomBytes(9).toString('hex') });
  });
}

/** Erases messages of a conversation by their offsets in one epoch. */
export async function eraseOffsets(knex: Knex, hash: string, epoch: string, offsets: readonly number[]) {
  const logs = await logsOf(knex, hash);
  const log = logs.find((one) => one.epoch === epoch);
  const segments = log ? segmentsOf(log, logs) : [];
  const places = offsets.flatMap((offset): ArchivedPlace[] => {
    const segment = segments.find(({ from, to }) => from <= offset && offset <= to);
    return segment ? [{ log: segment.log, offset }] : [];
  });
  return erasePlaces(knex, places);
}

/** Erases all messages of a conversation, of all its epochs. */
export async function eraseConversation(knex: Knex, hash: string): Promise<number> {
  let erased = 0;
  for (const { id, last_offset } of await logsOf(knex, hash)) {
    for (let from = 1; from <= Number(last_offset); from += RANGE) {
      erased += await withText(knex)
        .where('log', id)
        .whereBetween('offset', [from, from + RANGE - 1])
        .update({ sender: '', text: '' });
    }
  }
  return erased;
}

/** Erases messages by their places. */
export async function erasePlaces(knex: Knex, places: readonly ArchivedPlace[]): Promise<number> {
  const byLog = new Map<number, number[]>();
  for (const { log, offset } of places) byLog.set(log, [...(byLog.get(log) ?? []), offset]);
  let erased = 0;
  for (const [log, offsets] of byLog) {
    erased += await withText(knex).where('log', log).whereIn('offset', offsets).update({ sender: '', text: '' });
  }
  return erased;
}

const withText = (knex: Knex) =>
  knex<MessageRow>(tables.messages).where((row) => row.where('sender', '<>', '').orWhere('text', '<>', ''));
