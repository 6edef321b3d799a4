import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ON_LOOPBACK, RunningService } from '../../test/support/service.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = (program, args, options) =>
  execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], ...options });

/** The packages that the built server imports. */
function importedPackages(dist) {
  const files = readdirSync(dist, { recursive: true }).filter((name) => name.endsWith('.js'));
  const texts = files.map((name) => readFileSync(join(dist, name), 'utf8'));
  const found = texts.flatMap((text) => [...text.matchAll(/(?:\bfrom |\bimport |\bimport\()["']([^"'.][^"']*)["']/g)]);
  return [...new Set(found.map(([, name]) => name))].filter((name) => !isBuiltin(name)).sort();
}

const mebibytes = (folder) => Math.round(Number(run('du', ['-sk', folder]).split('\t')[0]) / 102.4) / 10;

/** Puts the Node.js of the image into a folder, with a C library as new as the image's. Returns the folder of its program. */
function nodeOf(dockerfile, folder) {
  const [, major] = /^FROM node:(\d+)-/m.exec(dockerfile);
  return run(process.execPath, [join(root, '.ci/node.mjs'), major, folder])
    .trim()
    .split('\n')
    .at(-1);
}

/** Puts together, without a container, what the Dockerfile copies; states its size, and starts it on the image's Node.js. */
export async function image() {
  const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8');
  const folder = mkdtempSync(join(tmpdir(), 'gjallar-image-'));
  const nodeFolder = mkdtempSync(join(tmpdir(), 'gjallar-image-node-'));
  try {
    const bin = nodeOf(dockerfile, nodeFolder);
    const { HOME } = process.env;
    const PATH = `${bin}:${process.env.PATH}`;
    const env = { ...process.env, PATH };
    const [beforeInstall] = dockerfile.split('RUN npm ci');
    const copied = [...beforeInstall.matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, names]) => names.split(' '));
    for (const name of copied) cpSync(join(root, name), join(folder, name), { recursive: true });
    run('npm', ['ci', '--omit=dev'], { cwd: folder, env });
    const [prune] = /npm prune [\s\S]*?(?=\n\n)/.exec(dockerfile);
    mkdirSync(join(folder, 'data'));
    run('sh', ['-c', prune.replace('npm prune --omit=dev \\\n  && ', '').replace('mkdir data', 'true')], {
      cwd: folder,
      env,
    });
    for (const name of ['dist', 'public']) cpSync(join(root, name), join(folder, name), { recursive: true });

    const { resolve } = createRequire(join(folder, 'dist', 'main.js'));
    const { dependencies } = JSON.parse(readFileSync(join(folder, 'deploy', 'service', 'package.json'), 'utf8'));
    const packages = new Set([...importedPackages(join(folder, 'dist')), ...Object.keys(dependencies), 'socket.io']);
    const missing = [...packages].filter((name) => !isLeftOut(name) && !canResolve(resolve, name));
    if (missing.length > 0) throw new Error(`the image lacks ${missing.join(', ')}`);

    const main = join(folder, 'dist', 'main.js');
    const node = join(bin, 'node');
    const server = new RunningService({ env: { PATH, HOME, WORKERS: '1', ...ON_LOOPBACK }, main });
    // The image's own Node.js.
    server.spawn = (_node, args, options) => spawn(node, args, options);
    await server.start();
    try {
      const [program, ...args] = JSON.parse(/^HEALTHCHECK .*? CMD (\[.*\])$/m.exec(dockerfile)[1]);
      run(program, args, { env: { PATH, PORT: String(server.port) } });
    } finally {
      await server.stop();
    }
    // The primary says it after it has said that it listens.
    if (!server.log.some(({ msg }) => msg?.includes('the sockets are native')))
      throw new Error('the image runs on portable sockets');
    const sizes = ['node_modules', 'dist', 'public'].map((name) => `${name} ${mebibytes(join(folder, name))}`);
    return `on Node.js ${run(node, ['--version']).trim()}, the server starts natively and is healthy; MiB: ${sizes.join(', ')}; all but Node.js and Debian ${mebibytes(folder)}`;
  } finally {
    for (const each of [folder, nodeFolder]) rmSync(each, { recursive: true, force: true });
  }
}

/** `gjallar compare` runs where an application is developed. */
const isLeftOut = (name) => name === 'gjallar-compare';

/** A package that is for `import` alone is found, too. */
function canResolve(resolve, name) {
  try {
    resolve(name);
    return true;
  } catch ({ code }) {
    return code === 'ERR_PACKAGE_PATH_NOT_EXPORTED';
  }
}
