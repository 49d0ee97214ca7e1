import type { ResourceQuota } from '@kapstan/kinds/core/v1';
import { describe, expect, it } from 'vitest';
import { PendingCharges } from './pending-charges.ts';
import { QuotaState } from './quota-state.ts';
import { QuotaStore } from './quota-store.ts';

const quota = (
  name: string,
  resourceVersion: string,
  more: Partial<ResourceQuota['metadata']> = {},
): ResourceQuota => ({
  metadata: { name, namespace: 'n', uid: `uid-${name}`, resourceVersion, ...more },
});
const revisionsIn = (store: QuotaStore): [string, number][] =>
  store.quotasIn('n').map(({ name, revision }) => [name, revision]);

describe('the known quotas', () => {
  it('are those of the feed, in the order of their names', () => {
    const store = new QuotaStore();
    expect([store.hasSynced, store.mayHave('n')]).toEqual([false, true]);
    store.replace('ResourceQuota', [quota('b', '5'), quota('a', '6')]);
    expect([store.hasSynced, store.mayHave('n'), store.mayHave('other')]).toEqual([true, true, false]);
    expect(revisionsIn(store)).toEqual([
      ['a', 6],
      ['b', 5],
    ]);
    store.delete('ResourceQuota', quota('a', '7'));
    store.delete('ResourceQuota', quota('b', '8'));
    expect(store.isEmpty).toBe(true);
  });

  it('are never older than what this server wrote itself', () => {
    const store = new QuotaStore();
    store.replace('ResourceQuota', [quota('a', '5')]);
    store.advance(new QuotaState(quota('a', '9')));
    store.set('ResourceQuota', quota('a', '7'));
    expect(revisionsIn(store)).toEqual([['a', 9]]);
    store.replace('ResourceQuota', [quota('a', '8')]);
    expect(revisionsIn(store)).toEqual([['a', 9]]);
    store.set('ResourceQuota', quota('a', '10'));
    expect(revisionsIn(store)).toEqual([['a', 10]]);
    store.advance(new QuotaState(quota('a', '9')));
    expect(revisionsIn(store)).toEqual([['a', 10]]);
  });

  it('forget a quota that is gone, whatever was written to it, and know a new one of its name', () => {
    const store = new QuotaStore();
    store.replace('ResourceQuota', [quota('a', '5')]);
    store.delete('ResourceQuota', quota('a', '6'));
    store.advance(new QuotaState(quota('a', '9')));
    expect(store.isEmpty).toBe(true);
    store.set('ResourceQuota', quota('a', '12'));
    store.advance(new QuotaState(quota('a', '20')));
    store.set('ResourceQuota', quota('a', '15', { uid: 'another' }));
    expect(revisionsIn(store)).toEqual([['a', 15]]);
  });
});

describe('charges whose writes have not ended', () => {
  const target = { namespace: 'n', name: 'q' };

  it('keep a quota from being counted, and bring the count back at their end', () => {
    const pending = new PendingCharges();
    const told: string[] = [];
    const stop = pending.onRecount((namespace, name) => told.push(`${namespace}/${name}`));
    pending.begin(target);
    pending.begin(target);
    expect(pending.isBusy(target)).toBe(true);
    pending.end(target, true);
    expect([pending.isBusy(target), told]).toEqual([true, []]);
    pending.end(target, true);
    expect([pending.isBusy(target), told]).toEqual([false, ['n/q']]);
    pending.begin(target);
    pending.end(target, true);
    expect(told).toHaveLength(1);
    stop();
  });

  it('ask for a count when the object was not written', () => {
    const pending = new PendingCharges();
    const told: string[] = [];
    const stop = pending.onRecount((namespace, name) => told.push(`${namespace}/${name}`));
    pending.begin(target);
    pending.end(target, false);
    expect(told).toEqual(['n/q']);
    stop();
    pending.begin(target);
    pending.end(target, false);
    expect(told).toHaveLength(1);
  });
});
