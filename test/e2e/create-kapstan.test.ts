// Tests the output of `npm create kapstan` as a user gets it: from packed packages, with npm, in a fresh directory. Other packages come
// from the registry or from npm's cache.
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isInvalid, isNotFound, systemClock } from '@kapstan/api';
import type { Client } from '@kapstan/client';
import {
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';
import { ConfigMap, Namespace, Secret } from '@kapstan/kinds/core/v1';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { Greeting } from '../../packages/create-kapstan/template/src/api.ts';
import {
  applyAll,
  asServiceAccount,
  clientOf,
  type RunningProgram,
  runProgram,
  webhooksAreCalled,
} from '../kapstan/created-project.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'kapstan-create-'));
const packed = join(folder, 'packed');
const project = join(folder, 'my-controller');
/** The reason why npm could not install; empty = it could. */
let isUnreachable = '';
const running = new Set<RunningProgram>();

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Does not block this process. */
function run(file: string, args: readonly string[], cwd: string): Promise<Answer> {
  return new Promise((resolve) => {
    execFile(file, args, { cwd, maxBuffer: 1 << 24 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      resolve({ status: typeof code === 'number' ? code : 1, text: `${stdout}${stderr}` });
    });
  });
}

const npm = (args: readonly string[], cwd = project): Promise<Answer> => run('npm', args, cwd);

async function create(name: string, flags: readonly string[] = []): Promise<Answer> {
  const [archive = ''] = readdirSync(packed).filter((file) => file.startsWith('create-kapstan-'));
  const all = ['exec', '--yes', `--package=${join(packed, archive)}`, '--', 'create-kapstan', name];
  return await npm([...all, '--packages', 'packed', ...flags], folder);
}

beforeAll(async () => {
  mkdirSync(packed);
  execFileSync('npm', ['pack', '--silent', '-w', 'packages', '--pack-destination', packed], {
    cwd: root,
    stdio: 'ignore',
  });
  const startMs = systemClock.monotonicNow();
  const made = await create('my-controller');
  if (/E(NOTFOUND|AI_AGAIN|CONNREFUSED|CONNRESET|TIMEDOUT)|ERR_SOCKET_TIMEOUT/.test(made.text)) {
    isUnreachable = 'npm reaches no registry: give it one, or a cache with the packages';
    return;
  }
  expect(made, made.text).toMatchObject({ status: 0 });
  const createdMs = systemClock.monotonicNow() - startMs;
  const tested = await npm(['test']);
  expect(tested, tested.text).toMatchObject({ status: 0 });
  const seconds = (ms: number): string => (ms / 1000).toFixed(1);
  const all = systemClock.monotonicNow() - startMs;
  console.log(`from a fresh directory to green tests: ${seconds(all)} s, of which npm create ${seconds(createdMs)} s`);
}, 600_000);
afterEach(async () => {
  for (const one of running) await one.stop('SIGKILL');
  running.clear();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function start(file: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): RunningProgram {
  const program = runProgram(file, args, { cwd: project, env: { ...process.env, ...env } });
  running.add(program);
  return program;
}

async function stopped(program: RunningProgram, signal: NodeJS.Signals): Promise<unknown> {
  running.delete(program);
  return await program.stop(signal);
}

/** Returns the text of each file of a directory of the project. */
function textsIn(directory: string): Readonly<Record<string, string>> {
  const files = readdirSync(join(project, directory), { recursive: true, withFileTypes: true }).filter((one) =>
    one.isFile(),
  );
  return Object.fromEntries(files.map(({ parentPath, name }) => [name, readFileSync(join(parentPath, name), 'utf8')]));
}

const named = (name: string) => ({ name, namespace: 'default' });

async function textOf(client: Client, name: string): Promise<string | undefined> {
  const found = await client.get(ConfigMap, named(name)).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  return found?.data?.text;
}

describe('a project of npm create kapstan', () => {
  it('is checked under strict types, and what it generates is up to date', { timeout: 120_000 }, async ({ skip }) => {
    if (isUnreachable !== '') return skip(isUnreachable);
    const checked = await npm(['run', 'check']);
    expect(checked, checked.text).toMatchObject({ status: 0 });
    const before = textsIn('config');
    expect(Object.keys(before).sort()).toEqual(['example.com_greetings.yaml', 'manifests.yaml', 'rbac.yaml']);
    const again = await npm(['run', 'generate']);
    expect(again.text.match(/^0 of 1 files in config\/\w+ written$/gm)).toHaveLength(3);
    expect(textsIn('config')).toEqual(before);
  });

  it('installs no server with the program alone', { timeout: 60_000 }, async ({ skip }) => {
    if (isUnreachable !== '') return skip(isUnreachable);
    const { text } = await npm(['ls', '--omit=dev', '--all', '--parseable']);
    const names = text
      .split('\n')
      .map((line) => line.split(/node_modules[/\\]/).at(-1) ?? '')
      .filter((name) => name.startsWith('@kapstan/') || name === 'lmdb');
    expect(names.sort()).toEqual(
      ['api', 'client', 'controller', 'informers', 'inspector', 'kinds'].map((name) => `@kapstan/${name}`),
    );
  });

  it('is developed on a server that outlives each reload', { timeout: 240_000 }, async ({ skip }) => {
    if (isUnreachable !== '') return skip(isUnreachable);
    const dev = start('npm', ['run', 'dev']);
    const [, path = ''] = await dev.printed(/export KUBECONFIG='([^']+)'/);
    await dev.printed(/Starting workers/);
    const lines = dev
      .text()
      .split('\n')
      .filter((line) => line !== '');
    expect(lines).toEqual([...new Set(lines)]);
    expect(lines).toContainEqual(expect.stringMatching(/^made the certificates of webhooks/));
    const inspector = /serving the inspector .*/;
    const [page] = await dev.printed(inspector);
    const client = await clientOf(readFileSync(path, 'utf8'));
    await webhooksAreCalled(client);
    const made = await client.create(Greeting, { metadata: named('first'), spec: { message: 'hello' } });
    const user = made.spec?.from ?? '';
    await vi.waitFor(async () => expect(await textOf(client, 'first')).toBe(`${user}: hello`), 30_000);
    const foreign = { metadata: named('second'), spec: { message: 'hello', from: 'somebody else' } };
    await expect(client.create(Greeting, foreign)).rejects.toSatisfy(isInvalid);

    const uid = (await client.get(Namespace, { name: 'default' })).metadata?.uid;
    const source = join(project, 'src/controller.ts');
    const before = readFileSync(source, 'utf8');
    const printed = dev.text().length;
    writeFileSync(source, before.replace(': $', ' says $'));
    await dev.printed(/^dev: src\/controller\.ts changed; the controller was restarted$/m, printed);
    await dev.printed(/Starting workers/, printed);
    expect((await dev.printed(inspector, printed))[0]).toBe(page);
    await vi.waitFor(async () => expect(await textOf(client, 'first')).toBe(`${user} says hello`), 30_000);
    // The same server, on the same connection.
    expect((await client.get(Namespace, { name: 'default' })).metadata?.uid).toBe(uid);
    await webhooksAreCalled(client);
    await client.close();
    writeFileSync(source, before);
    // Some shells between npm and the program do not pass signals on; Control-C reaches all processes.
    await stopped(dev, 'SIGTERM');
    expect(dev.text()).toMatch(/^dev: (stopped by SIGTERM|npm has ended)$/m);
  });

  it('works in a cluster with just the rights of its manifests, and ends at SIGTERM', { timeout: 240_000 }, async ({
    skip,
  }) => {
    if (isUnreachable !== '') return skip(isUnreachable);
    const flags = ['--secure-port=0', '--data-dir=.kapstan/cluster', '--kubeconfig-out=.kapstan/cluster.kubeconfig'];
    const server = start('node', ['node_modules/@kapstan/control-plane/bin/kapstan.js', 'serve', ...flags]);
    await server.printed(/"serving"/);
    const kubeconfig = readFileSync(join(project, '.kapstan/cluster.kubeconfig'), 'utf8');
    const client = await clientOf(kubeconfig);
    await client.create(Namespace, { metadata: { name: 'my-controller' } });
    await applyAll(client, Object.values({ ...textsIn('config/crd'), ...textsIn('config/manager') }));
    // A pod has its ports for itself, but here they may be taken.
    const main = readFileSync(join(project, 'dist/main.js'), 'utf8');
    const ports = 'metrics: { port: 0 }, webhooks: { ...options.webhooks, port: 0, leaveMs: 0 }, logger: console';
    expect(main).toContain('logger: console');
    writeFileSync(join(project, 'dist/main-with-ports.js'), main.replace('logger: console', ports));
    const account = { name: 'my-controller', namespace: 'my-controller' };
    const own = await asServiceAccount(client, kubeconfig, account);
    writeFileSync(join(project, '.kapstan/account.kubeconfig'), own);
    const program = start('node', ['dist/main-with-ports.js'], { KUBECONFIG: '.kapstan/account.kubeconfig' });
    await program.printed(/Starting workers/);
    await vi.waitFor(async () => {
      expect(await client.get(Lease, account)).toMatchObject({ spec: { holderIdentity: expect.stringMatching(/./) } });
      const name = { name: 'my-controller-webhooks' };
      for (const kind of [MutatingWebhookConfiguration, ValidatingWebhookConfiguration]) {
        const [webhook] = (await client.get(kind, name)).webhooks ?? [];
        expect(webhook?.clientConfig).toMatchObject({ caBundle: expect.any(String), service: account });
      }
      await client.get(Secret, { ...account, name: 'my-controller-webhook-certificates' });
    }, 30_000);
    expect(await stopped(program, 'SIGTERM')).toEqual([0, null]);
    expect(program.text()).not.toMatch(/forbidden|Error/i);
    await client.close();
    expect(await stopped(server, 'SIGTERM')).toEqual([0, null]);
  });

  it('has tests for node --test, too', { timeout: 240_000 }, async ({ skip }) => {
    if (isUnreachable !== '') return skip(isUnreachable);
    const made = await create('backups', [
      '--kind',
      'Backup',
      '--group',
      'example.org',
      '--test',
      'node',
      '--no-install',
    ]);
    expect(made, made.text).toMatchObject({ status: 0 });
    const other = join(folder, 'backups');
    // The dependencies are the same as in the first project.
    execFileSync('cp', ['-r', join(project, 'node_modules'), join(other, 'node_modules')]);
    const tested = await npm(['test'], other);
    expect(tested, tested.text).toMatchObject({ status: 0 });
    expect(tested.text).toMatch(/^(# |ℹ )pass 5$/m);
    const { greetingController, backupController } = (await import(
      pathToFileURL(join(other, '.test/src/program.js')).href
    )) as Record<string, unknown>;
    expect([greetingController, backupController]).toEqual([undefined, expect.objectContaining({ name: 'backup' })]);
  });

  it('is made by kapstan init, too, and refused in words', async () => {
    const bin = join(root, 'packages/control-plane/bin/kapstan.js');
    const made = await run(process.execPath, [bin, 'init', 'one', '--no-install'], folder);
    expect(made).toMatchObject({ status: 0, text: expect.stringContaining('Created 16 files in one\n') });
    expect(await run(process.execPath, [bin, 'init', 'one'], folder)).toEqual({
      status: 1,
      text: 'kapstan init: the directory one exists and is not empty; choose another name, or --force to replace files of the same name\n',
    });
    expect(await run(process.execPath, [bin, 'init'], folder)).toMatchObject({ status: 2 });
  });
});
