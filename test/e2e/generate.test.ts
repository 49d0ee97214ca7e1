// Tests the command `kapstan generate` as people run it, and kubectl on its output.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@kapstan/api';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { Namespace, Pod, ServiceAccount } from '@kapstan/kinds/core/v1';
import { ClusterRole } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import { type TestCluster, testCluster } from '@kapstan/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const bin = join(root, 'packages/control-plane/bin/kapstan.js');
const hasKubectl = spawnSync('kubectl', ['version', '--client'], { stdio: 'ignore' }).status === 0;
const noKubectl = 'kubectl is not installed; see https://kubernetes.io/docs/tasks/tools/';
let folder: string;
let cluster: TestCluster;

const program = `
import { defineResource } from '@kapstan/api';
import { controller } from '@kapstan/controller';
import { ConfigMap } from '@kapstan/kinds/core/v1';

const rules = [{ rule: 'self.text != "wrong"', message: 'not this' }];
export const Echo = defineResource({
  group: 'demo.dev', version: 'v1', kind: 'Echo',
  columns: [{ name: 'Text', type: 'string', jsonPath: '.spec.text' }],
  spec: { type: 'object', properties: { text: { type: 'string', maxLength: 20 }, copies: { type: 'integer' } }, required: ['text'], 'x-kubernetes-validations': rules },
  status: { type: 'object', properties: { copies: { type: 'integer' } } },
  scale: { specReplicasPath: '.spec.copies', statusReplicasPath: '.status.copies' },
  versions: { v1beta1: { spec: { type: 'object', properties: { text: { type: 'string' } } }, deprecated: 'use v1' } },
});
export const echo = controller(Echo).owns(ConfigMap).finalize('demo.dev/bye', async () => undefined).reconcile(async () => undefined);
export const options = { leaderElection: { name: 'echo' }, metrics: { port: 9090 } };
`;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kapstan-generate-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'program.js'), program);
  writeFileSync(join(folder, 'program.ts'), `${program}export const one: number = 1;\n`);
  writeFileSync(join(folder, 'wrong.js'), program.replace('self.text', 'self.txet'));
  cluster = await testCluster();
  writeFileSync(join(folder, 'kubeconfig'), cluster.kubeconfig);
}, 60_000);
afterAll(async () => {
  await cluster.close();
  rmSync(folder, { recursive: true });
});

function kapstan(...args: readonly string[]): {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
} {
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, 'generate', ...args], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status, out: stdout, err: stderr };
}

/** kubectl must not block this process, which is the server. */
async function kubectl(...args: readonly string[]): Promise<string> {
  const { execFile } = await import('node:child_process');
  const { promisify } = await import('node:util');
  const all = ['--kubeconfig', 'kubeconfig', ...args];
  return (await promisify(execFile)('kubectl', all, { cwd: folder })).stdout;
}

describe('kapstan generate', () => {
  it('writes files, and --check tells which are out of date', () => {
    expect(kapstan('crds', 'program.js', '--out', 'crds')).toEqual({
      status: 0,
      out: '1 of 1 files in crds written\n',
      err: '',
    });
    expect(kapstan('crds', 'program.js', '--out', 'crds').out).toBe('0 of 1 files in crds written\n');
    expect(kapstan('crds', 'program.js', '--out', 'crds', '--check')).toMatchObject({
      status: 0,
      out: '1 files in crds are up to date\n',
    });
    writeFileSync(join(folder, 'crds/demo.dev_echos.yaml'), 'edited');
    expect(kapstan('crds', 'program.js', '--out=crds', '--check')).toEqual({
      status: 1,
      out: '',
      err: 'kapstan generate crds: out of date in crds:\n  demo.dev_echos.yaml\n',
    });
    expect(readFileSync(join(folder, 'crds/demo.dev_echos.yaml'), 'utf8')).toBe('edited');
  });

  it('fails for a rule with a misspelt field', () => {
    const { status, out, err } = kapstan('crds', 'wrong.js');
    expect([status, out]).toEqual([1, '']);
    expect(err).toContain(
      'kapstan generate crds: wrong.js: echos.demo.dev: spec.versions[0].schema.openAPIV3Schema.properties[spec]',
    );
    expect(err).toContain("undefined field 'txet'");
  });

  it('runs TypeScript where Node does, and else says what is needed', () => {
    const { status, err, out } = kapstan('crds', 'program.ts');
    const features = process.features as { readonly typescript?: string | false };
    if (features.typescript) expect([status, out.includes('echos.demo.dev')]).toEqual([0, true]);
    else
      expect(err).toBe(
        `kapstan generate crds: cannot load program.ts: Node ${process.version} does not run TypeScript: use Node 22.18 or newer, a loader such as "node --import tsx", or name the compiled JavaScript\n`,
      );
  });

  it.each([
    [[], 2, '', /Usage: kapstan generate WHAT/],
    [['nothing'], 2, 'kapstan: unknown generator "nothing"; \'kapstan generate help\' lists the generators\n', /^$/],
    [['crds'], 2, 'kapstan: kapstan generate crds needs a MODULE, before its flags\n', /^$/],
    [['crds', 'program.js', '--image', 'a'], 2, 'kapstan: --image is not a flag of kapstan generate crds\n', /^$/],
    [['crds', 'program.js', '--check'], 2, 'kapstan: --check needs --out\n', /^$/],
    [['manifests', 'program.js'], 2, 'kapstan: --image must be specified\n', /^$/],
    [['types', 'a.yaml', '--kubeconfig'], 2, 'kapstan: only one of SOURCE and --kubeconfig may be specified\n', /^$/],
    [['types', 'program.js'], 1, 'kapstan generate types: program.js, document 1, line ', /^$/],
    [['types', 'package.json'], 1, 'kapstan generate types: package.json has no CustomResourceDefinition\n', /^$/],
  ])('answers %j', (args, status, err, out) => {
    const answer = kapstan(...args);
    expect(answer.err.startsWith(err)).toBe(true);
    expect(answer.status).toBe(status);
    expect(answer.out).toMatch(out);
  });

  it('reads definitions from a URL', { timeout: 60_000 }, async () => {
    kapstan('crds', 'program.js', '--out', 'served');
    const yaml = readFileSync(join(folder, 'served/demo.dev_echos.yaml'), 'utf8');
    const server = createServer((request, response) => {
      response.writeHead(request.url === '/crds.yaml' ? 200 : 404).end(yaml);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { readDefinitions } = await import('@kapstan/generate');
    const [found] = await readDefinitions(`${url}/crds.yaml`, { clock: systemClock });
    expect(found?.place).toBe(`${url}/crds.yaml, document 1 (echos.demo.dev)`);
    await expect(readDefinitions(`${url}/other`)).rejects.toThrow(`${url}/other answered 404 Not Found`);
    await new Promise((resolve) => server.close(resolve));
  });
});

describe('kubectl', () => {
  it('applies the definitions, and their rules, columns, scale and versions work', { timeout: 60_000 }, async ({
    skip,
  }) => {
    if (!hasKubectl) return skip(noKubectl);
    writeFileSync(join(folder, 'crds.yaml'), kapstan('crds', 'program.js').out);
    await kubectl('apply', '-f', 'crds.yaml');
    await kubectl('wait', '--for=condition=Established', 'crd/echos.demo.dev');
    const echo = { apiVersion: 'demo.dev/v1', kind: 'Echo', metadata: { name: 'a' }, spec: { text: 'hi' } };
    writeFileSync(join(folder, 'echo.json'), JSON.stringify(echo));
    await kubectl('apply', '-f', 'echo.json');
    await kubectl('scale', 'echo/a', '--replicas=3');
    expect(await kubectl('get', 'echos')).toMatch(/^NAME +TEXT\na +hi\n$/);
    expect(JSON.parse(await kubectl('get', 'echos.v1beta1.demo.dev', 'a', '-o', 'json'))).toMatchObject({
      apiVersion: 'demo.dev/v1beta1',
    });
    writeFileSync(join(folder, 'echo.json'), JSON.stringify({ ...echo, spec: { text: 'wrong' } }));
    await expect(kubectl('apply', '-f', 'echo.json')).rejects.toThrow('not this');
    const types = await import('@kapstan/generate');
    const [found] = await types.readDefinitionsOfCluster(join(folder, 'kubeconfig'));
    expect(found?.place).toBe("the cluster's echos.demo.dev");
    expect(types.typeFiles([found as never], { source: 'a cluster' }).map(({ path }) => path)).toEqual([
      'demo.dev/definitions.ts',
      'demo.dev/v1.ts',
      'demo.dev/v1beta1.ts',
    ]);
  });

  it('applies roles and manifests, whose pods keep to the level "restricted"', { timeout: 60_000 }, async ({
    skip,
  }) => {
    if (!hasKubectl) return skip(noKubectl);
    const labels = {
      'pod-security.kubernetes.io/enforce': 'restricted',
      'pod-security.kubernetes.io/enforce-version': 'latest',
    };
    await cluster.client.create(Namespace, { metadata: { name: 'system', labels } });
    const flags = ['--name', 'echo', '--namespace', 'system'];
    writeFileSync(join(folder, 'rbac.yaml'), kapstan('rbac', 'program.js', ...flags).out);
    writeFileSync(
      join(folder, 'manifests.yaml'),
      kapstan('manifests', 'program.js', '--image', 'echo:1', ...flags).out,
    );
    expect(await kubectl('apply', '-f', 'rbac.yaml')).toContain('clusterrole.rbac.authorization.k8s.io/echo created');
    expect(await kubectl('apply', '-f', 'manifests.yaml')).toContain(
      'clusterrole.rbac.authorization.k8s.io/echo unchanged',
    );
    expect((await cluster.client.get(ClusterRole, { name: 'echo' })).rules).toContainEqual({
      apiGroups: ['demo.dev'],
      resources: ['echos/status'],
      verbs: ['patch'],
    });
    expect(await kubectl('auth', 'can-i', 'patch', 'configmaps', '--as', 'system:serviceaccount:system:echo')).toBe(
      'yes\n',
    );
    const place = { namespace: 'system', name: 'echo' };
    expect((await cluster.client.get(ServiceAccount, place)).metadata?.name).toBe('echo');
    const template = (await cluster.client.get(Deployment, place)).spec?.template;
    const pod = (spec: object): Pod => ({
      metadata: { ...place, labels: template?.metadata?.labels ?? {} },
      spec: spec as never,
    });
    const spec = { ...template?.spec, automountServiceAccountToken: false };
    await cluster.client.create(Pod, pod(spec));
    const lax = { ...spec, securityContext: {} };
    await expect(cluster.client.create(Pod, { ...pod(lax), metadata: { ...place, name: 'lax' } })).rejects.toThrow(
      'violates PodSecurity "restricted:latest"',
    );
  });
});
