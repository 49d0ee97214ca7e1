import { describe, expect, it } from 'vitest';
import { type Fault, Faults, requireFault } from './fault.ts';
import { testCluster } from './test-cluster.ts';

describe('a fault that would do nothing', () => {
  it.each<[string, unknown, string]>([
    ['no fault', undefined, "a fault, such as { kind: 'reset' }, must be an object, not undefined"],
    ['a kind alone', 'reset', 'must be an object, not "reset"'],
    [
      'another kind',
      { kind: 'RST' },
      "unknown fault kind 'RST'; must be one of reset, blackhole, slow, refuse, 429, 500, 503, lag, 410",
    ],
    ['a code that is a number', { kind: 429 }, 'unknown fault kind 429'],
    ['a kind of every object', { kind: 'toString' }, "unknown fault kind 'toString'"],
    ['another target', { kind: 'reset', match: 'watches' }, "match must be 'watch' or 'call', not 'watches'"],
    ['a target of what has none', { kind: 'refuse', match: 'watch' }, 'a fault refuse has no match'],
    ['a name that is spelled otherwise', { kind: '503', time: 1 }, 'a fault 503 has no time'],
    ['figures of another kind', { kind: 'lag', delayMs: 5 }, 'a fault lag has no delayMs'],
    [
      'other connections',
      { kind: 'blackhole', connections: 'new' },
      "connections must be 'present' or 'all', not 'new'",
    ],
    ['a pause in words', { kind: '429', retryAfterSeconds: '1' }, 'retryAfterSeconds must be a number of at least 0'],
  ])('is refused: %s', (_what, fault, message) => {
    expect(() => requireFault(fault as Fault)).toThrow(TypeError);
    expect(() => requireFault(fault as Fault)).toThrow(message);
  });

  it.each<[string, Parameters<Faults['add']>[0], string]>([
    ['no time at all', { kind: '500', times: 0 }, 'times must be at least 1, not 0'],
    ['times in words', { kind: '500', times: '2' as never }, "times must be at least 1, not '2'"],
    ['a delay below 0', { kind: 'slow', delayMs: -1 }, 'delayMs must be a number of at least 0, not -1'],
    ['no delay', { kind: 'slow' } as never, 'delayMs must be a number of at least 0, not undefined'],
  ])('is refused where it is made: %s', (_what, fault, message) => {
    expect(() => new Faults().add(fault)).toThrow(new TypeError(message));
  });

  it('is not one of those that are documented', () => {
    const all: readonly Fault[] = [
      { kind: 'reset', match: 'call' },
      { kind: 'blackhole', match: 'watch', connections: 'all' },
      { kind: 'slow', delayMs: 0 },
      { kind: 'refuse' },
      { kind: '429', times: 2, retryAfterSeconds: 0, match: 'watch' },
      { kind: '500' },
      { kind: '503', match: undefined as never },
      { kind: 'lag' },
      { kind: '410' },
    ];
    for (const fault of all) expect(() => requireFault(fault)).not.toThrow();
  });
});

describe('a test cluster with wrong options', () => {
  it.each<[unknown, string]>([
    [null, 'options of testCluster() must be an object, not null'],
    [{ clock: 'fake' }, "clock must be 'virtual' or 'real', not 'fake'"],
    [{ http: false }, "http must be 'on' or 'off', not false"],
    [{ store: 'disk' }, "store must be 'lmdb' or 'memory', not 'disk'"],
    [{ crds: {} }, 'crds must be a list of definitions, not {}'],
    [{ controlPlane: 'none' }, 'controlPlane must be an object, not "none"'],
    [{ logger: {} }, 'logger needs the function debug, it is an object'],
  ])('is not started: %o', async (options, message) => {
    await expect(testCluster(options as never)).rejects.toThrow(new TypeError(message));
  });
});
