import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startControlPlane } from './control-plane.ts';
import { flagWarnings } from './flags/flag-warnings.ts';
import { parseServeFlags } from './flags/serve-flags.ts';
import type { ControlPlane } from './options/control-plane-options.ts';
import { toOptions } from './serve.ts';

let dataDir: string;
let plane: ControlPlane | undefined;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-runtime-config-'));
  plane = undefined;
});
afterEach(async () => {
  await plane?.close();
  await rm(dataDir, { recursive: true });
});

/** Starts a server with the flag. */
async function start(runtimeConfig?: string): Promise<ControlPlane> {
  const args = runtimeConfig === undefined ? [] : [`--runtime-config=${runtimeConfig}`];
  const flags = parseServeFlags([...args, `--data-dir=${dataDir}`, '--secure-port=0', '--control-loops=none']);
  plane = await startControlPlane({ ...(await toOptions(flags)), endpointReconciler: 'off' });
  return plane;
}

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: looked into by the tests
  readonly body: any;
}

function call(path: string, body?: unknown): Promise<Answer> {
  const { url, caCert: ca, token } = plane as ControlPlane;
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const method = body === undefined ? 'GET' : 'POST';
  return new Promise((resolve, reject) => {
    const asked = request(new URL(path, url), { ca, headers, method, agent: false }, async (answer) => {
      const chunks: Buffer[] = [];
      for await (const chunk of answer) chunks.push(chunk as Buffer);
      const text = Buffer.concat(chunks).toString();
      resolve({ status: answer.statusCode ?? 0, body: text.startsWith('{') ? JSON.parse(text) : text });
    });
    asked.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const groups = async (): Promise<string[]> =>
  (await call('/apis')).body.groups.map((group: { name: string }) => group.name);

/** Versions that Kubernetes has, off by default, and that this server lacks. */
const unsupported = [
  'certificates.k8s.io/v1beta1=true',
  'certificates.k8s.io/v1alpha1',
  'certificates.k8s.io/v1beta1/podcertificaterequests=true',
  'certificates.k8s.io/v1beta1/clustertrustbundles',
  'storagemigration.k8s.io/v1beta1=true',
];
const refusalOf = (text: string): string =>
  `group version ${/^[^/]*\/[^/=]*/.exec(text)?.[0]} is not supported by this version of kapstan`;

describe('--runtime-config', () => {
  it.each<readonly string[]>([
    ['bar/v1', 'invalid value "bar/v1" for --runtime-config: unknown api groups bar/v1'],
    [
      'api/all=false',
      'invalid value "api/all=false" for --runtime-config: invalid runtime-config with only api/all=false',
    ],
    ...unsupported.map((text) => [text, `invalid value "${text}" for --runtime-config: ${refusalOf(text)}`]),
  ])('%s is refused at the start', (text = '', message = '') => {
    expect(() => parseServeFlags([`--runtime-config=${text}`])).toThrow(message);
  });

  it('adds up over several uses, trims, and lets the last word on a key count', () => {
    const args = ['--runtime-config', ' apps/v1 = false ,,/v1', '--runtime-config=apps/v1=true'];
    expect([...parseServeFlags(args)['runtime-config']]).toEqual([
      ['apps/v1', 'true'],
      ['/v1', ''],
    ]);
  });

  it('is warned of where it changes nothing', () => {
    const flags = parseServeFlags(['--runtime-config=apps/v1/deploymentz=false']);
    expect(flagWarnings(flags)).toEqual(['--runtime-config: "apps/v1/deploymentz" is not a built-in resource']);
    expect(flagWarnings(parseServeFlags(['--runtime-config=certificates.k8s.io/v1beta1=false']))).toEqual([]);
    const [all] = flagWarnings(parseServeFlags(['--runtime-config=api/all=true']));
    expect(all).toMatch(/^--runtime-config: api\/all=true has no effect on resources that this server does not have: /);
    expect(all).toContain('certificates.k8s.io/v1beta1');
  });

  it('names the option where it is given to startControlPlane', async () => {
    const runtimeConfig = new Map([['bar/v1', 'true']]);
    await expect(startControlPlane({ dataDir, runtimeConfig })).rejects.toThrow(
      'runtimeConfig: unknown api groups bar/v1',
    );
  });

  it('takes groups, versions and resources from clients, not from the server, which goes on using them', async () => {
    const server = await start(
      'apps/v1/deployments=false,autoscaling/v1=false,batch/v1=false,rbac.authorization.k8s.io/v1=false',
    );
    expect((await call('/apis/apps/v1/namespaces/default/deployments')).status).toBe(404);
    expect((await call('/apis/apps/v1/namespaces/default/daemonsets')).status).toBe(200);
    const { resources } = (await call('/apis/apps/v1')).body;
    const names = resources.map(({ name }: { name: string }) => name);
    expect(names.filter((name: string) => name.startsWith('deployments'))).toEqual([]);
    expect((await call('/apis/autoscaling')).body.versions).toEqual([
      { groupVersion: 'autoscaling/v2', version: 'v2' },
    ]);
    expect(await groups()).not.toContain('batch');
    for (const path of ['/apis/batch', '/apis/batch/v1', '/apis/rbac.authorization.k8s.io/v1/clusterroles']) {
      expect((await call(path)).status, path).toBe(404);
    }
    const documents = (await call('/openapi/v3')).body.paths;
    expect(Object.keys(documents)).not.toContain('apis/batch/v1');
    expect((await call('/openapi/v2')).body.paths).not.toHaveProperty('/apis/apps/v1/deployments');
    const metadata = { namespace: 'default', name: 'd' };
    await server.client.create(Deployment, { metadata, spec: specOf('d') });
  });

  it('takes custom resources away with their definitions, and shows them otherwise', async () => {
    const definition = {
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced' as const,
        names: { plural: 'widgets', kind: 'Widget' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        ],
      },
    };
    const server = await start('apiextensions.k8s.io/v1=false');
    await server.client.create(CustomResourceDefinition, definition);
    expect((await call('/apis/apiextensions.k8s.io/v1/customresourcedefinitions')).status).toBe(404);
    expect(await groups()).not.toContain('example.com');
    await server.close();
    await start('apps/v1=false');
    expect((await call('/apis/example.com/v1/widgets')).status).toBe(200);
    expect(await groups()).toContain('example.com');
  });
});

const specOf = (app: string) => ({
  selector: { matchLabels: { app } },
  template: { metadata: { labels: { app } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
});

describe('the historic rollback of a deployment', () => {
  const path = '/apis/extensions/v1beta1/namespaces/default/deployments/d/rollback';
  const rollback = (more: object = {}) => ({
    apiVersion: 'extensions/v1beta1',
    kind: 'DeploymentRollback',
    name: 'd',
    rollbackTo: { revision: 3 },
    ...more,
  });
  const create = (server: ControlPlane) =>
    server.client.create(Deployment, {
      metadata: { namespace: 'default', name: 'd', annotations: { kept: 'yes' } },
      spec: specOf('d'),
    });
  const read = (server: ControlPlane) => server.client.get(Deployment, { namespace: 'default', name: 'd' });

  it('is not there unless it is asked for', async () => {
    await create(await start());
    expect((await call(path, rollback())).status).toBe(404);
    expect(await groups()).not.toContain('extensions');
  });

  it('notes the revision on the deployment for its controller, with annotations, and is no change of what is wanted', async () => {
    const server = await start('extensions/v1beta1=true');
    const before = await create(server);
    const answer = await call(path, rollback({ updatedAnnotations: { why: 'broken', __proto__: null } }));
    expect(answer).toEqual({
      status: 201,
      body: {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Success',
        message: 'rollback request for deployment "d" succeeded',
        code: 200,
      },
    });
    const after = await read(server);
    expect(after.metadata?.annotations).toEqual({
      kept: 'yes',
      why: 'broken',
      'deprecated.deployment.rollback.to': '3',
    });
    expect(after.metadata?.generation).toBe(before.metadata?.generation);
    expect(after.metadata?.managedFields).toEqual(before.metadata?.managedFields);
    // A rollback without a revision goes to the previous one.
    await call(path, rollback({ rollbackTo: undefined }));
    expect((await read(server)).metadata?.annotations?.['deprecated.deployment.rollback.to']).toBe('0');
    await call(`${path}?dryRun=All`, rollback());
    expect((await read(server)).metadata?.annotations?.['deprecated.deployment.rollback.to']).toBe('0');
  });

  it('says what is wrong with the request', async () => {
    await create(await start('extensions/v1beta1=true'));
    const refused = async (body: object, at = path): Promise<unknown> => {
      const { status, body: answer } = await call(at, body);
      return [status, answer.message];
    };
    const bad = rollback({ name: '', rollbackTo: { revision: -1 }, updatedAnnotations: { 'a b': '' } });
    expect(await refused(bad)).toEqual([
      422,
      expect.stringMatching(
        /^DeploymentRollback\.apps "" is invalid: \[updatedAnnotations: Invalid value: "a b": .*, name: Required value, rollback\.version: Invalid value: -1: must be greater than or equal to 0\]$/,
      ),
    ]);
    expect(await refused(rollback({ name: 'e' }))).toEqual([
      400,
      'name in URL does not match name in DeploymentRollback object',
    ]);
    expect(await refused(rollback({ name: 'none' }), path.replace('/d/', '/none/'))).toEqual([
      404,
      'deployments.apps "none" not found',
    ]);
    expect((await call(`${path}?fieldValidation=Strict`, rollback({ extra: 1 }))).body.message).toContain(
      'unknown field "extra"',
    );
    expect((await call(path)).status).toBe(405);
  });

  it('is found by discovery alone: the deployments of that version are not served', async () => {
    await start('extensions/v1beta1/deployments=true');
    expect((await call('/apis/extensions/v1beta1')).body.resources).toEqual([
      {
        name: 'deployments/rollback',
        singularName: '',
        namespaced: true,
        kind: 'DeploymentRollback',
        verbs: ['create'],
      },
    ]);
    for (const at of ['/apis/extensions/v1beta1/deployments', path.replace('/rollback', '')]) {
      expect((await call(at)).status, at).toBe(404);
    }
    const described = (await call('/openapi/v3/apis/extensions/v1beta1')).body;
    expect(Object.keys(described.paths).filter((at) => at.endsWith('/rollback'))).toHaveLength(1);
    expect((await call('/openapi/v2')).status).toBe(200);
  });
});
