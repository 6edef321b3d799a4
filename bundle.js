// Bundles for users: a process starts in half the time if it reads a few files instead of hundreds. The declarations are
// tsc's, and so is `build`, the single modules that tests use.
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { minifySync } from 'rolldown/experimental';
import { parseAst } from 'rolldown/parseAst';
import { openApi } from './build/service/api/document.js';
import { reachable } from './declarations.js';

const root = dirname(fileURLToPath(import.meta.url));
const source = join(root, 'src');
const dist = join(root, 'dist');

/** What package.json exports, and what the program says of itself. */
const { exports: exported, version, homepage } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
/** The files that package.json names, and those that a process is started with. */
const entries = [
  'main',
  'index',
  'io/server/register',
  'features/presence/index',
  'features/history/index',
  'features/state/index',
  'io/http/index',
  'io/plain/index',
  'cluster/emitter/index',
  'cluster/backplanes/pub-sub',
  'host/run/preload',
  'cluster/hub/thread',
  'features/state/hub-service',
  'features/recovery/hub-service',
  // Loaded when they are needed, by requireHere().
  'features/recovery/index',
  'engine/node/app',
];
/**
 * What a process of each kind always loads. Modules that the same kinds load are one file, so that no process reads what
 * it does not use. The chat's primary starts with the same module as its workers; `gjallar run` has one of its own.
 */
const processes = {
  any: ['main'],
  library: ['index'],
  nodeApps: ['engine/node/app'],
  recovery: ['features/recovery/index'],
  hosted: ['io/server/register', 'host/run/preload', 'host/run/application', 'host/runtime/worker'],
  worker: ['cli/service', 'service/chat/application', 'host/runtime/worker'],
  primary: ['cli/service', 'cli/primary'],
  runner: ['cli/run', 'cli/primary'],
  hub: ['cluster/hub/thread'],
  stateHub: ['features/state/hub-service'],
  recoveryHub: ['features/recovery/hub-service'],
  state: ['features/state/index'],
  history: ['features/history/index'],
  archive: ['features/history/archive/archiving'],
  presence: ['features/presence/index'],
  http: ['io/http/index'],
  plain: ['io/plain/index'],
  emitter: ['cluster/emitter/index'],
};
/** What all of these load is small, and one file for all processes. */
const MOST = ['library', 'runner', 'hub'];
/** Packages that become a part of the bundle, which has only what is used of them. */
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
const isCommon = (names) => names.includes('any') || MOST.every((name) => names.includes(name));

/** The part of the source that a module belongs to, which stack traces show as the name of a file. */
function partOf(file) {
  const [room, folder] = relative(source, file).split('/');
  return ['cluster', 'features'].includes(room) ? basename(folder, '.ts') : room;
}

/** Map.groupBy(), which Node.js 20 lacks. */
function groupBy(values, keyOf) {
  const groups = new Map();
  for (const value of values) groups.set(keyOf(value), [...(groups.get(keyOf(value)) ?? []), value]);
  return groups;
}

/**
 * The names of the files, by the kinds of processes that load them: the part that most of their code comes from, and its
 * largest module.
 */
function fileNames() {
  const groups = groupBy(
    [...known].filter(([file, names]) => !entryFiles.includes(file) && !isCommon(names)),
    ([, names]) => String(names),
  );
  const largest = (sizes) => [...sizes].sort(([, one], [, other]) => other - one)[0][0];
  const sum = (total, [file]) => total + readFileSync(file).length;
  const named = new Map();
  for (const [names, modules] of groups) {
    const parts = groupBy(modules, ([file]) => partOf(file));
    const part = largest([...parts].map(([name, within]) => [name, within.reduce(sum, 0)]));
    const module = basename(largest(parts.get(part).map((entry) => [entry[0], sum(0, entry)])), '.ts');
    const plain = module === 'index' || module === part ? part : `${part}-${module}`;
    named.set(names, [...named.values()].includes(plain) ? `${plain}-of-${names.replaceAll(',', '-')}` : plain);
  }
  return named;
}

const entryFiles = entries.map((entry) => join(source, `${entry}.ts`));

const fileNameOf = fileNames();

/** The file of a module. What only an entry does when it is loaded must stay there. */
function groupOf(id) {
  if (entryFiles.includes(id)) return null;
  const names = known.get(id);
  if (names) return isCommon(names) ? 'common' : fileNameOf.get(String(names));
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

/** Cuts the declarations to what users can reach, and removes what an earlier build has left. */
const rest = {
  name: 'rest',
  writeBundle(_options, bundle) {
    const types = Object.values(exported).flatMap(({ types, default: other }) => types ?? other?.types ?? []);
    const reached = reachable(types.filter((path) => path.startsWith('./dist/')).map((path) => join(root, path)));
    for (const name of readdirSync(dist, { recursive: true })) {
      const file = join(dist, name);
      const isOld = /\.js(\.map)?$/.test(name) && !Object.hasOwn(bundle, name);
      if (isOld || (name.endsWith('.d.ts') && !reached.has(file))) rmSync(file);
    }
    for (const [file, text] of reached) writeFileSync(file, text);
  },
};

/** Files that load each other would see what the other one has not defined yet. */
const acyclic = {
  name: 'acyclic',
  generateBundle(_options, bundle) {
    const visit = (file, path) => {
      if (path.includes(file)) throw new Error(`files load each other: ${[...path, file].join(' → ')}`);
      for (const next of bundle[file]?.imports ?? []) visit(next, [...path, file]);
    };
    for (const file of Object.keys(bundle)) visit(file, []);
  },
};

/** Only coverage needs maps: the sources are not in the package. */
const sourcemap = process.argv.includes('--sourcemap');

const BODIES = ['Program', 'BlockStatement', 'ClassBody', 'SwitchCase', 'StaticBlock'];

/**
 * Makes the code small, and keeps what stack traces and profiles show: each statement has a line of its own, and functions,
 * classes and members have their names.
 */
function compact(code, name) {
  const options = { compress: false, mangle: { toplevel: true, keepNames: true }, codegen: { removeWhitespace: true } };
  const { code: text, errors } = minifySync(name, code, { module: false, ...options });
  if (errors.length > 0) throw new Error(`${name}: ${errors[0].message}`);
  const starts = [];
  const visit = (node) => {
    if (BODIES.includes(node?.type)) starts.push(...[node.body ?? node.consequent].flat().map(({ start }) => start));
    if (typeof node === 'object' && node) for (const child of Object.values(node)) visit(child);
  };
  visit(parseAst(text, { sourceType: 'script', lang: 'js' }));
  starts.sort((one, other) => one - other);
  return starts.map((start, index) => text.slice(index === 0 ? 0 : start, starts[index + 1])).join('\n');
}

/** The names that a list of an import or export statement gives: `a as b, c`. */
const namesIn = (list) =>
  [...list.matchAll(/([\w$]+)(?: as ([\w$]+))?/g)].map(([, name, alias = name]) => ({ name, alias }));

/** Where the code itself is. A bundle that is an ES module has no `__filename`, so there it is the program. */
const HERE = 'require("node:url").pathToFileURL(typeof __filename === "undefined" ? process.argv[1] : __filename).href';

/**
 * Makes CommonJS of the ES modules that Rolldown writes: every tool loads it, with `require()` and `import` alike, and a
 * process has one copy. Rolldown's own CommonJS reads each import anew from a getter, also on the way of every message.
 */
const commonJs = {
  name: 'to-common-js',
  renderChunk(code, { fileName }) {
    const converted = code
      .replace(/^import (?:\* as )?([\w$]+) from ("[^"]+");$/gm, 'const $1 = require($2);')
      .replace(/^import (?:([\w$]+), )?\{(.+)\} from ("[^"]+");$/gm, (_all, whole, list, source) => {
        const names = namesIn(list).map(({ name, alias }) => (name === alias ? name : `${name}: ${alias}`));
        return `const ${whole ? `${whole} = require(${source}), ` : ''}{ ${names.join(', ')} } = require(${source});`;
      })
      .replace(/^import ("[^"]+");$/gm, 'require($1);')
      .replace(/^export \{(.*)\};$/gm, (_all, list) =>
        namesIn(list)
          .map(({ name, alias }) => `exports.${alias} = ${name};`)
          .join(' '),
      )
      .replace(/\bimport\(("\.[^"]+")\)/g, 'Promise.resolve().then(() => require($1))')
      .replace(/\brequireHere\("([^"]+)"\)/g, (_all, path) => `require("${fromFile(fileName, path)}")`)
      .replaceAll('import.meta.url', HERE);
    const left = /^(?:import|export)\b.*$/m.exec(converted);
    if (left) throw new Error(`${fileName}: no rule makes CommonJS of ${left[0]}`);
    // Each line stays a line, so the map of lines, which coverage needs, stays right.
    return { code: converted.replace(/^(?!#!)/m, '"use strict"; '), map: null };
  },
  generateBundle(_options, bundle) {
    if (sourcemap) return;
    for (const chunk of Object.values(bundle))
      if (chunk.type === 'chunk') chunk.code = compact(chunk.code, chunk.fileName);
  },
  writeBundle() {
    copyFileSync(join(root, 'public/gjallar-client.d.ts'), join(dist, 'client.d.ts'));
    const hooks = readFileSync(join(root, 'public/gjallar-react.d.ts'), 'utf8');
    writeFileSync(join(dist, 'react.d.ts'), hooks.replace('./gjallar-client.js', './client.js'));
    writeFileSync(join(dist, 'openapi.json'), JSON.stringify(openApi));
    // Of the files of this folder alone: the rest of the package are ES modules.
    writeFileSync(join(dist, 'package.json'), '{ "type": "commonjs" }\n');
    // Node.js waits for an ES module that it imports before the program.
    writeFileSync(join(dist, 'host/run/preload.mjs'), 'import { ready } from "./preload.js";\nawait ready;\n');
  },
};

/** A path from the folder of the bundle as a file of the bundle names it. */
function fromFile(file, path) {
  if (!path.startsWith('./')) return path;
  const found = relative(dirname(file), path);
  return found.startsWith('.') ? found : `./${found}`;
}

const isOwn = (id) => id.startsWith('.') || id.startsWith('/') || INLINED.some((name) => id.split('/')[0] === name);

// By the API, since the command prints a line for each file.
await build({
  input: {
    ...Object.fromEntries(entries.map((entry) => [entry, join(source, `${entry}.ts`)])),
    client: join(root, 'public/gjallar-client.js'),
    react: join(root, 'public/gjallar-react.js'),
  },
  platform: 'node',
  logLevel: 'warn',
  external: (id) => !isOwn(id),
  resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
  tsconfig: false,
  preserveEntrySignatures: 'allow-extension',
  plugins: [licenses, acyclic, commonJs, rest],
  transform: { define: { PACKAGE: JSON.stringify({ version, homepage }) } },
  output: {
    dir: dist,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunk-[name].js',
    sourcemap,
    comments: false,
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [{ debugName: 'processes', name: groupOf }],
    },
  },
});
