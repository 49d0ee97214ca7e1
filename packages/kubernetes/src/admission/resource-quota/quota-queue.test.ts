import { conflict } from '@kapstan/api/errors';
import { runWhole } from '@kapstan/api/internal';
import { settle, VirtualClock } from '@kapstan/api/testing';
import { testContext } from '@kapstan/apiserver/testing';
import type { ResourceQuota } from '@kapstan/kinds/core/v1';
import { describe, expect, it } from 'vitest';
import { ObjectCount } from '../../quota/object-count.ts';
import { testAttributes } from '../../testing/admission-server.ts';
import { PendingCharges } from './pending-charges.ts';
import { QuotaCharger } from './quota-charger.ts';
import { type CheckedRequest, checkRequest, RunningQuota } from './quota-check.ts';
import { QuotaQueue } from './quota-queue.ts';
import type { QuotaRecords } from './quota-records.ts';
import { QuotaState } from './quota-state.ts';

const evaluator = new ObjectCount({ group: '', resource: 'configmaps' });
const quotasResource = { group: '', resource: 'resourcequotas' };

/** Quotas in memory, with a revision that each write raises. */
class FakeRecords {
  readonly stored = new Map<string, QuotaState>();
  writes = 0;
  reads = 0;
  /** Called before each write. */
  onWrite: (name: string) => Promise<void> | void = () => undefined;

  set(name: string, limit: string, used: string): void {
    const revision = (this.stored.get(name)?.revision ?? 0) + 1;
    const metadata = { name, namespace: 'default', uid: name, resourceVersion: String(revision) };
    const [hard, counts] = [{ 'count/configmaps': limit }, { 'count/configmaps': used }];
    this.stored.set(name, new QuotaState({ metadata, status: { hard, used: counts } } as ResourceQuota));
  }

  usedOf(name: string): string | undefined {
    return this.stored.get(name)?.used('count/configmaps')?.toString();
  }

  async quotasIn(): Promise<readonly QuotaState[]> {
    return [...this.stored.values()];
  }

  async read({ name }: QuotaState): Promise<QuotaState | undefined> {
    this.reads++;
    return this.stored.get(name);
  }

  async write({ state, taken }: RunningQuota): Promise<void> {
    this.writes++;
    await this.onWrite(state.name);
    const present = this.stored.get(state.name);
    if (present?.revision !== state.revision) throw conflict(quotasResource, state.name, 'it changed');
    const limit = present.limit('count/configmaps')?.toString() ?? '';
    this.set(state.name, limit, taken.get('count/configmaps')?.toString() ?? '');
  }
}

function start() {
  const records = new FakeRecords();
  const pending = new PendingCharges();
  const clock = new VirtualClock();
  const queue = new QuotaQueue(new QuotaCharger(records as unknown as QuotaRecords, pending), clock);
  return { records, pending, clock, queue };
}

function request(name: string, more: Partial<CheckedRequest['attributes']> = {}): CheckedRequest {
  const finishers: NonNullable<CheckedRequest['attributes']['finishers']> = [];
  const attributes = testAttributes({ operation: 'CREATE', name, object: { metadata: { name } }, finishers, ...more });
  return { attributes, evaluator, limited: [] };
}
const many = (count: number): CheckedRequest[] => Array.from({ length: count }, (_, at) => request(`m${at}`));
const answersOf = async (asked: readonly Promise<void>[]): Promise<string[]> =>
  (await Promise.allSettled(asked)).map((each) =>
    each.status === 'fulfilled' ? 'ok' : (each.reason as Error).message,
  );

describe('requests that wait for a quota', () => {
  it('are paid by two writes, however many they are, and exactly as many as fit', async () => {
    const { records, queue } = start();
    records.set('q', '100', '0');
    const answers = await answersOf(many(200).map((each) => queue.pay(each)));
    expect(answers.filter((answer) => answer === 'ok')).toHaveLength(100);
    expect([records.usedOf('q'), records.writes]).toEqual(['100', 2]);
    expect(answers[199]).toBe(
      'configmaps "m199" is forbidden: exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=100, limited: count/configmaps=100',
    );
  });

  it('are compared again with a quota that another server charged meanwhile', async () => {
    const { records, queue } = start();
    records.set('q', '10', '0');
    let others = 3;
    records.onWrite = () => {
      if (others > 0) records.set('q', '10', String(4 - others--));
    };
    const answers = await answersOf(many(20).map((each) => queue.pay(each)));
    expect(answers.filter((answer) => answer === 'ok')).toHaveLength(7);
    expect(records.usedOf('q')).toBe('10');
    expect(records.reads).toBeGreaterThan(0);
  });

  it('give up when others always write first', async () => {
    const { records, queue } = start();
    records.set('q', '10', '0');
    records.onWrite = () => records.set('q', '10', '0');
    expect(await answersOf([queue.pay(request('a'))])).toEqual([
      'Operation cannot be fulfilled on resourcequotas "q": it changed',
    ]);
    expect(records.writes).toBe(10);
  });

  it('are refused when a quota cannot be written, and what they took of others is counted anew', async () => {
    const { records, queue, pending } = start();
    records.set('a', '10', '0');
    records.set('b', '10', '0');
    records.onWrite = (name) => {
      if (name === 'b') throw new Error('the disk is full');
    };
    const told: string[] = [];
    pending.onRecount((_namespace, name) => told.push(name));
    expect(await answersOf([queue.pay(request('x'))])).toEqual(['the disk is full']);
    expect(records.usedOf('a')).toBe('1');
    expect(told.sort()).toEqual(['a', 'b']);
  });

  it('do not need a quota that was deleted meanwhile', async () => {
    const { records, queue } = start();
    records.set('q', '10', '0');
    records.onWrite = () => void records.stored.delete('q');
    expect(await answersOf([queue.pay(request('x'))])).toEqual(['ok']);
  });

  it('take nothing when they are dry runs, but must fit', async () => {
    const { records, queue } = start();
    records.set('q', '1', '0');
    const dry = { context: testContext({ dryRun: true }) };
    expect(await answersOf([queue.pay(request('a', dry)), queue.pay(request('b', dry))])).toEqual(['ok', 'ok']);
    expect([records.usedOf('q'), records.writes]).toEqual(['0', 0]);
    records.set('q', '1', '1');
    expect((await answersOf([queue.pay(request('c', dry))]))[0]).toContain('exceeded quota: q');
  });

  it('stay pending until their write has ended', async () => {
    const { records, queue, pending } = start();
    records.set('q', '5', '0');
    const [first, second] = [request('a'), request('b')];
    await Promise.all([queue.pay(first), queue.pay(second)]);
    const target = { namespace: 'default', name: 'q' };
    const told: string[] = [];
    pending.onRecount((_namespace, name) => told.push(name));
    for (const finish of first.attributes.finishers ?? []) await finish(true);
    expect(pending.isBusy(target)).toBe(true);
    for (const finish of second.attributes.finishers ?? []) await finish(false);
    expect([pending.isBusy(target), told]).toEqual([false, ['q']]);
  });

  it('wait ten seconds at most', async () => {
    const { records, queue, clock, pending } = start();
    records.set('q', '5', '0');
    let release: () => void = () => undefined;
    records.onWrite = () => new Promise<void>((resolve) => (release = resolve));
    const answer = answersOf([queue.pay(request('slow'))]);
    await settle();
    await clock.advance(5_000);
    const later = queue.pay(request('later'));
    await clock.advance(5_001);
    expect(await answer).toEqual(['Internal error occurred: resource quota evaluation timed out']);
    records.onWrite = () => undefined;
    release();
    await later;
    // The first one's charge will not be used, so the quota is counted again.
    expect(pending.isBusy({ namespace: 'default', name: 'q' })).toBe(true);
  });
});

describe('a request', () => {
  const check = (changes: Partial<CheckedRequest>, quota: Partial<ResourceQuota>): number =>
    runWhole(
      checkRequest({ ...request('x'), ...changes }, [
        new RunningQuota(new QuotaState({ metadata: { name: 'q' }, ...quota })),
      ]),
    ).length;
  const counted = { hard: { 'count/configmaps': '5' }, used: { 'count/configmaps': '5' } };

  it('is refused while nobody has counted what is used', () => {
    expect(() => check({}, { status: { hard: { 'count/configmaps': '5', pods: '1' } } })).toThrow(
      'configmaps "x" is forbidden: status unknown for quota: q, resources: count/configmaps',
    );
    expect(check({}, { status: { hard: { pods: '5' } } })).toBe(0);
    expect(check({}, { spec: { hard: { 'count/configmaps': '0' } } })).toBe(0);
  });

  it('is not measured by a quota with scopes that its kind has not', () => {
    expect(check({}, { spec: { scopes: ['BestEffort'] }, status: counted })).toBe(0);
    expect(() => check({}, { status: counted })).toThrow('exceeded quota');
  });

  it('needs a quota where the configuration says so', () => {
    const limited = [{ apiGroup: '', resource: 'configmaps', matchContains: ['configmaps'], matchScopes: [] }];
    const why = 'configmaps "x" is forbidden: insufficient quota to consume: count/configmaps';
    expect(() => check({ limited }, { status: { hard: { pods: '5' }, used: { pods: '0' } } })).toThrow(why);
    const others = [{ ...limited[0], resource: 'secrets' }] as typeof limited;
    expect(check({ limited: others }, {})).toBe(0);
    expect(check({ limited }, { status: { ...counted, used: { 'count/configmaps': '0' } } })).toBe(1);
  });
});
