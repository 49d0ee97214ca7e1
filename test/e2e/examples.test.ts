// Runs the numbered examples as users do: checks their output, line by line, and that they end on request.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type KubernetesObject, resource } from '@kapstan/api';
import { ConfigMap, Pod } from '@kapstan/kinds/core/v1';
import { type TestCluster, testCluster } from '@kapstan/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const examples = fileURLToPath(new URL('../../examples', import.meta.url));
let cluster: TestCluster;
let folder: string;
let output: string;
let onOutput: () => void;
const running = new Set<ChildProcess>();

beforeEach(async () => {
  cluster = await testCluster({
    clock: 'real',
    controlPlane: { admission: { enabled: [], disabled: ['ServiceAccount'] } },
  });
  folder = await mkdtemp(join(tmpdir(), 'kapstan-examples-'));
  await writeFile(join(folder, 'kubeconfig'), cluster.kubeconfig);
  output = '';
  onOutput = () => undefined;
});
afterEach(async () => {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
  await cluster.close();
  await rm(folder, { recursive: true });
});

/** Runs a built example. The output of all examples goes into one text. */
function start(program: string, args: readonly string[] = []) {
  const path = join(examples, 'dist', `${program}.js`);
  const env = { ...process.env, KUBECONFIG: join(folder, 'kubeconfig') };
  const child = spawn(process.execPath, [path, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  const read = (chunk: Buffer): void => {
    output += chunk.toString();
    onOutput();
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  const exited = once(child, 'exit').then(([code]) => {
    running.delete(child);
    onOutput();
    return code as number | null;
  });
  const end = async (): Promise<void> => {
    child.kill('SIGTERM');
    expect(await exited, output).toBe(0);
  };
  return { child, end, exited };
}

async function printed(line: string): Promise<void> {
  while (!output.split('\n').includes(line)) {
    if (running.size === 0) throw new Error(`ended before it printed "${line}":\n${output}`);
    await new Promise<void>((resolve) => {
      onOutput = resolve;
    });
  }
}

const expected = (example: string) => readFile(join(examples, example, 'output.txt'), 'utf8');
const pod = (name: string): Pod => ({
  metadata: { namespace: 'default', name },
  spec: { containers: [{ name: 'c', image: 'i' }] },
});
const configMap = (name: string, labels: Record<string, string>): ConfigMap => ({
  metadata: { namespace: 'default', name, labels },
});

describe('examples', () => {
  it('01 watches pods', async () => {
    await cluster.client.create(Pod, pod('old'));
    const { end } = start('01-watch-pods/watch-pods');
    await printed('synced: 1 pods');
    const at = { namespace: 'default', name: 'web' };
    await cluster.client.create(Pod, pod('web'));
    await cluster.client.patch(
      Pod,
      at,
      { type: 'merge', body: { status: { phase: 'Running' } } },
      { subresource: 'status' },
    );
    await printed('updated default/web Running');
    await cluster.client.delete(Pod, at, { gracePeriodSeconds: 0 });
    await printed('deleted default/web Running');
    await end();
    expect(output).toBe(await expected('01-watch-pods'));
  });

  it('02 shares informers across controllers', async () => {
    const { end } = start('02-shared-informers/shared-informers');
    await printed('one informer, indexed by namespace and team');
    await cluster.client.create(ConfigMap, configMap('a', { team: 'red' }));
    await printed('counter: team red has 1');
    await cluster.client.create(ConfigMap, configMap('b', { team: 'red' }));
    await printed('counter: team red has 2');
    await end();
    expect(output).toBe(await expected('02-shared-informers'));
  });

  it('04 elects a leader, and hands over', async () => {
    await cluster.client.create(ConfigMap, configMap('a', { greet: 'yes' }));
    await cluster.client.create(ConfigMap, configMap('b', { greet: 'yes' }));
    const first = start('04-leader-election/leader-election', ['first']);
    await printed('first greets b');
    const second = start('04-leader-election/leader-election', ['second']);
    await first.end();
    await printed('second greets b');
    await cluster.client.create(ConfigMap, configMap('c', { greet: 'yes' }));
    await printed('second greets c');
    await second.end();
    expect(output).toBe(await expected('04-leader-election'));
  });

  it('05 cleans up by a finalizer', async () => {
    const { end } = start('05-finalizers/finalizers');
    const Bucket = resource<KubernetesObject & { spec: object }>({ group: 'demo.dev', version: 'v1', kind: 'Bucket' });
    const photos = { metadata: { namespace: 'default', name: 'photos' }, spec: { region: 'north' } };
    // The call is retried until the program has installed the definition.
    while (
      !(await cluster.client.create(Bucket, photos).then(
        () => true,
        () => false,
      ))
    )
      await new Promise<void>((resolve) => setImmediate(resolve));
    await printed('made photos in north, held by demo.dev/bucket');
    await cluster.client.delete(Bucket, photos.metadata);
    await printed('removed photos; left: 0');
    await end();
    expect(output).toBe(await expected('05-finalizers'));
  });

  it('06 uses the storage stack without an API server, twice in one directory', async () => {
    for (let round = 0; round < 2; round += 1) {
      const { exited } = start('06-storage-stack/storage-stack', [join(folder, 'store')]);
      expect(await exited, output).toBe(0);
    }
    expect(output).toBe((await expected('06-storage-stack')).repeat(2));
  });

  it('09 sets defaults, validates and converts by webhooks', async () => {
    const { end } = start('09-webhooks/webhooks');
    type Backup = KubernetesObject & { spec: object };
    const Backup = resource<Backup>({ group: 'demo.dev', version: 'v1', kind: 'Backup' });
    const OldBackup = resource<Backup>({ group: 'demo.dev', version: 'v1beta1', kind: 'Backup' });
    const named = (name: string, spec: object, labels = {}): Backup => ({
      metadata: { ...defaults, name, labels },
      spec,
    });
    const defaults = { namespace: 'default' };
    // The call is retried until the program has installed the definition and its webhooks.
    const isRefused = (): Promise<boolean> =>
      cluster.client.create(Backup, named('photos', { keep: 0 }), { dryRun: true }).then(
        () => false,
        (error: Error) => error.message.includes('spec.keep: Invalid value: 0: must be at least 1'),
      );
    while (!(await isRefused())) await new Promise<void>((resolve) => setImmediate(resolve));
    await cluster.client.create(Backup, named('photos', {}, { protected: 'yes' }));
    await printed('photos: every 24 hours, keep 7');
    await expect(cluster.client.delete(Backup, { ...defaults, name: 'photos' })).rejects.toThrow('"protected" first');
    await cluster.client.create(OldBackup, named('mail', { days: 2, keep: 3 }));
    await printed('mail: every 48 hours, keep 3');
    expect((await cluster.client.get(OldBackup, { ...defaults, name: 'photos' })).spec).toEqual({ days: 1, keep: 7 });
    await end();
    expect(output).toBe(await expected('09-webhooks'));
  });
});
