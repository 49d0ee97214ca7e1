import { testConfigMaps, testPods } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { controller, requeueAfter } from './controller-builder.ts';

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
    expect(built).toMatchObject({ name: 'pod', resource: testPods, settings: { workers: 2, timeoutMs: 5 }, reconcile });
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
    expect(() => controller(testPods, { name: '' })).toThrow("a controller's name has 1 to 128 printable characters");
    const finalize = async (): Promise<void> => undefined;
    for (const name of ['clean', 'a/b/c', '/b', '', 'De mo/x y', 'Demo.dev/x', 'demo.dev/', undefined as never])
      expect(() => controller(testPods).finalize(name, finalize)).toThrow('a finalizer is "domain/name"');
  });

  describe('refuses with TypeError, as JavaScript lets it through,', () => {
    const base = controller(testPods);
    const none = undefined as never;
    const refusal = (where: string, what: string) =>
      `${where} takes a resource, such as Pod of '@kapstan/kinds/core/v1' or a result of defineResource(), not ${what}`;
    it.each<[string, () => unknown, string]>([
      ['no kind', () => controller(none), refusal('controller()', 'undefined')],
      ['a word', () => controller('pods' as never), refusal('controller()', '"pods"')],
      ['a word with a name', () => controller('pods' as never, { name: 'a' }), refusal('controller()', '"pods"')],
      ['no owned kind', () => base.owns(none), refusal('owns()', 'undefined')],
      ['no watched kind', () => base.watches(none, () => []), refusal('watches()', 'undefined')],
      ['no map', () => base.watches(testPods, none), 'watches() takes a function, not undefined'],
      ['no map of a trigger', () => base.on([], none), 'on() takes a function, not undefined'],
      ['no indexed kind', () => base.index(none, 'a', () => []), refusal('index()', 'undefined')],
      ['no name of an index', () => base.index(testPods, '', () => []), "index() takes a name for the index, not ''"],
      ['no values of an index', () => base.index(testPods, 'a', none), 'index() takes a function, not undefined'],
      ['no predicate', () => base.when(none), 'when() takes a function, not undefined'],
      [
        'a true predicate',
        () => base.owns(testPods, { when: true as never }),
        'owns() with when takes a function, not true',
      ],
      ['no finalizer', () => base.finalize('a.io/b', none), 'finalize() takes a function, not undefined'],
      ['no reconcile', () => base.reconcile(none), 'reconcile() takes a function, not undefined'],
      ['workers: 0', () => base.settings({ workers: 0 }), 'workers must be a whole number of at least 1, not 0'],
      ['workers: 1.5', () => base.settings({ workers: 1.5 }), 'workers must be a whole number of at least 1, not 1.5'],
      ['timeoutMs: -1', () => base.settings({ timeoutMs: -1 }), 'timeoutMs must be a number of at least 0, not -1'],
      [
        'slowAfterMs: NaN',
        () => base.settings({ slowAfterMs: Number.NaN }),
        'slowAfterMs must be a number of at least 0, not NaN',
      ],
    ])('%s', (_what, make, message) => {
      expect(make).toThrow(new TypeError(message));
    });
  });

  it('refuses the same finalizer twice', () => {
    const finalize = async (): Promise<void> => undefined;
    const once = controller(testPods).finalize('demo.dev/clean', finalize);
    expect(() => once.finalize('demo.dev/clean', finalize)).toThrow(
      new TypeError('the finalizer demo.dev/clean is given twice'),
    );
  });

  it('names a result', () => {
    expect(requeueAfter(5)).toEqual({ requeueAfterMs: 5 });
    expect(requeueAfter(0)).toEqual({ requeueAfterMs: 0 });
    expect(requeueAfter(-1)).toEqual({ requeueAfterMs: 0 });
  });

  it.each([
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
    ['10s', "'10s'"],
    [undefined, 'undefined'],
  ])('refuses to come back after %s', (ms, text) => {
    expect(() => requeueAfter(ms as number)).toThrow(
      new TypeError(`requeueAfter() takes milliseconds, a finite number, not ${text}`),
    );
  });
});
