// Replays the recorded transcripts on an etcd, because the answers to a client must not depend on the store. The etcd
// is of the 3.6 line if Go can build it, otherwise the machine's own.
import { openEtcdEngine } from '@kapstan/storage-etcd';
import { type EtcdProcess, findEtcd, howToInstall, startEtcd } from '@kapstan/storage-etcd/testing';
import { afterAll, describe, it } from 'vitest';
import { etcd36 } from '../reliability/etcd/etcd-binaries.ts';
import { replayTranscripts } from './golden-replay.ts';

/** Files that need an etcd with progress requests; on an older one a kube-apiserver refuses their requests too. */
const needProgress = ['c-list-versions.json', 'c-watch-end.json', 'c-watch-initial.json'];
const noProgress = 'this etcd is older than 3.4.31 or 3.5.13 and tells no progress; KAPSTAN_ETCD=path names another';

async function cannot(endpoint: string): Promise<ReadonlyMap<string, string>> {
  const engine = await openEtcdEngine({ endpoints: [endpoint] });
  try {
    return new Map(engine.supportsProgressRequests ? [] : needProgress.map((name) => [name, noProgress]));
  } finally {
    await engine.close();
  }
}

const binary = (await etcd36()).path ?? findEtcd();

describe('golden transcripts on etcd', () => {
  if (binary === undefined) {
    // One skipped test states the reason, instead of a hundred.
    it('are answered as recorded', (context) => context.skip(`no etcd found; ${howToInstall}`));
    return;
  }
  let etcd: EtcdProcess | undefined;
  // This clean-up is registered first, so that it runs after the server was closed.
  afterAll(() => etcd?.remove());
  replayTranscripts(async () => {
    [etcd] = await startEtcd({ binary });
    const flags = ['--storage-backend=etcd3', `--etcd-servers=${etcd.endpoint}`];
    return { flags, cannot: await cannot(etcd.endpoint) };
  });
});
