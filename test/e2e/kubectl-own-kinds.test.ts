// A kind of the program as a person sees it: kubectl apply, get and explain, and a quota, against a control plane of this process.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubernetesObject } from '@kapstan/api';
import { invalidField } from '@kapstan/api/errors';
import { schemaResource } from '@kapstan/apiserver';
import { type ControlPlane, startControlPlane } from '@kapstan/control-plane';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

type Gadget = KubernetesObject & { readonly spec: { readonly size: number; readonly color: string } };

const group = 'gadgets.example.com';
const column = (name: string, type: string) => ({ name, type, format: '', description: name, priority: 0 });
const gadgets = schemaResource<Gadget>({
  ...{ group, version: 'v1', kind: 'Gadget', plural: 'gadgets', shortNames: ['gd'] },
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        required: ['size'],
        properties: {
          size: { type: 'integer', minimum: 1, description: 'Length in centimetres.' },
          color: { type: 'string', default: 'red', description: 'Colour of the case.' },
        },
      },
    },
  },
  table: {
    columns: [{ ...column('Name', 'string'), format: 'name' }, column('Area', 'integer')],
    cells: ({ metadata, spec }) => [metadata?.name, spec.size ** 2],
  },
  validate: ({ spec }) =>
    spec.color === 'black' && spec.size > 5 ? [invalidField('spec.color', spec.color, 'too dark')] : [],
});
const gadget = (name: string, spec: Partial<Gadget['spec']>): string =>
  JSON.stringify({ apiVersion: `${group}/v1`, kind: 'Gadget', metadata: { name }, spec });

let work: string;
let plane: ControlPlane;
let hasKubectl = false;

function run(args: readonly string[], stdin = ''): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile('kubectl', args, { timeout: 50_000 }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) || 1 : 0, stdout, stderr });
    });
    child.stdin?.end(stdin);
  });
}

function kubectl(line: string, stdin?: string): Promise<Outcome> {
  const place = ['--kubeconfig', join(work, 'config'), '--cache-dir', join(work, 'cache')];
  return run([...place, ...line.split(' ')], stdin);
}

beforeAll(async () => {
  hasKubectl = (await run(['version', '--client'])).code === 0;
  if (!hasKubectl) return;
  work = await mkdtemp(join(tmpdir(), 'kapstan-own-kinds-'));
  const dataDir = join(work, 'data');
  plane = await startControlPlane({ dataDir, port: 0, kinds: [gadgets], controlLoops: ['resourcequota-controller'] });
  await writeFile(join(work, 'config'), plane.kubeconfig, { mode: 0o600 });
});
afterAll(async () => {
  await plane?.close();
  if (work) await rm(work, { recursive: true });
});
beforeEach((context) => {
  if (!hasKubectl) context.skip('no kubectl on the PATH; install one, then: npm test -- --project e2e');
});

it('kubectl applies it, with its defaults and rules, and shows its columns', async () => {
  expect(await kubectl('apply -f -', gadget('a', { size: 3 }))).toMatchObject({
    code: 0,
    stdout: `gadget.${group}/a created\n`,
  });
  expect((await kubectl('apply -f -', gadget('a', { size: 4 }))).stdout).toBe(`gadget.${group}/a configured\n`);
  expect((await kubectl('apply --server-side -f -', gadget('b', { size: 2 }))).code).toBe(0);
  const { stdout } = await kubectl('get gd');
  expect(stdout.replaceAll(/ +/g, ' ')).toBe('NAME AREA\na 16\nb 4\n');
  expect((await kubectl('get gadget a -o jsonpath={.spec.color}')).stdout).toBe('red');
  const refused = await kubectl('apply -f -', gadget('c', { size: 6, color: 'black' }));
  expect(refused.stderr).toContain('spec.color: Invalid value: "black": too dark');
});

it('kubectl explains its fields', async () => {
  const { code, stdout } = await kubectl('explain gadgets.spec');
  expect(code).toBe(0);
  expect(stdout).toContain(`GROUP:      ${group}`);
  expect(stdout).toMatch(/size\s+<integer> -required-\s+Length in centimetres\./);
  expect(stdout).toContain('Colour of the case.');
});

it('a quota counts its objects', async () => {
  await kubectl('create namespace counted');
  await kubectl(`create quota few -n counted --hard=count/gadgets.${group}=1`);
  expect((await kubectl('apply -n counted -f -', gadget('a', { size: 3 }))).code).toBe(0);
  const path = `jsonpath={.status.used.count/gadgets\\.${group.replaceAll('.', '\\.')}}`;
  await vi.waitFor(async () => {
    expect((await kubectl(`get quota few -n counted -o ${path}`)).stdout).toBe('1');
  }, 10_000);
  const refused = await kubectl('create -n counted -f -', gadget('b', { size: 3 }));
  expect(refused.stderr).toContain('exceeded quota: few');
});
