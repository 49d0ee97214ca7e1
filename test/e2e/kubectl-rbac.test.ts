// Roles and bindings as a person uses them: kubectl create role, auth can-i, auth reconcile, against `kapstan serve`.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ServeProcess, startServeProcess } from '../kapstan/serve-process.ts';

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let server: ServeProcess;
let work: string;
let hasKubectl = false;

function run(args: readonly string[], stdin = ''): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile('kubectl', args, { timeout: 50_000 }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) || 1 : 0, stdout, stderr });
    });
    child.stdin?.end(stdin);
  });
}

const cacheDir = (): string[] => ['--cache-dir', join(work, 'cache')];

/** Runs kubectl as the admin; fails the test when kubectl fails. */
async function admin(line: string, stdin?: string): Promise<string> {
  const outcome = await run(['--kubeconfig', server.kubeconfig, ...cacheDir(), ...line.split(' ')], stdin);
  expect(outcome.code, `kubectl ${line}\n${outcome.stderr}`).toBe(0);
  return outcome.stdout;
}

/** Runs kubectl as alice, with her token. */
function alice(line: string, stdin?: string): Promise<Outcome> {
  const access = ['--server', server.url, '--certificate-authority', server.caFile, '--token', server.userToken];
  return run(['--kubeconfig=/dev/null', ...access, ...cacheDir(), ...line.split(' ')], stdin);
}

const canI = async (line: string): Promise<string> => (await alice(`auth can-i ${line}`)).stdout.trim();

/** Retries, because rights apply only once the authorizer has received them. */
const eventually = (look: () => Promise<void>): Promise<void> => vi.waitFor(look, { timeout: 10_000, interval: 50 });

beforeAll(async () => {
  hasKubectl = (await run(['version', '--client'])).code === 0;
  if (!hasKubectl) return;
  work = await mkdtemp(join(tmpdir(), 'kapstan-rbac-'));
  server = await startServeProcess();
});
afterAll(async () => {
  await server?.close();
  if (work) await rm(work, { recursive: true });
});

describe('kubectl, with RBAC', () => {
  beforeEach((context) => {
    if (!hasKubectl) context.skip('no kubectl on the PATH; install one, then: npm test -- --project e2e');
  });

  it('auth can-i says no until a role is bound, and no again when the binding is gone', async () => {
    expect(await canI('list pods')).toBe('no');
    await admin('create role reader --verb=get,list --resource=pods,pods/log');
    await admin('create rolebinding alice-reads --role=reader --user=alice');
    await eventually(async () => expect(await canI('list pods')).toBe('yes'));
    expect(await canI('get pods --subresource=log')).toBe('yes');
    expect(await canI('get pods --subresource=status')).toBe('no');
    expect(await canI('delete pods')).toBe('no');
    expect(await canI('list pods -n kube-system')).toBe('no');
    expect(await canI('list pods --all-namespaces')).toBe('no');
    expect((await alice('get pods')).stderr).toContain('No resources found in default namespace.');
    const refused = await alice('get pods -n kube-system');
    expect(refused.stderr).toContain(
      'User "alice" cannot list resource "pods" in API group "" in the namespace "kube-system"',
    );
    await admin('delete rolebinding alice-reads');
    await eventually(async () => expect(await canI('list pods')).toBe('no'));
  });

  it('auth can-i knows named resources, paths and whoever is impersonated', async () => {
    await admin('create clusterrole one --verb=get --resource=configmaps --resource-name=only');
    await admin('create clusterrole paths --verb=get --non-resource-url=/metrics');
    await admin('create clusterrolebinding one --clusterrole=one --serviceaccount=default:robot');
    await admin('create clusterrolebinding paths --clusterrole=paths --group=watchers');
    const as = async (line: string): Promise<string> => {
      const outcome = await run([
        '--kubeconfig',
        server.kubeconfig,
        ...cacheDir(),
        'auth',
        'can-i',
        ...line.split(' '),
      ]);
      return outcome.stdout.trim();
    };
    const robot = '--as=system:serviceaccount:default:robot';
    await eventually(async () => expect(await as(`get configmaps/only ${robot}`)).toBe('yes'));
    expect(await as(`get configmaps/other ${robot}`)).toBe('no');
    expect(await as(`list configmaps ${robot}`)).toBe('no');
    await eventually(async () => expect(await as('get /metrics --as=x --as-group=watchers')).toBe('yes'));
    expect(await as('get /metrics --as=x')).toBe('no');
    expect(await as('* *')).toBe('yes');
    expect((await alice('get pods --as=bob')).stderr).toContain('User "alice" cannot impersonate-on:user-info:list');
  });

  it('auth can-i --list shows what everybody may and what one was given', async () => {
    await admin('create role lister --verb=list --resource=secrets -n kube-public');
    await admin('create rolebinding lister --role=lister --user=alice -n kube-public');
    await eventually(async () => {
      const { stdout } = await alice('auth can-i --list -n kube-public');
      expect(stdout).toMatch(/^secrets +\[\] +\[\] +\[list\]$/m);
      expect(stdout).toMatch(/^selfsubjectaccessreviews\.authorization\.k8s\.io +\[\] +\[\] +\[create\]$/m);
      expect(stdout).toMatch(/^ +\[\/openapi\/\*\] +\[\] +\[get\]$/m);
    });
  });

  it('the role edit, gathered by the control loop, is enough for a team, and hands nothing on', async () => {
    await admin('create namespace team');
    await admin('create rolebinding alice-edits --clusterrole=edit --user=alice -n team');
    await eventually(async () => expect(await canI('create deployments.apps -n team')).toBe('yes'));
    const made = await alice('create configmap c --from-literal=k=v -n team');
    expect(made.stderr).toBe('');
    expect(await canI('create roles.rbac.authorization.k8s.io -n team')).toBe('no');
    await admin('create rolebinding alice-owns --clusterrole=admin --user=alice -n team');
    await eventually(async () => expect(await canI('create roles.rbac.authorization.k8s.io -n team')).toBe('yes'));
    expect((await alice('create role own --verb=get --resource=pods -n team')).stderr).toBe('');
    const beyond = await alice('create role more --verb=* --resource=nodes -n team');
    expect(beyond.stderr).toContain('is attempting to grant RBAC permissions not currently held');
  });

  it('auth reconcile adds what is missing and leaves the rest', async () => {
    const role = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: kept}
rules: [{apiGroups: [""], resources: [nodes], verbs: [list]}]
`;
    await admin('create clusterrole kept --verb=get --resource=nodes');
    expect(await admin('auth reconcile -f -', role)).toContain('clusterrole.rbac.authorization.k8s.io/kept reconciled');
    const rules = await admin('get clusterrole kept -o jsonpath={.rules[*].verbs[*]}');
    expect(rules.split(' ').sort()).toEqual(['get', 'list']);
  });
});
