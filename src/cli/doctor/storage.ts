import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Config } from '../../config/options.js';
import { connect } from '../../history/archive/database.js';
import { type Finding, fail, ok, reasonOf, warn } from './finding.js';

const MIN_FREE_BYTES = 2 ** 30;
const MIB = 2 ** 20;
const TIMEOUT_MS = 5000;

/** The folder of the history. */
export function checkDataDir({ dataDir, historyTtl, historyStore, redisUrl }: Config): Finding[] {
  const isUsed = historyTtl > 0 && (historyStore === 'sqlite' || (historyStore === 'auto' && !redisUrl));
  if (!isUsed) return [];
  const path = resolve(dataDir);
  let folder = path;
  while (!existsSync(folder)) folder = dirname(folder);
  try {
    if (!statSync(folder).isDirectory()) return [fail(`DATA_DIR "${path}" is no folder. Set DATA_DIR to one.`)];
    accessSync(folder, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(folder);
    const free = bavail * bsize;
    const text = `DATA_DIR "${path}" has ${Math.round(free / MIB)} MiB free`;
    return [free >= MIN_FREE_BYTES ? ok(text) : warn(`${text}. Free some space: a full disk rejects messages.`)];
  } catch (error) {
    return [fail(`DATA_DIR "${path}" cannot be written to: ${reasonOf(error)}. Change its owner or rights.`)];
  }
}

/** The database of the archive. */
export async function checkArchive({ archiveUrl }: Config): Promise<Finding[]> {
  if (!archiveUrl) return [];
  const { knex } = await connect(archiveUrl);
  try {
    await knex.raw('SELECT 1').timeout(TIMEOUT_MS);
    return [ok('the database of ARCHIVE_URL answers')];
  } catch (error) {
    return [fail(`the database of ARCHIVE_URL cannot be used: ${reasonOf(error)}. Check the URL and the database.`)];
  } finally {
    await knex.destroy();
  }
}
