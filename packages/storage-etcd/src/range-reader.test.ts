import { status } from '@grpc/grpc-js';
import { type Revision, toRevision } from '@kapstan/api';
import { isStorageError } from '@kapstan/storage';
import { describe, expect, it } from 'vitest';
import { RangeReader } from './range-reader.ts';
import { type AskedCall, refusal, type ScriptedEtcd, startScriptedEtcd } from './testing/scripted-etcd.ts';

const all = { start: '/', end: '0' };

interface Store {
  readonly keys: number;
  readonly valueBytes?: number;
  readonly maxReceiveBytes?: number;
  /** Returns the error to throw for the n-th request, counted from 0. */
  readonly fails?: (request: number, asked: AskedCall['request']) => Error | undefined;
}

interface Bench extends AsyncDisposable {
  readonly reader: RangeReader;
  /** Returns revision and limit of each range that was requested. */
  readonly pages: () => readonly (readonly [number, number])[];
  readonly compacted: Revision[];
}

/** Opens a store of keys /k0000 …. The first answer has revision 100, each later one a revision more. */
async function open({ keys, valueBytes = 10, maxReceiveBytes = -1, fails }: Store): Promise<Bench> {
  const names = Array.from({ length: keys }, (_, index) => `/k${String(index).padStart(4, '0')}`);
  let requests = 0;
  const answer = ({ request }: AskedCall): unknown => {
    const failure = fails?.(requests, request);
    requests += 1;
    if (failure !== undefined) throw failure;
    const start = Buffer.from(request.key).toString();
    const { limit = 0, revision = 0 } = request;
    const rest = names.filter((name) => name >= start);
    const kvs = rest.slice(0, limit === 0 ? rest.length : limit).map((name) => ({
      key: Buffer.from(name),
      value: Buffer.alloc(valueBytes),
      createRevision: 5,
      modRevision: revision === 0 ? 99 : revision,
      lease: 0,
    }));
    return { header: { revision: 99 + requests }, kvs, more: kvs.length < rest.length, count: rest.length };
  };
  const etcd: ScriptedEtcd = await startScriptedEtcd({ answer, maxReceiveBytes });
  const compacted: Revision[] = [];
  const reader = new RangeReader({
    caller: etcd.caller,
    quietKey: '/registry/',
    pageBytes: 100_000,
    compactRevision: () => compacted.at(-1) ?? toRevision(0),
    onCompacted: (revision) => compacted.push(revision),
  });
  return {
    reader,
    pages: () => etcd.asked.map(({ request }) => [request.revision ?? 0, request.limit ?? 0]),
    compacted,
    [Symbol.asyncDispose]: () => etcd[Symbol.asyncDispose](),
  };
}

const compactedError = (): Error =>
  refusal(status.OUT_OF_RANGE, 'etcdserver: mvcc: required revision has been compacted');

describe('RangeReader', () => {
  it('reads later pages at the revision of the first, each key once, as many as fit', async () => {
    await using bench = await open({ keys: 1_200, valueBytes: 244 });
    const { kvs, revision, count, more } = await bench.reader.range(all, {});
    expect(new Set(kvs.map(({ key }) => key)).size).toBe(1_200);
    expect([kvs.length, revision, count, more]).toEqual([1_200, 100, 1_200, false]);
    // 500 keys to begin with, then as many as 100 000 bytes hold of keys of 6 and values of 244 bytes.
    expect(bench.pages()).toEqual([
      [0, 500],
      [100, 400],
      [100, 400],
    ]);
  });

  it.each([
    [499, [[0, 499]]],
    [500, [[0, 500]]],
    [
      501,
      [
        [0, 500],
        [100, 1],
      ],
    ],
  ])('stops at a limit of %i and says that there is more', async (limit, pages) => {
    await using bench = await open({ keys: 1_200 });
    const result = await bench.reader.range(all, { limit });
    expect([result.kvs.length, result.more, result.count]).toEqual([limit, true, 1_200]);
    expect(bench.pages()).toEqual(pages);
  });

  it('halves a page until it fits into a message', async () => {
    await using bench = await open({ keys: 30, valueBytes: 1_000, maxReceiveBytes: 10_000 });
    const { kvs, count } = await bench.reader.range(all, {});
    expect([kvs.length, count]).toEqual([30, 30]);
    const limits = bench.pages().map(([, limit]) => limit);
    expect(limits.slice(0, 8)).toEqual([500, 250, 125, 63, 32, 16, 8, 32]);
  });

  it('begins the newest state anew when its history is compacted between two pages', async () => {
    const fails = (request: number): Error | undefined => (request === 1 ? compactedError() : undefined);
    await using bench = await open({ keys: 600, fails });
    const { kvs, revision } = await bench.reader.range(all, {});
    expect([kvs.length, revision]).toEqual([600, 102]);
    expect(bench.pages().map(([at]) => at)).toEqual([0, 100, 0, 102]);
  });

  it('answers Compacted for a past state, and passes on the revision of the compaction', async () => {
    await using bench = await open({ keys: 5, fails: compactedError });
    const error = await bench.reader.range(all, { revision: toRevision(40) }).catch((reason: unknown) => reason);
    // The compacted revision is unknown, but it is higher than the refused one.
    expect(isStorageError(error, 'Compacted') && error.revision).toBe(41);
    expect(bench.compacted).toEqual([41]);
    expect(bench.pages()).toHaveLength(1);
  });

  it('says FutureRevision with the newest revision', async () => {
    const fails = (request: number): Error | undefined =>
      request === 0
        ? refusal(status.OUT_OF_RANGE, 'etcdserver: mvcc: required revision is a future revision')
        : undefined;
    await using bench = await open({ keys: 5, fails });
    const error = await bench.reader.get('/k0001', { revision: toRevision(900) }).catch((reason: unknown) => reason);
    expect(isStorageError(error, 'FutureRevision') && error.revision).toBe(101);
  });
});
