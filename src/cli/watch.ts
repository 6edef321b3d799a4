import { existsSync, type FSWatcher, readdirSync, statSync, watch } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { setTimeout } from '../base/clock.js';

/** Files of code. An application may write others itself, such as its data as JSON, and must not reload each time. */
const SOURCES = new Set(['.js', '.mjs', '.cjs', '.jsx', '.ts', '.mts', '.cts', '.tsx']);
/** An editor writes several times, and a compiler several files. In ms. */
const PAUSE_MS = 100;
/** Each is a watch of the system, of which a user has a limited number. */
const MAX_FOLDERS = 1000;

/** The folder with the package.json of a file, or else the file's own. */
export function packageFolderOf(file: string): string {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder;
    if (folder === dirname(folder)) return dirname(file);
  }
}

/**
 * Watches the sources in a folder and in those below, except `node_modules` and folders whose names begin with a dot.
 * @param onChange called with the path of a file that has changed, at most once in 100 ms
 * @param onMissed called with the first folder that cannot be watched
 */
export class SourceWatch {
  private readonly watchers = new Map<string, FSWatcher>();
  private isPending = false;
  private hasMissed = false;

  constructor(
    root: string,
    private readonly onChange: (file: string) => void,
    private readonly onMissed: (folder: string, error: NodeJS.ErrnoException) => void = () => {},
  ) {
    this.add(root);
  }

  /** Whether there are more folders than are watched, which are 1,000. */
  get isPartial(): boolean {
    return this.watchers.size >= MAX_FOLDERS;
  }

  close(): void {
    for (const folder of this.watchers.keys()) this.forget(folder);
  }

  private add(folder: string): void {
    if (this.watchers.has(folder) || this.isPartial) return;
    try {
      if (!statSync(folder).isDirectory()) return;
      const watcher = watch(folder, (_event, name) => name && this.changed(folder, name));
      watcher.on('error', () => this.forget(folder));
      this.watchers.set(folder, watcher);
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        if (entry.isDirectory() && isWatched(entry.name)) this.add(join(folder, entry.name));
      }
    } catch (thrown) {
      const error = thrown as NodeJS.ErrnoException;
      this.forget(folder);
      // One that is gone again has no changes.
      if (this.hasMissed || error.code === 'ENOENT') return;
      this.hasMissed = true;
      this.onMissed(folder, error);
    }
  }

  private changed(folder: string, name: string): void {
    const path = join(folder, name);
    if (SOURCES.has(extname(name))) return this.report(path);
    if (!isWatched(name)) return;
    // A folder that was removed and made again is another one.
    this.forget(path);
    this.add(path);
  }

  private report(path: string): void {
    if (this.isPending) return;
    this.isPending = true;
    setTimeout(() => {
      this.isPending = false;
      this.onChange(path);
    }, PAUSE_MS);
  }

  private forget(folder: string): void {
    this.watchers.get(folder)?.close();
    this.watchers.delete(folder);
  }
}

const isWatched = (name: string) => name !== 'node_modules' && !name.startsWith('.');
