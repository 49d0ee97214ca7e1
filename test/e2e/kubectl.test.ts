// Runs kubectl as a person uses it, against `kapstan serve`. The test needs a kubectl of 1.27 or later on the PATH.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ServeProcess, startServeProcess } from '../kapstan/serve-process.ts';

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let server: ServeProcess;
let work: string;
let hasKubectl = false;

function run(args: readonly string[], stdin?: string): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile('kubectl', args, { timeout: 50_000, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) || 1 : 0, stdout, stderr });
    });
    child.stdin?.end(stdin ?? '');
  });
}

/** Runs kubectl against the server; fails the test when kubectl fails. */
async function kubectl(line: string, stdin?: string): Promise<string> {
  const outcome = await run(
    ['--kubeconfig', server.kubeconfig, '--cache-dir', join(work, 'cache'), ...words(line)],
    stdin,
  );
  expect(outcome.code, `kubectl ${line}\n${outcome.stdout}${outcome.stderr}`).toBe(0);
  return outcome.stdout;
}

/** Runs kubectl and returns its outcome, success or failure. */
function tryKubectl(line: string, stdin?: string): Promise<Outcome> {
  return run(['--kubeconfig', server.kubeconfig, '--cache-dir', join(work, 'cache'), ...words(line)], stdin);
}

/** Splits at spaces outside single quotes. */
function words(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S*'[^']*'\S*)|(\S+)/g)].map(
    (m) => m[1] ?? (m[2] ?? m[3] ?? '').replaceAll("'", ''),
  );
}

async function manifest(name: string, text: string): Promise<string> {
  const file = join(work, name);
  await writeFile(file, text);
  return file;
}

const ruledWidgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gears.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gears, singular: gear, kind: Gear}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {min: {type: integer}, max: {type: integer}}
            x-kubernetes-validations:
            - rule: self.min <= self.max
              messageExpression: "'min %d is more than max %d'.format([self.min, self.max])"
              fieldPath: .min
            - rule: self.max >= oldSelf.max
              message: max never shrinks
              reason: FieldValueForbidden
`;

const deployment = (image: string): string => `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "${image}", ports: [{containerPort: 80}]}
`;

/** Returns the object that the deployment controller would create: a replica set owned by the deployment. */
const replicaSet = (namespace: string, uid: string): string => `apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-1
  namespace: ${namespace}
  labels: {app: web}
  ownerReferences:
  - {apiVersion: apps/v1, kind: Deployment, name: web, uid: ${uid}, controller: true, blockOwnerDeletion: true}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
`;

const widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1, description: How large it is.}
              color: {type: string, default: red}
          status: {type: object, properties: {phase: {type: string}}}
`;

beforeAll(async () => {
  const version = await run(['version', '--client', '-o', 'json']);
  const minor = version.code === 0 ? Number.parseInt(JSON.parse(version.stdout).clientVersion.minor, 10) : 0;
  hasKubectl = minor >= 27;
  if (!hasKubectl) return;
  work = await mkdtemp(join(tmpdir(), 'kapstan-kubectl-'));
  server = await startServeProcess();
});
afterAll(async () => {
  await server?.close();
  if (work) await rm(work, { recursive: true });
});

describe('kubectl', () => {
  beforeEach((context) => {
    if (!hasKubectl)
      context.skip('no kubectl of 1.27 or later on the PATH; install one, then: npm test -- --project e2e');
  });

  it('api-resources and api-versions list what is served', async () => {
    const resources = await kubectl('api-resources');
    expect(resources).toMatch(/^deployments\s+deploy\s+apps\/v1\s+true\s+Deployment$/m);
    expect(resources).toMatch(/^namespaces\s+ns\s+v1\s+false\s+Namespace$/m);
    expect(await kubectl('api-versions')).toMatch(/^rbac.authorization.k8s.io\/v1$/m);
    expect(await kubectl('version -o json')).toContain('serverVersion');
  });

  it('create makes each of the kinds it has a word for', async () => {
    await kubectl('create namespace made');
    expect(await kubectl('create -n made configmap settings --from-literal=a=1')).toBe('configmap/settings created\n');
    expect(await kubectl('create -n made secret generic keys --from-literal=password=hunter2')).toBe(
      'secret/keys created\n',
    );
    expect(await kubectl('create -n made deployment web --image=nginx:1.25 --replicas=2')).toBe(
      'deployment.apps/web created\n',
    );
    expect(await kubectl('create -n made job once --image=busybox -- true')).toBe('job.batch/once created\n');
    expect(await kubectl('create -n made role reader --verb=get,list --resource=pods')).toContain('reader created');
    expect(await kubectl('create -n made rolebinding readers --role=reader --user=alice')).toContain('readers created');
    expect(await kubectl('create -n made serviceaccount robot')).toBe('serviceaccount/robot created\n');
    expect(await kubectl('create -n made service clusterip web --tcp=80:8080')).toBe('service/web created\n');
    expect(await kubectl('get -n made configmap settings -o jsonpath={.data.a}')).toBe('1');
    expect(await kubectl('get -n made secret keys -o jsonpath={.data.password}')).toBe(
      Buffer.from('hunter2').toString('base64'),
    );
  });

  it('create -f makes, and says so when it exists', async () => {
    const file = await manifest(
      'cm.yaml',
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-file}\ndata: {k: v}\n',
    );
    expect(await kubectl(`create -f ${file}`)).toBe('configmap/from-file created\n');
    const again = await tryKubectl(`create -f ${file}`);
    expect(again.code).toBe(1);
    expect(again.stderr).toContain('Error from server (AlreadyExists)');
    expect(await kubectl(`delete -f ${file}`)).toContain('"from-file" deleted');
  });

  it('apply creates, leaves alone, changes; diff shows the change; dry runs change nothing', async () => {
    await kubectl('create namespace applied');
    const file = await manifest('deploy.yaml', deployment('nginx:1.25'));
    expect(await kubectl(`apply -n applied -f ${file}`)).toBe('deployment.apps/web created\n');
    expect(await kubectl(`apply -n applied -f ${file}`)).toBe('deployment.apps/web unchanged\n');
    await writeFile(file, deployment('nginx:1.26'));
    const diff = await tryKubectl(`diff -n applied -f ${file}`);
    expect(diff.code, diff.stderr).toBe(1);
    expect(diff.stdout).toContain('+      - image: nginx:1.26');
    expect(await kubectl(`apply -n applied --dry-run=server -f ${file}`)).toBe(
      'deployment.apps/web configured (server dry run)\n',
    );
    expect(await kubectl(`apply -n applied --dry-run=client -f ${file}`)).toBe(
      'deployment.apps/web configured (dry run)\n',
    );
    const image = 'get -n applied deployment web -o jsonpath={.spec.template.spec.containers[0].image}';
    expect(await kubectl(image)).toBe('nginx:1.25');
    expect(await kubectl(`apply -n applied -f ${file}`)).toBe('deployment.apps/web configured\n');
    expect(await kubectl(image)).toBe('nginx:1.26');
  });

  it('apply --server-side owns fields and reports conflicts', async () => {
    await kubectl('create namespace ssa');
    const file = await manifest('ssa.yaml', deployment('nginx:1.25'));
    expect(await kubectl(`apply -n ssa --server-side -f ${file}`)).toBe('deployment.apps/web serverside-applied\n');
    await writeFile(file, deployment('nginx:1.26'));
    const other = await tryKubectl(`apply -n ssa --server-side --field-manager=other -f ${file}`);
    expect(other.code).toBe(1);
    expect(other.stderr).toContain('conflict with "kubectl"');
    expect(await kubectl(`apply -n ssa --server-side --field-manager=other --force-conflicts -f ${file}`)).toContain(
      'serverside-applied',
    );
    const managers = await kubectl(
      'get -n ssa deployment web --show-managed-fields -o jsonpath={.metadata.managedFields[*].manager}',
    );
    expect(managers.split(' ').sort()).toEqual(['kubectl', 'other']);
  });

  it('get prints tables, wide tables, yaml, json and names', async () => {
    await kubectl('create namespace got');
    await kubectl('create -n got deployment web --image=nginx:1.25 --replicas=3');
    expect(await kubectl('get -n got deployments')).toMatch(
      /^NAME\s+READY\s+UP-TO-DATE\s+AVAILABLE\s+AGE\nweb\s+0\/3\s+0\s+0\s+\d+s\n$/,
    );
    expect(await kubectl('get -n got deployments -o wide')).toMatch(
      /CONTAINERS\s+IMAGES\s+SELECTOR\nweb .*nginx\s+nginx:1.25\s+app=web\n$/,
    );
    expect(await kubectl('get -n got deployment web -o yaml')).toContain('kind: Deployment');
    expect(JSON.parse(await kubectl('get -n got deployment web -o json')).spec.replicas).toBe(3);
    expect(await kubectl('get -n got deploy -l app=web -o name')).toBe('deployment.apps/web\n');
    expect((await tryKubectl('get -n got deploy -l app=nothing')).stderr).toContain('No resources found');
    expect(await kubectl('get namespaces')).toMatch(/^default\s+Active/m);
  });

  it('run, label, annotate, patch, set image, scale and delete change objects', async () => {
    await kubectl('create namespace changed');
    expect(await kubectl('run -n changed one --image=nginx:1.25')).toBe('pod/one created\n');
    expect(await kubectl('get -n changed pods')).toMatch(/^one\s+0\/1\s+Pending\s+0\s+\d+s$/m);
    expect(await kubectl('label -n changed pod one tier=front')).toBe('pod/one labeled\n');
    expect(await kubectl('annotate -n changed pod one note=x')).toBe('pod/one annotated\n');
    await kubectl('create -n changed deployment web --image=nginx:1.25');
    expect(await kubectl('set -n changed image deployment/web nginx=nginx:1.27')).toBe(
      'deployment.apps/web image updated\n',
    );
    expect(await kubectl('scale -n changed deployment/web --replicas=4')).toBe('deployment.apps/web scaled\n');
    expect(await kubectl(`patch -n changed deployment web -p '{"spec":{"paused":true}}'`)).toBe(
      'deployment.apps/web patched\n',
    );
    expect(
      await kubectl(`patch -n changed deployment web --type=merge -p '{"metadata":{"labels":{"a":"b"}}}'`),
    ).toContain('patched');
    expect(
      await kubectl(
        `patch -n changed deployment web --type=json -p '[{"op":"replace","path":"/spec/replicas","value":5}]'`,
      ),
    ).toContain('patched');
    const web = JSON.parse(await kubectl('get -n changed deployment web -o json'));
    expect(web.spec).toMatchObject({ replicas: 5, paused: true });
    expect(web.spec.template.spec.containers[0].image).toBe('nginx:1.27');
    expect(web.metadata.labels).toMatchObject({ app: 'web', a: 'b' });
    expect(await kubectl('delete -n changed deployment web')).toContain('"web" deleted');
    expect((await tryKubectl('get -n changed deployment web')).stderr).toContain('Error from server (NotFound)');
  });

  it('describe shows objects of built-in kinds', async () => {
    await kubectl('create namespace described');
    await kubectl('run -n described one --image=nginx:1.25');
    expect(await kubectl('describe -n described pod one')).toMatch(/Image:\s+nginx:1.25/);
    await kubectl('create -n described deployment web --image=nginx:1.25');
    expect(await kubectl('describe -n described deployment web')).toMatch(/Replicas:\s+1 desired/);
    expect(await kubectl('describe namespace described')).toContain('Status:       Active');
  });

  it('get -w follows changes', async () => {
    await kubectl('create namespace watched');
    const args = [
      '--kubeconfig',
      server.kubeconfig,
      '--cache-dir',
      join(work, 'cache'),
      'get',
      '-n',
      'watched',
      'secrets',
      '-w',
      '-o',
      'name',
    ];
    const watcher = spawn('kubectl', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const lines: string[] = [];
    const arrived = new Promise<void>((resolve) => {
      watcher.stdout.setEncoding('utf8').on('data', (text: string) => {
        lines.push(...text.split('\n').filter((line) => line !== ''));
        if (lines.length >= 2) resolve();
      });
    });
    await kubectl('create -n watched secret generic first --from-literal=a=1');
    await kubectl('create -n watched secret generic second --from-literal=a=1');
    await arrived;
    watcher.kill();
    await once(watcher, 'exit');
    expect(lines.slice(0, 2)).toEqual(['secret/first', 'secret/second']);
  });

  it('wait --for=create, jsonpath and delete end when it is so', async () => {
    await kubectl('create namespace waited');
    const created = kubectl('wait -n waited --for=create configmap/late --timeout=30s');
    await kubectl('create -n waited configmap late --from-literal=a=1');
    expect(await created).toContain('condition met');
    const changed = kubectl(`wait -n waited --for=jsonpath={.data.a}=2 configmap/late --timeout=30s`);
    await kubectl(`patch -n waited configmap late -p '{"data":{"a":"2"}}'`);
    expect(await changed).toContain('condition met');
    const gone = kubectl('wait -n waited --for=delete configmap/late --timeout=30s');
    await kubectl('delete -n waited configmap late');
    await gone;
  });

  it('explain reads the schemas of built-in and custom kinds', async () => {
    expect(await kubectl('explain deployment.spec.replicas')).toMatch(/FIELD:\s+replicas <integer>/);
    expect(await kubectl('explain pod.spec.containers')).toMatch(/FIELD:\s+containers <\[\]Container>/);
  });

  it('explain describes built-in kinds and the metadata of all', async (ctx) => {
    if (!existsSync(new URL('../../packages/kinds/dist/descriptions.json', import.meta.url)))
      ctx.skip('there are no descriptions: npm install, then npm run build');
    expect(await kubectl('explain deployment.spec.replicas')).toContain('Number of desired pods.');
    const deployment = (await kubectl('explain deployment')).replaceAll(/\s+/g, ' ');
    expect(deployment).toContain('spec <DeploymentSpec> Specification of the desired behavior of the Deployment.');
    expect(deployment).toContain("metadata <ObjectMeta> Standard object's metadata. More info: https://");
    expect(await kubectl('explain pod.metadata')).toMatch(/labels\s+<map\[string\]string>\s+Map of string keys/);
    expect(await kubectl('explain configmap')).toMatch(/apiVersion\s+<string>\s+APIVersion defines/);
  });

  it('custom resources are created, defaulted, validated, printed and explained', async () => {
    const file = await manifest('crd.yaml', widgets);
    expect(await kubectl(`apply -f ${file}`)).toContain(
      'customresourcedefinition.apiextensions.k8s.io/widgets.example.com created',
    );
    await kubectl('wait --for=condition=Established crd/widgets.example.com --timeout=30s');
    const good = await manifest(
      'good.yaml',
      'apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3}\n',
    );
    expect(await kubectl(`apply -f ${good}`)).toBe('widget.example.com/w created\n');
    expect(await kubectl('get wd w -o jsonpath={.spec.color}')).toBe('red');
    expect(await kubectl('get widgets')).toMatch(/^NAME\s+SIZE\nw\s+3\n$/);
    const bad = await manifest(
      'bad.yaml',
      'apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: x}\nspec: {size: 0}\n',
    );
    const refused = await tryKubectl(`create -f ${bad}`);
    expect(refused.stderr).toContain(
      'spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1',
    );
    expect(await kubectl('explain widget.spec.size')).toContain('How large it is.');
    expect(await kubectl('explain widget')).toMatch(
      /metadata\s+<ObjectMeta>\s+(Standard object's metadata|Metadata that every object has)/,
    );
    expect(await kubectl('explain widget.metadata.labels')).toMatch(/FIELD:\s+labels <map\[string\]string>/);
    expect(await kubectl('delete crd widgets.example.com')).toContain('deleted');
    expect((await tryKubectl('get widgets')).code).toBe(1);
  });

  it('custom resources are refused by the rules of their definition, with the text of the rule', async () => {
    const file = await manifest('crd-rules.yaml', ruledWidgets);
    await kubectl(`apply -f ${file}`);
    await kubectl('wait --for=condition=Established crd/gears.example.com --timeout=30s');
    const gear = (min: number, max: number): string =>
      `{"apiVersion":"example.com/v1","kind":"Gear","metadata":{"name":"g"},"spec":{"min":${min},"max":${max}}}`;
    const refused = await tryKubectl('create -f -', gear(3, 2));
    expect(refused.code).toBe(1);
    expect(refused.stderr.trim()).toBe('The Gear "g" is invalid: spec.min: Invalid value: min 3 is more than max 2');
    await kubectl('apply -f -', gear(1, 2));
    const changed = await tryKubectl(`patch gear g --type merge -p '{"spec":{"max":1}}'`);
    expect(changed.stderr).toContain('spec: Forbidden: max never shrinks');
    await kubectl('apply --server-side --force-conflicts -f -', gear(2, 4));
    const wrong = await tryKubectl(
      'create -f -',
      ruledWidgets.replace('self.min <= self.max', 'self.min <= self.most'),
    );
    expect(wrong.stderr).toContain("compilation failed: ERROR: <input>:1:17: undefined field 'most'");
    await kubectl('delete crd gears.example.com');
  });

  it('run finds the account of a namespace that was made a moment ago', async () => {
    await kubectl('create namespace quick');
    await kubectl('run -n quick one --image=nginx:1.25');
    expect(await kubectl('get -n quick pod one -o jsonpath={.spec.serviceAccountName}')).toBe('default');
    await kubectl('wait -n quick --for=create configmap/kube-root-ca.crt --timeout=30s');
    const published = await kubectl(`get -n quick configmap kube-root-ca.crt -o 'jsonpath={.data.ca\\.crt}'`);
    expect(published).toBe(await readFile(server.caFile, 'utf8'));
  });

  it('delete namespace ends when all that was in it is gone', async () => {
    await kubectl('create namespace doomed');
    await kubectl('create -n doomed deployment web --image=nginx:1.25');
    await kubectl('run -n doomed one --image=nginx:1.25');
    await kubectl('create -n doomed configmap settings --from-literal=a=1');
    expect(await kubectl('delete namespace doomed --timeout=40s')).toContain('"doomed" deleted');
    expect((await tryKubectl('get namespace doomed')).stderr).toContain('Error from server (NotFound)');
    await kubectl('create namespace doomed');
    expect(await kubectl('get -n doomed deployments,pods -o name')).toBe('');
    expect((await tryKubectl('get -n doomed configmap settings')).stderr).toContain('Error from server (NotFound)');
  });

  it.each(['background', 'foreground', 'orphan'])('delete --cascade=%s decides on dependents', async (cascade) => {
    const namespace = `cascade-${cascade}`;
    await kubectl(`create namespace ${namespace}`);
    await kubectl(`create -n ${namespace} deployment web --image=nginx:1.25`);
    const uid = await kubectl(`get -n ${namespace} deployment web -o jsonpath={.metadata.uid}`);
    await kubectl('create -f -', replicaSet(namespace, uid));
    expect(await kubectl(`delete -n ${namespace} deployment web --cascade=${cascade} --timeout=40s`)).toContain(
      '"web" deleted',
    );
    if (cascade === 'orphan') {
      const replicas = JSON.parse(await kubectl(`get -n ${namespace} replicaset web-1 -o json`));
      expect(replicas.metadata.ownerReferences).toBeUndefined();
      expect(replicas.metadata.deletionTimestamp).toBeUndefined();
      return;
    }
    if (cascade === 'background') {
      await kubectl(`wait -n ${namespace} --for=delete replicaset/web-1 --timeout=30s`);
    }
    expect((await tryKubectl(`get -n ${namespace} replicaset web-1`)).stderr).toContain('NotFound');
  });
});
