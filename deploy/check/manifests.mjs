import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { KUBERNETES, kubernetesSchemas, operatorSchemas, tool } from './tools.mjs';

const deploy = fileURLToPath(new URL('..', import.meta.url));
const chart = join(deploy, 'helm', 'gjallar');
const manifests = join(deploy, 'kubernetes');

const run = (program, args, options = {}) =>
  execFileSync(program, args, { encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'], ...options });

/** Values that change every part of the chart that can change. */
const OTHER_VALUES = {
  image: { repository: 'registry.example.com/gjallar', tag: '9.9.9', pullPolicy: 'Always' },
  imagePullSecrets: [{ name: 'registry' }],
  config: { PORT: '8000', ADMIN_PORT: '8001', RATE_LIMIT: 'events=50/s' },
  ...{ drainSeconds: 60, preStopSeconds: 5, replicas: 3, autoscaling: { enabled: false } },
  secret: { name: 'other', keys: { JWT_SECRET: '', JWKS_URL: 'jwks', API_KEY: 'api', ARCHIVE_URL: 'archive' } },
  service: { type: 'LoadBalancer', port: 443, annotations: { a: 'b' } },
  networkPolicy: { enabled: false },
  serviceMonitor: { enabled: true, interval: '30s', labels: { release: 'prometheus' } },
  ...{ podAnnotations: { a: 'b' }, nodeSelector: { a: 'b' }, tolerations: [{ operator: 'Exists' }] },
};

const objectsOf = (text) =>
  parseAllDocuments(text)
    .map((document) => document.toJS())
    .filter(Boolean);

function manifestObjects() {
  const files = readdirSync(manifests).filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml');
  return files.flatMap((name) => objectsOf(readFileSync(join(manifests, name), 'utf8')));
}

function rendered(...args) {
  const version = ['--kube-version', KUBERNETES.at(-1)];
  return run(tool('helm'), ['template', 'gjallar', chart, ...version, ...args]);
}

/** Checks objects against the schemas of each version of Kubernetes. Fields that a schema does not have are errors. */
function conform(text) {
  for (const version of KUBERNETES) {
    const schemas = [
      join(kubernetesSchemas(), version, '{{ .ResourceKind }}{{ .KindSuffix }}.json'),
      join(operatorSchemas(), '{{ .ResourceKind }}.json'),
    ];
    const locations = schemas.flatMap((location) => ['-schema-location', location]);
    run(tool('kubeconform'), ['-strict', '-summary', '-kubernetes-version', version, ...locations, '-'], {
      input: text,
    });
  }
}

/** What the chart adds beyond the manifests: labels of Helm, and the annotation that replaces pods. */
function plain(object) {
  const { 'helm.sh/chart': _, 'app.kubernetes.io/managed-by': __, ...labels } = object.metadata.labels;
  const copy = structuredClone({ ...object, metadata: { ...object.metadata, labels } });
  delete copy.spec?.template?.metadata.annotations;
  return copy;
}

const keyOf = ({ kind, metadata }) => `${kind} ${metadata.name}`;

function checkSame(objects, others) {
  const [one, other] = [objects, others].map((list) => new Map(list.map((each) => [keyOf(each), plain(each)])));
  for (const key of new Set([...one.keys(), ...other.keys()])) {
    if (isDeepStrictEqual(one.get(key), other.get(key))) continue;
    const shown = [one, other].map((map) => JSON.stringify(map.get(key)));
    throw new Error(`${key} differs: the manifest is\n${shown[0]}\nand the chart renders\n${shown[1]}`);
  }
}

export function kubernetes() {
  const objects = manifestObjects();
  conform(objects.map((object) => JSON.stringify(object)).join('\n---\n'));
  return `${objects.length} objects are valid for Kubernetes ${KUBERNETES.join(' and ')}`;
}

export function helm() {
  run(tool('helm'), ['lint', '--strict', chart]);
  const standard = rendered('--set', 'serviceMonitor.enabled=true');
  conform(standard);
  checkSame(manifestObjects(), objectsOf(standard));
  const folder = mkdtempSync(join(tmpdir(), 'gjallar-helm-'));
  try {
    writeFileSync(join(folder, 'values.json'), JSON.stringify(OTHER_VALUES));
    const other = rendered('--values', join(folder, 'values.json'));
    conform(other);
    const { spec } = objectsOf(other).find(({ kind }) => kind === 'Deployment');
    const { terminationGracePeriodSeconds: grace, containers } = spec.template.spec;
    if (grace !== 75 || spec.replicas !== 3 || containers[0].image !== 'registry.example.com/gjallar:9.9.9') {
      throw new Error('the chart ignores values');
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const wrong = ['image.tag=latest', 'config.REDIS_URL=x', 'drainSecond=5', 'secret.keys.REDIS_URL='];
  for (const value of wrong) {
    let isRefused = false;
    try {
      rendered('--set', value);
    } catch (error) {
      isRefused = /values don't meet the specifications of the schema/.test(error.stderr);
    }
    if (!isRefused) throw new Error(`values.schema.json accepts ${value}`);
  }
  return `renders the manifests, and is valid with other values; ${wrong.length} wrong values are refused`;
}

export function compose() {
  const folder = mkdtempSync(join(tmpdir(), 'gjallar-compose-'));
  try {
    for (const name of ['compose', 'haproxy', 'grafana', 'prometheus']) {
      cpSync(join(deploy, name), join(folder, 'deploy', name), { recursive: true });
    }
    const cwd = join(folder, 'deploy', 'compose');
    run('./make-secrets.sh', [], { cwd });
    const { services } = JSON.parse(run(tool('compose'), ['--format', 'json', 'compose.yaml'], { cwd }));
    // Prometheus finds in its folder what the compose file mounts there.
    for (const { source, target } of services.prometheus.volumes) {
      if (target.startsWith('/etc/prometheus/')) cpSync(source, join(folder, target.replace('/etc/prometheus/', '')));
    }
    const secret = services.prometheus.secrets[0].target;
    const config = readFileSync(join(folder, 'prometheus.yml'), 'utf8');
    if (!config.includes(secret)) throw new Error(`prometheus.yml does not use ${secret}`);
    writeFileSync(join(folder, 'prometheus.yml'), config.replace(secret, join(cwd, 'secrets', 'admin-password')));
    run('promtool', ['check', 'config', 'prometheus.yml'], { cwd: folder });
    return `${Object.keys(services).length} services are valid, and so is the configuration of Prometheus`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
