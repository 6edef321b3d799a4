// Bundles for users: a process starts in half the time if it reads a few files instead of hundreds. The declarations are
// tsc's, and so is `build`, the single modules that tests use.
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const root = dirname(fileURLToPath(import.meta.url));
const source = join(root, 'src');
const dist = join(root, 'dist');

/** What package.json exports. */
const { exports: exported } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
/** The files that package.json names, and those that a process is started with. */
const entries = [
  'main',
  'index',
  'io/server/register',
  'features/presence/index',
  'features/history/index',
  'features/state/index',
  'cluster/emitter/index',
  'host/run/preload',
  'cluster/hub/thread',
  'features/state/hub-service',
  'features/recovery/hub-service',
  // Loaded when they are needed, by loadPart().
  'features/recovery/index',
];
/**
 * What a process of each kind always loads. Modules that the same kinds load are one file, so that no process reads what
 * it does not use. The chat's primary starts with the same module as its workers; `gjallar run` has one of its own.
 */
const processes = {
  any: ['main'],
  library: ['index'],
  recovery: ['features/recovery/index'],
  hosted: ['io/server/register', 'host/run/preload', 'host/run/application', 'host/runtime/worker'],
  worker: ['cli/service', 'service/chat/application', 'host/runtime/worker'],
  primary: ['cli/service', 'cli/primary'],
  runner: ['cli/run', 'cli/primary'],
  hub: ['cluster/hub/thread'],
};
/**
 * Packages that become a part of the bundle. zod loads the messages of its errors in 60 languages, of which the bundle has
 * none.
 */
const INLINED = ['zod'];

/** The modules that a file imports when it is loaded. */
function importsOf(file) {
  const statements = /^(?:import|export)(?! type)\b[^;]*?from\s*'(\.[^']+)\.js'|^import\s*'(\.[^']+)\.js'/gm;
  return [...readFileSync(file, 'utf8').matchAll(statements)].map(([, from, alone]) =>
    resolve(dirname(file), `${from ?? alone}.ts`),
  );
}

/** The kinds of processes that load a module, by its path. */
function users() {
  const found = new Map();
  for (const [name, files] of Object.entries(processes)) {
    const seen = new Set(files.map((file) => join(source, `${file}.ts`)));
    for (const file of seen) for (const other of importsOf(file)) seen.add(other);
    for (const file of seen) found.set(file, [...(found.get(file) ?? []), name]);
  }
  return found;
}

const known = users();
const entryFiles = entries.map((entry) => join(source, `${entry}.ts`));

/** The file of a module. What only an entry does when it is loaded must stay there. */
function groupOf(id) {
  if (entryFiles.includes(id)) return null;
  const names = known.get(id);
  if (names) return names.includes('any') ? 'common' : `for-${names.join('-')}`;
  return INLINED.find((name) => id.includes(`/node_modules/${name}/`)) ?? null;
}

/** What the licenses of the inlined packages ask for. */
const licenses = {
  name: 'licenses',
  generateBundle() {
    const text = INLINED.map((name) => readFileSync(join(root, 'node_modules', name, 'LICENSE'), 'utf8'));
    this.emitFile({ type: 'asset', fileName: 'licenses.txt', source: `${INLINED.join(', ')}\n\n${text.join('\n\n')}` });
  },
};

/** Removes declarations that users cannot reach, which are larger than the bundle, and what an earlier build has left. */
const rest = {
  name: 'rest',
  writeBundle(_options, bundle) {
    const types = Object.values(exported).flatMap(({ types }) => types ?? []);
    const reached = new Set(types.filter((path) => path.startsWith('./dist/')).map((path) => join(root, path)));
    for (const file of reached) {
      const text = readFileSync(file, 'utf8');
      for (const [, path] of text.matchAll(/(?:from |import |import\(|declare module )["'](\.[^"']+)\.js["']/g)) {
        reached.add(resolve(dirname(file), `${path}.d.ts`));
      }
    }
    for (const name of readdirSync(dist, { recursive: true })) {
      const file = join(dist, name);
      const isOld = /\.js(\.map)?$/.test(name) && !Object.hasOwn(bundle, name);
      if (isOld || (name.endsWith('.d.ts') && !reached.has(file))) rmSync(file);
    }
  },
};

const isOwn = (id) => id.startsWith('.') || id.startsWith('/') || INLINED.some((name) => id.split('/')[0] === name);

// By the API, since the command prints a line for each file.
await build({
  input: Object.fromEntries(entries.map((entry) => [entry, join(source, `${entry}.ts`)])),
  platform: 'node',
  logLevel: 'warn',
  external: (id) => !isOwn(id),
  resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
  tsconfig: false,
  preserveEntrySignatures: 'allow-extension',
  plugins: [licenses, rest],
  output: {
    dir: dist,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunk-[name].js',
    // Only coverage needs maps: the sources are not in the package.
    sourcemap: process.argv.includes('--sourcemap'),
    comments: false,
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [{ debugName: 'processes', name: groupOf }],
    },
  },
});
