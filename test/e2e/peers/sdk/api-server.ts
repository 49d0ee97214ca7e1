// The two servers that the programs of this folder run against: `kapstan serve`, and a real kube-apiserver on an etcd.
import { findEtcd, howToInstall, startEtcd } from '@kapstan/storage-etcd/testing';
import { startServeProcess } from '../../../kapstan/serve-process.ts';
import { startKubeApiserver } from '../etcd-kube-apiserver.ts';
import { objectFrom, requestJson } from '../etcd-requests.ts';

export interface ApiServer {
  readonly url: string;
  /** Token of a user who may do everything. */
  readonly token: string;
  /** Compacts the store to its present revision. */
  compact(): Promise<void>;
  close(): Promise<void>;
}

export interface ApiServerKind {
  readonly name: string;
  /** The reason why it cannot be started here, and a remedy. Absent if it can. */
  readonly missing?: string;
  start(): Promise<ApiServer>;
}

export const apiServers: readonly ApiServerKind[] = [
  { name: 'kapstan serve', start: startKapstan },
  { name: 'a kube-apiserver', start: startKube, ...missingKube() },
];

async function startKapstan(): Promise<ApiServer> {
  const serve = await startServeProcess({
    flags: ['--control-loops=none', '--disable-admission-plugins=ServiceAccount'],
  });
  const server = { url: serve.url, token: serve.adminToken };
  return {
    ...server,
    compact: async () => void (await objectFrom(requestJson(server, 'POST', '/debug/kapstan/store/compact'))),
    close: () => serve.close(),
  };
}

function missingKube(): { readonly missing?: string } {
  const rerun = 'npm test -- --project e2e test/e2e/peers/sdk.test.ts';
  if (!process.env.KAPSTAN_KUBE_APISERVER)
    return { missing: `KAPSTAN_KUBE_APISERVER names no kube-apiserver; with one: ${rerun}` };
  return findEtcd() === undefined ? { missing: howToInstall } : {};
}

async function startKube(): Promise<ApiServer> {
  const [etcd] = await startEtcd({ binary: findEtcd() ?? '' });
  const kube = await startKubeApiserver(process.env.KAPSTAN_KUBE_APISERVER ?? '', etcd.endpoint).catch(
    async (error) => {
      await etcd.remove();
      throw error;
    },
  );
  return {
    url: kube.url,
    token: kube.token,
    compact: async () => {
      const { metadata } = await objectFrom(requestJson(kube, 'GET', '/api/v1/events?limit=1'));
      const body = JSON.stringify({ revision: metadata.resourceVersion, physical: true });
      const answer = await fetch(`${etcd.endpoint}/v3/kv/compaction`, { method: 'POST', body });
      if (!answer.ok) throw new Error(`etcd did not compact: ${answer.status} ${await answer.text()}`);
    },
    close: async () => {
      await kube.close();
      await etcd.remove();
    },
  };
}
