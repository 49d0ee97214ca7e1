import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pod } from '@kapstan/kinds/core/v1';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import { admissionConfigurations } from './admission-files.ts';

let folder: string;
const podSecurity = {
  apiVersion: 'pod-security.admission.config.k8s.io/v1',
  kind: 'PodSecurityConfiguration',
  defaults: { enforce: 'baseline' },
  exemptions: { namespaces: ['kube-system'] },
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kapstan-admission-'));
  await writeFile(join(folder, 'pods.json'), JSON.stringify(podSecurity));
});
afterAll(() => rm(folder, { recursive: true }));

async function read(plugins: readonly object[]): Promise<unknown> {
  const file = join(folder, 'admission.yaml');
  const kind = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AdmissionConfiguration' };
  await writeFile(file, JSON.stringify({ ...kind, plugins }));
  return admissionConfigurations(file);
}

it('configurations are read from the file, and from files beside it', async () => {
  expect(await admissionConfigurations('')).toBeUndefined();
  expect(
    await read([
      { name: 'PodSecurity', path: 'pods.json' },
      { name: 'ResourceQuota', configuration: { a: 1 } },
    ]),
  ).toEqual({
    PodSecurity: JSON.stringify(podSecurity),
    ResourceQuota: '{"a":1}',
  });
});

it('a file that cannot be read is named with its flag', async () => {
  await expect(admissionConfigurations(join(folder, 'none'))).rejects.toThrow(
    /--admission-control-config-file.*ENOENT/,
  );
  await expect(read([{ name: 'PodSecurity', path: 'none.yaml' }])).rejects.toThrow(
    /--admission-control-config-file.*the configuration of admission plugin "PodSecurity": ENOENT/,
  );
});

it('a control plane does what the configurations say, and refuses those that it cannot use', async () => {
  const options = { dataDir: join(folder, 'data'), http: 'off' as const };
  const start = (configurations: Readonly<Record<string, string | object>>) =>
    startControlPlane({ ...options, admission: { disabled: ['ServiceAccount'], configurations } });
  await expect(start({ PodSecurity: { ...podSecurity, defaults: { enforce: 'all' } } })).rejects.toThrow(
    'couldn\'t init admission plugin "PodSecurity": PodSecurity configuration error: enforce: must be one of privileged, baseline, restricted',
  );
  const plane = await start({ PodSecurity: podSecurity });
  const containers = [{ name: 'c', image: 'i', securityContext: { privileged: true } }];
  const create = (namespace: string) =>
    plane.client.create(Pod, { metadata: { namespace, name: 'p' }, spec: { containers } });
  await expect(create('default')).rejects.toThrow('violates PodSecurity "baseline:latest": privileged');
  await create('kube-system');
  await plane.close();
});
