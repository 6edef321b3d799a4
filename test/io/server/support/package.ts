import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../../../support/folder.js';

export const root = fileURLToPath(new URL('../../../..', import.meta.url));

/** A folder with an application's files, and gjallar beside its dependencies as npm would install it. */
export function applicationWith(files: Record<string, string>): string {
  const folder = temporaryFolder();
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  for (const name of readdirSync(join(root, 'node_modules'))) {
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  symlinkSync(root, join(modules, 'gjallar'));
  // What `npm install realtime@npm:socket.io` gives, and a project with dependencies of its own.
  cpSync(join(root, 'node_modules/socket.io'), join(modules, 'realtime'), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}
