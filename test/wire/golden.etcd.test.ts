// The recorded transcripts on an etcd: what a client sees does not depend on the store.
import { type EtcdProcess, findEtcd, howToInstall, startEtcd } from '@kapstan/storage-etcd/testing';
import { afterAll, describe } from 'vitest';
import { replayTranscripts } from './golden-replay.ts';

const binary = findEtcd();
if (binary === undefined) console.warn(`SKIPPED: golden transcripts on etcd: no etcd found; ${howToInstall}`);

describe.skipIf(binary === undefined)('golden transcripts on etcd', () => {
  let etcd: EtcdProcess | undefined;
  // Registered first, so that it runs after the server was closed.
  afterAll(() => etcd?.remove());
  replayTranscripts(async () => {
    [etcd] = await startEtcd({ binary: binary ?? '' });
    return ['--storage-backend=etcd3', `--etcd-servers=${etcd.endpoint}`];
  });
});
