import { readdirSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { loadConfig } from '../../src/host/config/load.js';
import { fileOf, objectsIn, read, wrongVariables } from './support.js';

/** Holds the manifests to the server and to each other. `npm run deploy:check` holds them to the schemas and the chart. */
const files = readdirSync(fileOf('deploy/kubernetes')).filter((name) => name !== 'kustomization.yaml');
const objects = files.flatMap((name) => objectsIn(`deploy/kubernetes/${name}`));
const find = (kind: string, name = 'gjallar') =>
  objects.find((object) => object.kind === kind && object.metadata.name === name);

const pod = find('Deployment').spec.template;
const [container] = pod.spec.containers;
const plain: Record<string, string> = find('ConfigMap').data;
const config = loadConfig(plain);
const { version } = JSON.parse(read('package.json')) as { version: string };

test('kustomize applies every file but that of the Prometheus Operator', () => {
  const { resources } = parse(read('deploy/kubernetes/kustomization.yaml')) as { resources: string[] };
  expect([...resources, 'servicemonitor.yaml'].sort()).toEqual(files.sort());
});

test('the server knows each variable, and secrets are files', () => {
  const names = (container.env as { name: string; value?: string }[]).map(({ name, value = '' }) => [name, value]);
  expect(wrongVariables({ ...plain, ...Object.fromEntries(names) })).toEqual([]);
  const mount = container.volumeMounts.find(({ name }: { name: string }) => name === 'secrets').mountPath;
  for (const [name, value] of names) if (name!.endsWith('_FILE')) expect(value!.startsWith(`${mount}/`)).toBe(true);
});

test('ports, probes and services are those of the server', () => {
  expect(container.ports).toEqual([
    { name: 'http', containerPort: config.port },
    { name: 'admin', containerPort: config.adminPort },
  ]);
  expect(container.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'admin' });
  expect(container.livenessProbe.httpGet).toEqual({ path: '/healthz', port: 'admin' });
  // The kubelet does not use the loopback address.
  expect(config.adminHost).toBe('0.0.0.0');
  for (const name of ['gjallar', 'gjallar-admin']) {
    const { spec } = find('Service', name);
    expect(spec.selector).toEqual(pod.metadata.labels);
    expect(container.ports.map((port: { name: string }) => port.name)).toContain(spec.ports[0].targetPort);
  }
});

test('a pod has time for preStop, for DRAIN_TIMEOUT, and ten seconds to spare', () => {
  const [, , command] = container.lifecycle.preStop.exec.command;
  const preStopMs = Number(/^kill -USR2 1; sleep (\d+)$/.exec(command)![1]) * 1000;
  // The drain disconnects clients over DRAIN_TIMEOUT.
  expect(preStopMs).toBeGreaterThan(config.drainTimeout);
  expect(pod.spec.terminationGracePeriodSeconds * 1000).toBe(preStopMs + config.drainTimeout + 10_000);
});

test('the pod has no rights, and writes to nothing but its volumes', () => {
  expect(pod.spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
  expect(container.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
  expect(pod.spec).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
  const empty = (pod.spec.volumes as Record<string, unknown>[]).filter((volume) => 'emptyDir' in volume);
  const writable = (container.volumeMounts as Record<string, unknown>[]).filter(({ readOnly }) => !readOnly);
  expect(writable.map(({ name }) => name)).toEqual(empty.map(({ name }) => name));
  expect(read('Dockerfile')).toContain(`DATA_DIR=${writable.find(({ name }) => name === 'data')!.mountPath}`);
});

test('Prometheus finds the admin service, under the job that the alerts expect', () => {
  const monitor = find('ServiceMonitor').spec;
  const { labels, name } = find('Service', 'gjallar-admin').metadata;
  expect(labels).toEqual(monitor.selector.matchLabels);
  expect(find('Service').metadata.labels).not.toEqual(monitor.selector.matchLabels);
  expect(monitor.endpoints[0]).toMatchObject({ port: find('Service', name).spec.ports[0].name, path: '/metrics' });
  expect(read('deploy/prometheus/alerts.yml')).toContain(`up{job="${labels[monitor.jobLabel]}"}`);
});

test('the image and the chart have the version of the package', () => {
  expect(container.image).toBe(`gjallar:${version}`);
  expect(parse(read('deploy/helm/gjallar/Chart.yaml'))).toMatchObject({ version, appVersion: version });
});

test('the values of the chart fit its schema, and name variables of the server', () => {
  const values = parse(read('deploy/helm/gjallar/values.yaml'));
  const schema = JSON.parse(read('deploy/helm/gjallar/values.schema.json'));
  expect(Object.keys(values).sort()).toEqual(
    Object.keys(schema.properties)
      .filter((key) => key !== 'global')
      .sort(),
  );
  const fileNames = Object.keys(values.secret.keys).map((name) => (name === 'ADMIN_USER' ? name : `${name}_FILE`));
  expect(wrongVariables({ ...values.config, ...Object.fromEntries(fileNames.map((name) => [name, 'x'])) })).toEqual([]);
  expect(Object.keys(schema.properties.secret.properties.keys.properties)).toEqual(Object.keys(values.secret.keys));
});
