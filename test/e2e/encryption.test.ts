// Encryption at rest as an operator uses it: `kapstan serve --encryption-provider-config`, key rotation by a restart,
// and a rewrite of everything with kubectl. The steps come from Kubernetes' documentation. The test needs kubectl on
// the PATH.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findTool } from '../kapstan/find-tool.ts';
import { type ServeProcess, startServeProcess } from '../kapstan/serve-process.ts';

const kubectl = findTool({ command: 'kubectl', debianPackage: 'kubernetes-client' });
const password = 'sesame-open-the-door';

let work: string;
let server: ServeProcess | undefined;

beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), 'kapstan-encryption-'));
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  await rm(work, { recursive: true });
});

function run(args: readonly string[], stdin = ''): Promise<string> {
  const flags = ['--kubeconfig', server?.kubeconfig ?? '', '--cache-dir', join(work, 'cache')];
  return new Promise((resolve, reject) => {
    const child = execFile(kubectl ?? '', [...flags, ...args], (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${args.join(' ')}: ${stderr}`));
    });
    child.stdin?.end(stdin);
  });
}

/** Restarts the server on the same data. It encrypts with the first of these keys. */
async function restart(...keys: readonly string[]): Promise<ServeProcess> {
  await server?.close();
  const config = join(work, 'encryption.yaml');
  const list = keys.map(
    (name) => `      - name: ${name}\n        secret: ${Buffer.alloc(32, name).toString('base64')}\n`,
  );
  await writeFile(
    config,
    `apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n  - aescbc:\n      keys:\n${list.join('')}  - identity: {}\n`,
  );
  const flags = [
    `--encryption-provider-config=${config}`,
    '--encryption-provider-config-automatic-reload',
    '--storage-initialization-timeout=1s',
  ];
  server = await startServeProcess({ dataDir: join(work, 'data'), flags });
  return server;
}

const rewriteAll = async (): Promise<string> =>
  run(['replace', '-f', '-'], await run(['get', 'secrets', '--all-namespaces', '-o', 'json']));

describe('kapstan serve --encryption-provider-config', () => {
  it('hides Secrets on disk, rotates keys, and without the key says so', { timeout: 120_000 }, async (context) => {
    if (kubectl === undefined) return context.skip('kubectl is missing: apt-get install -y kubernetes-client');
    await restart('one');
    await run(['create', 'secret', 'generic', 'pass', `--from-literal=password=${password}`]);
    expect(await run(['get', '--raw', '/healthz/kms-providers'])).toBe('ok');

    await restart('two', 'one');
    expect(await rewriteAll()).toContain('secret/pass replaced');
    const version = await run(['get', 'secret', 'pass', '-o', 'jsonpath={.metadata.resourceVersion}']);
    await rewriteAll();
    expect(await run(['get', 'secret', 'pass', '-o', 'jsonpath={.metadata.resourceVersion}'])).toBe(version);

    await restart('two');
    const encoded = Buffer.from(password).toString('base64');
    expect(await run(['get', 'secret', 'pass', '-o', 'jsonpath={.data.password}'])).toBe(encoded);

    const { stderr } = await restart('three');
    await expect(run(['get', 'secret', 'pass'])).rejects.toThrow(
      /no matching key was found for the provided AES transformer/,
    );
    const data = await readFile(join(work, 'data', 'store', 'data.mdb'));
    expect(data.includes('k8s:enc:aescbc:v1:two:')).toBe(true);
    for (const text of [password, encoded]) {
      expect(data.includes(text)).toBe(false);
      expect(stderr()).not.toContain(text);
    }
  });

  it('does not start on a wrong file, and shows no key of it', async () => {
    const config = join(work, 'encryption.yaml');
    const secret = Buffer.alloc(31, 'x').toString('base64');
    await writeFile(
      config,
      `{"apiVersion":"apiserver.config.k8s.io/v1","kind":"EncryptionConfiguration","resources":[{"resources":["secrets"],"providers":[{"aesgcm":{"keys":[{"name":"a","secret":"${secret}"}]}}]}]}`,
    );
    const error = await startServeProcess({ flags: [`--encryption-provider-config=${config}`] }).catch(
      (reason: unknown) => reason as Error,
    );
    expect((error as Error).message).toContain(
      'resources[0].providers[0].aesgcm.keys[0].secret: Invalid value: "REDACTED": secret is not of the expected length, got 31, expected one of [16 24 32]',
    );
    expect((error as Error).message).not.toContain(secret.slice(0, 8));
  });
});
