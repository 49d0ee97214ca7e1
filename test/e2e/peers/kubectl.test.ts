// Tests kubectl's everyday commands beyond those of ../kubectl.test.ts: rollouts, nodes, files of every shape, and
// clear errors for commands that need a node or a metrics server. It needs a kubectl of 1.27 or later on the PATH.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ServeProcess, startServeProcess } from '../../kapstan/serve-process.ts';

interface Outcome {
  readonly code: number;
  /** Standard output, then standard error. */
  readonly text: string;
}

let server: ServeProcess;
let work: string;
let hasKubectl = false;

function run(
  args: readonly string[],
  input: { readonly stdin?: string; readonly editor?: string } = {},
): Promise<Outcome> {
  const env = { ...process.env, ...(input.editor === undefined ? {} : { KUBE_EDITOR: input.editor }) };
  return new Promise((resolve) => {
    const child = execFile('kubectl', args, { timeout: 50_000, maxBuffer: 1 << 26, env }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) || 1 : 0, text: stdout + stderr });
    });
    child.stdin?.end(input.stdin ?? '');
  });
}

const target = (): string[] => ['--kubeconfig', server.kubeconfig, '--cache-dir', join(work, 'cache')];

/** Runs kubectl with these words, split at spaces. Fails the test when kubectl fails. */
async function kubectl(line: string, input?: { readonly stdin?: string; readonly editor?: string }): Promise<string> {
  const outcome = await run([...target(), ...line.split(' ')], input);
  expect(outcome.code, `kubectl ${line}\n${outcome.text}`).toBe(0);
  return outcome.text;
}

/** Returns the output of a kubectl command that must fail. */
async function refusal(line: string): Promise<string> {
  const outcome = await run([...target(), ...line.split(' ')]);
  expect(outcome.code, `kubectl ${line} should fail\n${outcome.text}`).toBe(1);
  return outcome.text;
}

beforeAll(async () => {
  const version = await run(['version', '--client', '-o', 'json']);
  const minor = version.code === 0 ? Number.parseInt(JSON.parse(version.text).clientVersion.minor, 10) : 0;
  hasKubectl = minor >= 27;
  if (!hasKubectl) return;
  work = await mkdtemp(join(tmpdir(), 'kapstan-kubectl-'));
  server = await startServeProcess({ flags: ['--control-loops=none', '--disable-admission-plugins=ServiceAccount'] });
});
afterAll(async () => {
  await server?.close();
  if (work) await rm(work, { recursive: true });
});

describe('kubectl, every day', () => {
  beforeEach((context) => {
    if (!hasKubectl)
      context.skip('no kubectl of 1.27 or later on the PATH; install one, then: npm test -- --project e2e');
  });

  it('rollout restarts, pauses, resumes and tells the status', async () => {
    await kubectl('create namespace rolled');
    await kubectl('create -n rolled deployment web --image=nginx:1.25');
    expect(await refusal('rollout status -n rolled deployment/web --timeout=1s')).toContain('Waiting for deployment');
    expect(await kubectl('rollout history -n rolled deployment/web')).toContain('No rollout history found');
    expect(await kubectl('rollout restart -n rolled deployment/web')).toBe('deployment.apps/web restarted\n');
    expect(await kubectl('rollout pause -n rolled deployment/web')).toBe('deployment.apps/web paused\n');
    expect(await kubectl('rollout resume -n rolled deployment/web')).toBe('deployment.apps/web resumed\n');
    const status =
      '{"status":{"observedGeneration":4,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1}}';
    await kubectl(`patch -n rolled deployment web --subresource=status --type=merge -p ${status}`);
    expect(await kubectl('rollout status -n rolled deployment/web --timeout=10s')).toContain('successfully rolled out');
  });

  it('wait --for=condition sees a condition that was written', async () => {
    await kubectl('create namespace conditional');
    await kubectl('create -n conditional deployment web --image=nginx:1.25');
    const waiting = kubectl('wait -n conditional --for=condition=Available deployment/web --timeout=30s');
    const status = '{"status":{"conditions":[{"type":"Available","status":"True","reason":"r","message":"m"}]}}';
    await kubectl(`patch -n conditional deployment web --subresource=status --type=merge -p ${status}`);
    expect(await waiting).toContain('condition met');
  });

  it('taints, cordons and drains a node by evicting its pods', async () => {
    await kubectl('create namespace drained');
    const pod = {
      metadata: { name: 'one', namespace: 'drained' },
      spec: { nodeName: 'n1', terminationGracePeriodSeconds: 0 },
    };
    const objects = [
      { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } },
      { apiVersion: 'v1', kind: 'Pod', ...pod, spec: { ...pod.spec, containers: [{ name: 'c', image: 'i' }] } },
    ];
    for (const object of objects) await kubectl('create -f -', { stdin: JSON.stringify(object) });
    expect(await kubectl('taint node n1 a=b:NoSchedule')).toBe('node/n1 tainted\n');
    expect(await kubectl('taint node n1 a-')).toBe('node/n1 untainted\n');
    expect(await kubectl('cordon n1')).toBe('node/n1 cordoned\n');
    expect(await kubectl('get nodes')).toMatch(/^n1\s+Unknown,SchedulingDisabled/m);
    expect(await kubectl('uncordon n1')).toBe('node/n1 uncordoned\n');
    expect(await kubectl('drain n1 --force --timeout=30s')).toMatch(/pod\/one evicted\nnode\/n1 drained/);
    expect(await kubectl('get -n drained pods')).toContain('No resources found');
    expect(await kubectl('describe node n1')).toMatch(/Unschedulable:\s+true/);
  });

  it('exposes and autoscales a Deployment', async () => {
    await kubectl('create namespace served');
    await kubectl('create -n served deployment web --image=nginx:1.25');
    expect(await kubectl('expose -n served deployment/web --port=80')).toBe('service/web exposed\n');
    expect(await kubectl('describe -n served service web')).toMatch(/Port:\s+<unset>\s+80\/TCP/);
    expect(await kubectl('autoscale -n served deployment/web --min=1 --max=3')).toContain('autoscaled');
    expect(await kubectl('get -n served hpa')).toMatch(/^web\s+Deployment\/web\s+cpu: <unknown>\/80%\s+1\s+3\s+0/m);
  });

  it('edits through an editor, and knows when nothing changed', async () => {
    await kubectl('create namespace edited');
    await kubectl('create -n edited deployment web --image=nginx:1.25');
    const edited = await kubectl('edit -n edited deployment/web', { editor: 'sed -i s/nginx:1.25/nginx:1.29/' });
    expect(edited).toContain('deployment.apps/web edited');
    expect(await kubectl('get -n edited deployment web -o jsonpath={..image}')).toBe('nginx:1.29');
    const same = await kubectl('edit -n edited deployment/web', { editor: 'sed -i s/none/none/' });
    expect(same).toContain('Edit cancelled, no changes made.');
  });

  it('takes back the lists that it wrote, and finds typing errors in them', async () => {
    await kubectl('create namespace listed');
    await kubectl('create -n listed deployment web --image=nginx:1.25');
    await kubectl('expose -n listed deployment web --port=80 --target-port=http');
    await kubectl('create -n listed configmap settings --from-literal=a=b');
    const list = await kubectl('get -n listed configmap,deployment,service -o yaml');
    expect(list).toContain('kind: List');
    expect(await kubectl('replace -f -', { stdin: list })).toBe(
      'configmap/settings replaced\ndeployment.apps/web replaced\nservice/web replaced\n',
    );
    expect(await kubectl('apply -f -', { stdin: list })).toContain('deployment.apps/web configured');
    const misspelt = await run([...target(), 'apply', '-f', '-'], {
      stdin: list.replace('replicas: 1', 'replicsa: 1'),
    });
    expect(misspelt.code).toBe(1);
    expect(misspelt.text).toContain('unknown field "replicsa" in io.k8s.api.apps.v1.DeploymentSpec');
  });

  it('applies, compares, replaces and deletes a kustomization', async () => {
    const folder = join(work, 'kustomization');
    await mkdir(folder);
    const generated = 'configMapGenerator: [{name: settings, literals: [a=b]}]';
    await writeFile(
      join(folder, 'kustomization.yaml'),
      `namespace: kustomized\nresources: [namespace.yaml]\n${generated}\n`,
    );
    await writeFile(join(folder, 'namespace.yaml'), 'apiVersion: v1\nkind: Namespace\nmetadata: {name: kustomized}\n');
    expect(await kubectl(`apply -k ${folder}`)).toMatch(
      /namespace\/kustomized created\nconfigmap\/settings-\w+ created/,
    );
    expect(await kubectl(`apply -k ${folder}`)).toMatch(/configmap\/settings-\w+ unchanged/);
    expect(await kubectl(`diff -k ${folder}`)).toBe('');
    expect(await kubectl(`delete -k ${folder} --wait=false`)).toContain('"kustomized" deleted');
  });

  it('follows all namespaces and lists events', async () => {
    const watcher = spawn('kubectl', [...target(), 'get', 'configmaps', '-A', '--watch', '--no-headers'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: watcher.stdout })[Symbol.asyncIterator]();
    await kubectl('create namespace followed');
    await kubectl('create -n followed configmap last --from-literal=a=b');
    let line = '';
    while (!line.startsWith('followed ')) line = String((await lines.next()).value);
    expect(line).toMatch(/^followed\s+last\s+1\s+\d+s$/);
    watcher.kill();
    await once(watcher, 'exit');
    const involvedObject = { apiVersion: 'v1', kind: 'ConfigMap', name: 'last', namespace: 'followed' };
    const metadata = { name: 'e', namespace: 'followed' };
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata,
      involvedObject,
      type: 'Normal',
      reason: 'Seen',
      message: 'it is there',
    };
    await kubectl('create -f -', { stdin: JSON.stringify(event) });
    expect(await kubectl('events -n followed')).toMatch(/Normal\s+Seen\s+ConfigMap\/last\s+it is there/);
    expect(await kubectl('events -n followed --for configmap/last')).toContain('it is there');
  });

  it('reaches raw paths, tells of the cluster and of the user', async () => {
    const configMap = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"raw"}}';
    const made = await kubectl('create --raw /api/v1/namespaces/default/configmaps -f -', { stdin: configMap });
    expect(JSON.parse(made).metadata.name).toBe('raw');
    expect(await kubectl('get --raw /readyz')).toBe('ok');
    expect(await kubectl('cluster-info')).toContain(server.url);
    expect(await kubectl('config view --minify')).toContain(`server: ${server.url}`);
    expect(await kubectl('auth whoami')).toContain('system:masters');
    expect(await kubectl('auth can-i create pods')).toBe('yes\n');
  });

  it('adds a debug container and copies a pod to debug', async () => {
    await kubectl('create namespace debugged');
    await kubectl('run -n debugged one --image=nginx:1.25');
    await kubectl('debug -n debugged one --image=busybox:1 --profile=general -c looker');
    expect(await kubectl('get -n debugged pod one -o jsonpath={.spec.ephemeralContainers[*].name}')).toBe('looker');
    await kubectl('debug -n debugged one --image=busybox:1 --profile=general --copy-to=two -c looker');
    expect(await kubectl('get -n debugged pod two -o jsonpath={.spec.containers[*].name}')).toBe('one looker');
  });

  it('shows how the parts of the control plane are', async () => {
    expect(await kubectl('get componentstatuses')).toMatch(/^etcd-0\s+Healthy\s+ok/m);
    expect(await kubectl('get cs etcd-0 -o jsonpath={.conditions[*].status}')).toMatch(/^True/);
  });

  it.each([
    ['top pods', 'Metrics API not available'],
    ['exec one -- ls', 'pod one does not have a host assigned'],
    ['attach one', 'pod one does not have a host assigned'],
    ['cp one:/etc/hosts /dev/null', 'pod one does not have a host assigned'],
    ['port-forward one 8080:80', 'pod is not running'],
  ])('%s ends with a clear error', async (line, message) => {
    const made = await run([...target(), 'run', 'one', '--image=nginx:1.25']);
    expect(made.text).toMatch(/pod\/one created|already exists/);
    expect(await refusal(line)).toContain(message);
  });
});
