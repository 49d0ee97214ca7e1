// Starts a real kube-apiserver on an etcd that another server uses too, for etcd-kube-apiserver.test.ts. It is not
// built here: see KAPSTAN_KUBE_APISERVER in that file.
import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { delay, systemClock } from '@kapstan/api';
import { requestJson, type Server } from './etcd-requests.ts';

const readyWithinMs = 60_000;

export interface KubeApiserver extends Server {
  close(): Promise<void>;
}

/** Rejects with the end of its log when it is not ready within a minute. */
export async function startKubeApiserver(binary: string, etcdEndpoint: string): Promise<KubeApiserver> {
  const work = await mkdtemp(join(tmpdir(), 'kapstan-kube-apiserver-'));
  const key = join(work, 'service-account.key');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(key, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await writeFile(join(work, 'tokens.csv'), 'admin-token,admin,admin-uid,"system:masters"\n');
  const port = await freePort();
  const child = spawn(
    binary,
    [
      `--etcd-servers=${etcdEndpoint}`,
      `--secure-port=${port}`,
      '--bind-address=127.0.0.1',
      `--cert-dir=${work}`,
      `--token-auth-file=${join(work, 'tokens.csv')}`,
      '--authorization-mode=RBAC',
      '--service-account-issuer=https://issuer.test',
      `--service-account-key-file=${key}`,
      `--service-account-signing-key-file=${key}`,
      '--service-cluster-ip-range=10.96.0.0/16',
      '--endpoint-reconciler-type=none',
      '--disable-admission-plugins=ServiceAccount',
      '--v=0',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-4_000);
  });
  const exited = once(child, 'exit');
  const close = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
    await rm(work, { recursive: true, force: true });
  };
  const server = { url: `https://127.0.0.1:${port}`, token: 'admin-token' };
  await waitUntilReady(server, child).catch(async (error: Error) => {
    await close();
    throw new Error(`${error.message}\n${log}`, { cause: error });
  });
  return { ...server, close };
}

async function waitUntilReady(server: Server, child: ChildProcess): Promise<void> {
  const deadline = systemClock.monotonicNow() + readyWithinMs;
  while (systemClock.monotonicNow() < deadline) {
    if (child.exitCode !== null) throw new Error(`kube-apiserver ended with status ${child.exitCode}`);
    const answer = await requestJson(server, 'GET', '/readyz').catch(() => undefined);
    if (answer?.code === 200) return;
    await delay(systemClock, 200);
  }
  throw new Error(`kube-apiserver was not ready within ${readyWithinMs} ms`);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}
