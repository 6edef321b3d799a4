import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';

/** Tools and schemas are installed outside of the repository, by version, and kept for the next run. */
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'gjallar-deploy');

/** Tools in Go, by the name of their module. */
const GO = {
  helm: 'helm.sh/helm/v3/cmd/helm@v3.20.2',
  kubeconform: 'github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0',
  // What docker compose reads its files with.
  compose: 'github.com/compose-spec/compose-go/v2/cmd@v2.9.1',
};
const SCHEMAS = 'kubernetes-validate==1.37.0';
const OPERATOR = 'github.com/prometheus-operator/prometheus-operator@v0.85.0';

/** The versions of Kubernetes that the manifests must be valid for: the oldest and the newest of the schemas. */
export const KUBERNETES = ['1.27.0', '1.37.0'];

const run = (program, args, options = {}) =>
  execFileSync(program, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });

/** Makes a folder of the cache once: `make` fills one that takes the name afterwards, so that it is never half there. */
function folder(name, make) {
  const path = join(cache, name.replaceAll(/[^\w.-]/g, '_'));
  if (existsSync(path)) return path;
  const temporary = `${path}.${process.pid}`;
  mkdirSync(temporary, { recursive: true });
  make(temporary);
  renameSync(temporary, path);
  return path;
}

/** The path of a tool. Needs Go the first time. */
export function tool(name) {
  const source = GO[name];
  const path = folder(source, (GOBIN) => run('go', ['install', source], { env: { ...process.env, GOBIN } }));
  // The program has the name of the last folder of its source.
  return join(path, source.replace(/@.*/, '').split('/').at(-1));
}

/** The folder with the schemas of each version, from the package of a Python tool. Needs pip the first time. */
export function kubernetesSchemas() {
  return folder(`${SCHEMAS} ${KUBERNETES}`, (target) => {
    const download = join(target, 'package');
    run('python3', ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', download, SCHEMAS]);
    for (const version of KUBERNETES) {
      const source = join(download, 'kubernetes_validate', 'kubernetes-json-schema', `v${version}-local-strict`);
      mkdirSync(join(target, version));
      for (const name of readdirSync(source)) {
        // Without their ids, they refer to each other as files.
        const text = readFileSync(join(source, name), 'utf8').replaceAll(
          '"/api/_definitions.json',
          '"_definitions.json',
        );
        const { $id: _, ...schema } = JSON.parse(text);
        writeFileSync(join(target, version, name), JSON.stringify(schema));
      }
    }
    rmSync(download, { recursive: true });
  });
}

/** The folder with the schema of the ServiceMonitor, from its custom resource definition. Needs Go the first time. */
export function operatorSchemas() {
  return folder(OPERATOR, (target) => {
    const { Dir } = JSON.parse(run('go', ['mod', 'download', '-json', OPERATOR]).toString());
    const file = 'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml';
    const { spec } = parse(readFileSync(join(Dir, file), 'utf8'));
    const { openAPIV3Schema } = spec.versions.find(({ name }) => name === 'v1').schema;
    writeFileSync(join(target, 'servicemonitor.json'), JSON.stringify(strict(openAPIV3Schema)));
  });
}

/** A cluster drops fields that it does not know; here they are errors. */
function strict(schema) {
  if (Array.isArray(schema)) return schema.map(strict);
  if (typeof schema !== 'object' || schema === null) return schema;
  const copy = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, strict(value)]));
  const isClosed = copy.type === 'object' && copy.properties && !('additionalProperties' in copy);
  return isClosed ? { ...copy, additionalProperties: false } : copy;
}
