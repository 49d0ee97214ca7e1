import { type LogFields, silentLogger } from '@kapstan/api';
import { settle, testConfigMaps, VirtualClock } from '@kapstan/api/testing';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { controller } from '../builder/controller-builder.ts';
import { type HealthChecks, probesOf } from './health-checks.ts';
import { Manager } from './manager.ts';
import { type ProbeServer, startProbeServer } from './probe-server.ts';

let clock: VirtualClock;
let warnings: LogFields[];
let server: ProbeServer | undefined;
beforeEach(() => {
  clock = new VirtualClock();
  warnings = [];
});
afterEach(() => server?.close());

const logger = { ...silentLogger, warn: (_text: string, fields: LogFields = {}) => void warnings.push(fields) };

/** Serves the checks as /readyz, and returns a function that requests it. */
async function serve(checks: HealthChecks) {
  const readyz = { ping: () => undefined, ...probesOf(checks, { clock, logger }) };
  const pages = { healthz: {}, readyz, metrics: new Registry(), isStopping: () => false };
  server = await startProbeServer({ port: 0 }, pages);
  const { port } = server;
  return async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    return [answer.status, await answer.text()];
  };
}

describe('a health check of the program', () => {
  it('is a line of its page, fails it with its text, and can be asked alone or left out', async () => {
    let problem: string | undefined;
    const ask = await serve({ database: async () => problem });
    expect(await ask('/readyz?verbose')).toEqual([200, '[+]ping ok\n[+]database ok\nreadyz check passed\n']);
    expect(await ask('/readyz/database')).toEqual([200, 'ok']);
    problem = 'no connection';
    expect(await ask('/readyz')).toEqual([500, '[+]ping ok\n[-]database failed: no connection\nreadyz check failed\n']);
    expect(await ask('/readyz/database')).toEqual([500, 'database: no connection\n']);
    expect(await ask('/readyz?exclude=database')).toEqual([200, 'ok']);
    expect(await ask('/readyz/toString')).toEqual([404, '404 page not found\n']);
    expect(await ask('/readyz/nothing')).toEqual([404, '404 page not found\n']);
  });

  it('fails without its error when it throws, rejects or returns another thing, and the log has the error', async () => {
    const secret = new Error('postgres://user:password@host');
    const ask = await serve({
      throws: () => {
        throw secret;
      },
      rejects: () => Promise.reject(secret),
      wrong: (() => false) as never,
    });
    const [status, text] = await ask('/readyz');
    expect(status).toBe(500);
    expect(text).not.toContain('password');
    for (const name of ['throws', 'rejects', 'wrong']) expect(text).toContain(`[-]${name} failed: reason withheld\n`);
    expect(warnings.map(({ check }) => check).sort()).toEqual(['rejects', 'throws', 'wrong']);
    expect(warnings.filter(({ error }) => error === secret)).toHaveLength(2);
    expect(clock.pendingTimers).toBe(0);
  });

  it('fails after 5 s without an answer, and its signal aborts', async () => {
    let given: AbortSignal | undefined;
    const { slow } = probesOf(
      {
        slow: (signal) => {
          given = signal;
          return new Promise<void>(() => undefined);
        },
      },
      { clock, logger },
    );
    const answer = slow?.();
    await settle();
    expect(given?.aborted).toBe(false);
    await clock.advance(5000);
    expect(await answer).toBe('no answer within 5000 ms');
    expect([given?.aborted, clock.pendingTimers]).toEqual([true, 0]);
  });

  it('runs once for all probes that ask while it is under way', async () => {
    let runs = 0;
    const waiting: ((answer: string) => void)[] = [];
    const { database } = probesOf(
      {
        database: () => {
          runs += 1;
          return new Promise<string>((resolve) => waiting.push(resolve));
        },
      },
      { clock, logger },
    );
    const answers = [database?.(), database?.()];
    await clock.advance(4000);
    answers.push(database?.());
    waiting[0]?.('no connection');
    expect(await Promise.all(answers)).toEqual(['no connection', 'no connection', 'no connection']);
    const next = database?.();
    expect([runs, clock.pendingTimers]).toEqual([2, 1]);
    waiting[1]?.('');
    expect(await next).toBeUndefined();
  });

  it('is not started again while a run that ignores its signal goes on, and fails at once until that run ends', async () => {
    let runs = 0;
    let finish = (): void => undefined;
    const { deaf } = probesOf(
      {
        deaf: () => {
          runs += 1;
          return new Promise<void>((resolve) => {
            finish = resolve;
          });
        },
      },
      { clock, logger },
    );
    const late = deaf?.();
    await clock.advance(5000);
    expect(await late).toBe('no answer within 5000 ms');
    for (let probe = 0; probe < 10; probe++) {
      await clock.advance(1000);
      expect(await deaf?.()).toBe(`no answer within 5000 ms, and its run of ${6 + probe} s ago has not ended`);
    }
    expect([runs, clock.pendingTimers]).toEqual([1, 0]);
    finish();
    await settle();
    const again = deaf?.();
    expect(runs).toBe(2);
    finish();
    expect(await again).toBeUndefined();
  });

  it('logs the error of a run once, however many probes wait for it', async () => {
    const { broken } = probesOf({ broken: () => Promise.reject(new Error('gone')) }, { clock, logger });
    expect(await Promise.all([broken?.(), broken?.()])).toEqual(['reason withheld', 'reason withheld']);
    expect(warnings).toHaveLength(1);
  });
});

describe('a manager takes', () => {
  const idle = controller(testConfigMaps).reconcile(async () => undefined);
  const client = { listerWatcher: () => ({}) } as never;
  it.each([
    ['a check that is no function', { readyzChecks: { a: 1 } }, 'readyzChecks.a must be a function, not 1'],
    [
      'a name of its own',
      { healthzChecks: { ping: () => undefined } },
      'the name ping is taken by a check of the manager',
    ],
    ['a name with a slash', { healthzChecks: { 'a/b': () => undefined } }, "'a/b' is not a valid name of a check"],
    ['a list', { healthzChecks: [] }, 'healthzChecks'],
  ])('not %s', (_what, options, text) => {
    expect(() => new Manager([idle], { client, ...(options as object) })).toThrow(text);
  });

  it('checks of the program, and shows them beside its own', async () => {
    const { FakeListerWatcher } = await import('@kapstan/api/testing');
    const stop = new AbortController();
    const options = {
      client: { listerWatcher: () => new FakeListerWatcher() } as never,
      logger: silentLogger,
      metrics: { port: 0 },
      healthzChecks: { disk: () => 'full' },
      readyzChecks: { database: async () => undefined },
    };
    const manager = new Manager([idle], options);
    const running = manager.run(stop.signal);
    await manager.whenReady();
    const ask = async (path: string) => (await fetch(`http://127.0.0.1:${manager.probePort}${path}`)).text();
    expect(await ask('/healthz')).toBe(
      '[+]ping ok\n[+]leaderElection ok\n[-]disk failed: full\nhealthz check failed\n',
    );
    expect(await ask('/readyz?verbose')).toContain('[+]informers ok\n[+]database ok\n');
    stop.abort();
    await running;
  });
});
