import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';

const source = fileURLToPath(new URL('../src', import.meta.url));

/**
 * What each folder of src may import besides itself. The files at the top put everything together; `base` and `sockets`
 * are shared by all.
 */
const layers: Record<string, readonly string[]> = {
  errors: [],
  base: ['errors'],
  log: ['compat'],
  package: [],
  sockets: [],
  config: ['backplanes', 'errors'],
  engine: ['compat', 'errors'],
  parser: ['compat', 'engine'],
  compat: ['errors'],
  rooms: ['compat', 'engine', 'errors'],
  recovery: ['compat', 'engine', 'errors', 'rooms'],
  backplanes: ['compat', 'engine', 'errors', 'package', 'recovery', 'rooms'],
  cluster: ['backplanes', 'compat', 'engine', 'errors', 'package'],
  http: ['compat', 'engine', 'errors'],
  operations: [...['package', 'backplanes', 'cluster', 'compat', 'engine', 'errors', 'http', 'recovery', 'rooms']],
  runtime: [
    ...['backplanes', 'cluster', 'compat', 'config', 'engine', 'errors', 'http', 'log', 'operations', 'parser'],
    ...['recovery', 'rooms'],
  ],
  server: ['backplanes', 'compat', 'engine', 'errors', 'http', 'parser', 'rooms'],
  run: ['backplanes', 'compat', 'config', 'package', 'rooms', 'runtime', 'server'],
  presence: ['errors', 'rooms'],
  state: ['backplanes', 'compat', 'engine', 'errors', 'rooms'],
  emitter: ['backplanes', 'compat', 'errors', 'rooms'],
  // Nothing above this line knows the chat, which is one application on the runtime.
  accounts: ['errors'],
  history: ['backplanes', 'compat', 'engine', 'errors', 'operations', 'rooms'],
  plain: ['accounts', 'engine', 'errors', 'http'],
  api: ['accounts', 'engine', 'errors', 'http'],
  chat: [
    ...[
      'accounts',
      'api',
      'config',
      'engine',
      'errors',
      'history',
      'http',
      'operations',
      'plain',
      'presence',
      'package',
    ],
    'rooms',
    'runtime',
    'state',
  ],
  cli: [
    ...['chat', 'cluster', 'compat', 'config', 'errors', 'history', 'http', 'log', 'operations', 'runtime'],
    'backplanes',
    'package',
  ],
};

/**
 * Who may touch process.env besides src/config: to hand it over, for what the primary tells its workers, for what
 * uWebSockets.js reads when it is loaded, and for applications that run unmodified.
 */
const environmentReaders = [
  join('cli', 'commands.ts'),
  join('cli', 'primary.ts'),
  join('cli', 'run.ts'),
  join('cli', 'service.ts'),
  join('run', 'preload.ts'),
  join('runtime', 'surroundings.ts'),
  join('compat', 'uws', 'environment.ts'),
];

const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

const imports = new Map<string, { path: string; isLoaded: boolean }[]>(
  files.map((file) => {
    const text = readFileSync(join(source, file), 'utf8');
    const statements = text.matchAll(/^(?:import|export)\s([^'";]*?\sfrom\s+)?'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm);
    return [
      file,
      [...statements].map(([statement, names = '', from, dynamic]) => ({
        isLoaded:
          dynamic === undefined &&
          !/^(?:import|export) type\b/.test(statement) &&
          !/^\{(\s*type\s+[^,}]+,?)+\s*\}/.test(names),
        path: relative(source, join(source, dirname(file), (from ?? dynamic)!)).replace(/\.js$/, '.ts'),
      })),
    ];
  }),
);

/** The folder of a file, or the name of one at the top. */
function layerOf(file: string): string {
  const [first, ...rest] = file.split(sep);
  return rest.length > 0 ? first! : first!.replace(/(\.d)?\.ts$/, '');
}

describe('imports', () => {
  const lower = files.filter((file) => layerOf(file) in layers);

  test('are all found, and lead to files that are there', () => {
    expect(files.length).toBeGreaterThan(30);
    for (const [file, found] of imports) {
      for (const { path } of found) expect({ file, path, isThere: imports.has(path) }).toMatchObject({ isThere: true });
    }
  });

  test('of each folder of src are held to something here', () => {
    const folders = files.filter((file) => file.includes(sep)).map(layerOf);
    expect([...new Set(folders)].filter((folder) => !(folder in layers))).toEqual([]);
  });

  test('point one way', () => {
    const upward = lower.flatMap((file) => {
      const allowed = [layerOf(file), 'base', 'sockets', ...layers[layerOf(file)]!];
      const wrong = imports.get(file)!.filter(({ path }) => !allowed.includes(layerOf(path)));
      return wrong.map(({ path }) => `${file} imports ${path}`);
    });
    expect(upward).toEqual([]);
  });

  test('never lead back to where they began, but for those of types', () => {
    const cycles: string[] = [];
    const state = new Map<string, 'open' | 'done'>();
    const visit = (file: string, path: string[]): void => {
      if (state.get(file) === 'open') cycles.push([...path.slice(path.indexOf(file)), file].join(' → '));
      if (state.has(file)) return;
      state.set(file, 'open');
      for (const next of imports.get(file) ?? []) if (next.isLoaded) visit(next.path, [...path, file]);
      state.set(file, 'done');
    };
    for (const file of files) visit(file, []);
    expect(cycles).toEqual([]);
  });
});

test('nothing but the configuration reads the environment', () => {
  const readers = files.filter((file) => /\bprocess\.env\b/.test(readFileSync(join(source, file), 'utf8')));
  expect(readers.filter((file) => layerOf(file) !== 'config' && !environmentReaders.includes(file))).toEqual([]);
});
