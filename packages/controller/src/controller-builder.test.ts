import { testConfigMaps, testPods } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { after, controller } from './controller-builder.ts';

describe('controller()', () => {
  it('is data: its name, what it watches, what it does', () => {
    const reconcile = async (): Promise<void> => undefined;
    const built = controller(testPods)
      .owns(testConfigMaps)
      .watches(testConfigMaps, () => ['default/a'])
      .on(['default/b'], (key) => [key])
      .finalize('demo.dev/clean', reconcile)
      .settings({ workers: 2 })
      .settings({ timeoutMs: 5 })
      .reconcile(reconcile);
    expect(built).toMatchObject({ name: 'pod', kind: testPods, settings: { workers: 2, timeoutMs: 5 }, reconcile });
    expect(built.sources.map(({ type }) => type)).toEqual(['owned', 'watched', 'trigger']);
    expect(built.finalizers).toMatchObject([{ name: 'demo.dev/clean' }]);
  });

  it('leaves a builder as it was: each call gives a new one', () => {
    const base = controller(testPods);
    const reconcile = async (): Promise<void> => undefined;
    base
      .owns(testConfigMaps)
      .settings({ workers: 9 })
      .when(() => false);
    const built = base.reconcile(reconcile);
    expect([built.sources, built.settings]).toEqual([[], {}]);
    expect(built.when({ type: 'deleted', key: 'a' as never, object: undefined, isFinalStateUnknown: false })).toBe(
      true,
    );
  });

  it('refuses an empty name and a finalizer without a domain', () => {
    expect(() => controller(testPods, { name: '' })).toThrow('a controller needs a name');
    const finalize = async (): Promise<void> => undefined;
    for (const name of ['clean', 'a/b/c', '/b', ''])
      expect(() => controller(testPods).finalize(name, finalize)).toThrow('a finalizer is "domain/name"');
  });

  it('names a result', () => {
    expect(after(5)).toEqual({ requeueAfterMs: 5 });
  });
});
