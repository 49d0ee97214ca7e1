import { status } from '@grpc/grpc-js';
import { type LogFields, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { isStorageError, type StorageError } from '@kapstan/storage';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { AuthToken } from './auth-token.ts';
import { Caller } from './caller.ts';
import { parseEndpoints } from './endpoint.ts';
import { EndpointPool } from './endpoint-pool.ts';
import { type AskedCall, refusal, type ScriptedEtcd, startScriptedEtcd } from './testing/scripted-etcd.ts';
import { loadWire, type TxnRequest } from './wire.ts';

const key = Buffer.from('/a');
const silence = new Promise<never>(() => undefined);
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const emptyTxn: TxnRequest = { compare: [], success: [], failure: [] };
const read = ({ caller }: ScriptedEtcd): Promise<unknown> => caller.read(loadWire().range, { key });
const write = ({ caller }: ScriptedEtcd): Promise<unknown> => caller.write(loadWire().txn, emptyTxn, { key: '/a' });
const answered = { header: { revision: 7 } };

async function storageError(work: Promise<unknown>): Promise<StorageError> {
  const error = await work.then(
    () => 'no error',
    (reason: unknown) => reason,
  );
  if (!isStorageError(error)) throw new Error(`not a StorageError: ${String(error)}`);
  return error;
}

describe('Caller', () => {
  it.each([
    [status.UNAVAILABLE, 'etcdserver: leader changed'],
    [status.UNAVAILABLE, 'etcdserver: request timed out'],
    [status.UNKNOWN, 'raft: stopped'],
  ])('makes a read again on another member after %i %s', async (code, details) => {
    const answer = ({ member }: AskedCall) => {
      if (member === 0) throw refusal(code, details);
      return answered;
    };
    await using etcd = await startScriptedEtcd({ members: 2, answer });
    expect(await read(etcd)).toMatchObject(answered);
    // The next call begins with the member that answered.
    await read(etcd);
    expect(etcd.asked.map(({ member }) => member)).toEqual([0, 1, 1]);
  });

  it('asks another member while there is time when one says nothing to a read, and leaves the last all the rest', async () => {
    const clock = new VirtualClock();
    let release = (): void => undefined;
    const late = new Promise((resolve) => {
      release = () => resolve(answered);
    });
    const answer = ({ member }: AskedCall) => (member === 0 ? silence : late);
    await using etcd = await startScriptedEtcd({ members: 2, answer, clock, callTimeoutMs: 9_000 });
    const done = read(etcd);
    await etcd.askedFor(1);
    await clock.advance(4_499);
    expect(clock.pendingTimers).toBe(2);
    await clock.advance(1);
    // The member's time is over; the remaining timers are the call's own and the pause.
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(2));
    await clock.advance(25);
    await etcd.askedFor(2);
    await clock.advance(4_400);
    release();
    expect(await done).toMatchObject(answered);
    expect(etcd.asked.map(({ member }) => member)).toEqual([0, 1]);
    expect(clock.pendingTimers).toBe(0);
    // The next call begins with the member that answered.
    await read(etcd);
    expect(etcd.asked.at(-1)?.member).toBe(1);
  });

  it('gives up a read that no member answers well when the time is over, and says why', async () => {
    const clock = new VirtualClock();
    const answer = () => {
      throw refusal(status.UNAVAILABLE, 'etcdserver: no leader');
    };
    await using etcd = await startScriptedEtcd({ answer, clock, callTimeoutMs: 60 });
    const error = storageError(read(etcd));
    // One timer belongs to the call, the other is the pause after the first answer.
    while (clock.pendingTimers < 2) await nextTurn();
    await clock.advance(60);
    expect(await error).toMatchObject({ code: 'Unreachable', maybeApplied: false });
    expect((await error).message).toContain('no answer within 60 ms: etcdserver: no leader');
  });

  it.each<[number, string, string, boolean]>([
    [status.UNAVAILABLE, 'etcdserver: leader changed', 'Unreachable', true],
    [status.UNAVAILABLE, 'etcdserver: request timed out', 'Unreachable', true],
    [status.UNKNOWN, 'whatever', 'Unreachable', true],
    [status.UNAVAILABLE, 'etcdserver: no leader', 'Unreachable', false],
    [status.RESOURCE_EXHAUSTED, 'etcdserver: too many requests', 'Unreachable', false],
    [status.PERMISSION_DENIED, 'etcdserver: permission denied', 'Unreachable', false],
    [status.RESOURCE_EXHAUSTED, 'etcdserver: mvcc: database space exceeded', 'Full', false],
    [status.INVALID_ARGUMENT, 'etcdserver: request is too large', 'TooLarge', false],
    [status.NOT_FOUND, 'etcdserver: requested lease not found', 'InvalidObject', false],
  ])('sends a write once: %i %s means %s, maybe applied: %s', async (code, details, meaning, maybeApplied) => {
    const answer = () => {
      throw refusal(code, details);
    };
    await using etcd = await startScriptedEtcd({ members: 2, answer });
    expect(await storageError(write(etcd))).toMatchObject({ code: meaning, maybeApplied, key: '/a' });
    expect(etcd.asked).toHaveLength(1);
  });

  it('gives up a write that waits for a connection when it is aborted', async () => {
    const stop = new AbortController();
    await using etcd = await startScriptedEtcd({ members: 0, answer: () => answered, callTimeoutMs: 60_000 });
    const call = { key: '/a', signal: stop.signal };
    const aborted = etcd.caller.write(loadWire().txn, emptyTxn, call);
    await nextTurn();
    stop.abort(new Error('the client is gone'));
    await expect(aborted).rejects.toThrow('the client is gone');
    await etcd.caller.idle();
  });

  it('says of a write without an answer that it may be applied, and asks another member next', async () => {
    const clock = new VirtualClock();
    const answer = ({ member }: AskedCall) => (member === 0 ? silence : answered);
    await using etcd = await startScriptedEtcd({ members: 2, answer, clock });
    const error = storageError(write(etcd));
    await etcd.askedFor(1);
    await clock.advance(1_000);
    expect(await error).toMatchObject({ code: 'Unreachable', maybeApplied: true });
    expect((await error).message).toContain('no answer within 1000 ms');
    await read(etcd);
    expect(etcd.asked.map(({ member, method }) => [member, method])).toEqual([
      [0, 'txn'],
      [1, 'range'],
    ]);
  });

  it('says of a write that found no connection that it was not applied', async () => {
    const clock = new VirtualClock();
    await using etcd = await startScriptedEtcd({ members: 0, answer: () => answered, clock });
    const error = storageError(write(etcd));
    await clock.advance(1_000);
    expect(await error).toMatchObject({ code: 'Unreachable', maybeApplied: false });
    expect((await error).message).toContain('no connection to etcd within 1000 ms');
  });

  it('says why a member cannot be reached, in the log once and in the error of each call', async () => {
    const records: unknown[] = [];
    const warn = (message: string, fields?: LogFields): void => void records.push([message, fields]);
    const pool = new EndpointPool({
      endpoints: parseEndpoints(['http://127.0.0.1:1'], false),
      tls: undefined,
      maxReceiveBytes: -1,
      keepAliveMs: 30_000,
      keepAliveTimeoutMs: 10_000,
      logger: { ...silentLogger, warn },
    });
    onTestFinished(() => pool.close());
    const clock = new VirtualClock();
    const caller = new Caller({ pool, token: new AuthToken(undefined), clock, callTimeoutMs: 1_000 });
    for (let round = 0; round < 2; round += 1) {
      const failed = storageError(caller.read(loadWire().range, { key }));
      await vi.waitFor(() => expect(records).toHaveLength(1));
      await clock.advance(1_000);
      expect((await failed).detail).toMatch(
        /^no connection to etcd within 1000 ms: http:\/\/127.0.0.1:1: .*ECONNREFUSED 127.0.0.1:1$/,
      );
    }
    const reason = expect.stringMatching(/ECONNREFUSED 127.0.0.1:1$/);
    expect(records).toEqual([['etcd cannot be reached', { endpoint: 'http://127.0.0.1:1', reason }]]);
  });

  it.each([
    ['forgot', true],
    ['refuses', false],
  ])('fetches one other token when etcd %s the one it has, also for a write', async (_, knowsSecond) => {
    let tokens = 0;
    const answer = ({ method, token }: AskedCall) => {
      if (method === 'authenticate') {
        tokens += 1;
        return { token: `t${tokens}` };
      }
      if (token === 't2' && knowsSecond) return answered;
      throw refusal(status.UNAUTHENTICATED, 'etcdserver: invalid auth token');
    };
    await using etcd = await startScriptedEtcd({ answer, user: { name: 'root', password: 'secret' } });
    const writing = write(etcd).then(
      () => 'written',
      (error: StorageError) => [error.code, error.maybeApplied],
    );
    expect(await writing).toEqual(knowsSecond ? 'written' : ['Unreachable', false]);
    expect(etcd.asked.flatMap(({ method, token }) => (method === 'txn' ? [token] : []))).toEqual(['t1', 't2']);
  });

  it('rejects with the reason of a signal, and is idle when no call is under way', async () => {
    await using etcd = await startScriptedEtcd({ answer: () => silence });
    const { caller } = etcd;
    await caller.idle();
    const stop = new AbortController();
    const reading = caller.read(loadWire().range, { key }, { signal: stop.signal });
    let isIdle = false;
    const idle = caller.idle().then(() => {
      isIdle = true;
    });
    await etcd.askedFor(1);
    expect(isIdle).toBe(false);
    stop.abort(new Error('no longer wanted'));
    await expect(reading).rejects.toThrow('no longer wanted');
    await idle;
  });
});
