import { inspect, types } from 'node:util';
import { isStatusError, type LogFields, type ResourceClient, silentLogger } from '@kapstan/api';
import { forbidden } from '@kapstan/api/errors';
import {
  configMap,
  FakeListerWatcher,
  settle,
  type TestConfigMap,
  testConfigMaps,
  VirtualClock,
} from '@kapstan/api/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { controller } from '../builder/controller-builder.ts';
import { Manager } from '../manager/manager.ts';
import { stackOnceLogger } from './stack-once-logger.ts';

let clock: VirtualClock;
let lines: string[];
beforeEach(() => {
  clock = new VirtualClock();
  lines = [];
});

const print = (message: string, fields?: LogFields): void => void lines.push(`${message} ${inspect(fields)}`);
const logger = { ...silentLogger, warn: print, error: print };
const isShort = (line: string): boolean => !line.includes('    at ');

describe('a stack that was told', () => {
  /** All errors come from one place, wherever they are passed on. */
  const failAt = (message: string, options?: ErrorOptions): Error =>
    Object.assign(new Error(message, options), { stack: `Error: ${message}\n    at fail (a.ts:1:1)` });

  it('is not told again, but the failure is, with its own message and how often that was', () => {
    const once = stackOnceLogger(logger, clock);
    for (const name of ['a', 'b', 'c']) once.error('Error syncing', { key: name, error: failAt(`no ${name}`) });
    expect(lines.map(isShort)).toEqual([false, true, true]);
    expect(lines.slice(1)).toEqual([
      "Error syncing { key: 'b', error: [Error: no b], repeated: 1 }",
      "Error syncing { key: 'c', error: [Error: no c], repeated: 2 }",
    ]);
  });

  it('is the same for all workers, and holds the lines of the program alone', () => {
    const once = stackOnceLogger(logger, clock);
    const sdk = 'ReconcileLoop.run (file:///app/node_modules/@kapstan/controller/dist/reconcile-loop.js:1:1)';
    const failIn = (worker: number): Error => {
      const at = (...frames: readonly string[]): string => frames.map((frame) => `\n    at ${frame}`).join('');
      const stack = (text: string, own: string): string =>
        `Error: ${text}${at(own, 'node:internal/x:1:1', sdk, `async Promise.all (index ${worker})`)}`;
      const cause = Object.assign(new RangeError('inner'), { stack: stack('inner', 'inner (/app/echo.js:1:1)') });
      return Object.assign(new TypeError('no', { cause }), { code: 7, stack: stack('no', 'outer (/app/echo.js:2:1)') });
    };
    for (const worker of [0, 1, 2]) once.error('Error syncing', { error: failIn(worker) });
    expect(lines.map(isShort)).toEqual([false, true, true]);
    expect(lines[0]?.match(/at .*/g)).toEqual(['at outer (/app/echo.js:2:1) {', 'at inner (/app/echo.js:1:1)']);
    expect(lines[0]).toContain('code: 7');
    expect(lines[2]).toContain('repeated: 2');
  });

  it('is told again after ten minutes, and counted anew', async () => {
    const once = stackOnceLogger(logger, clock);
    const tell = (): void => once.error('Error syncing', { error: failAt('no') });
    tell();
    await clock.advance(599_999);
    tell();
    await clock.advance(1);
    tell();
    tell();
    expect(lines.map(isShort)).toEqual([false, true, false, true]);
    expect(lines[3]).toContain('repeated: 1');
  });

  it('is one of a line and a place: another of either is told', () => {
    const once = stackOnceLogger(logger, clock);
    const error = failAt('no');
    once.error('Error syncing', { error });
    once.error('A handler failed', { error });
    once.warn('Error syncing', { error });
    once.error('Error syncing', { error: new Error('no') });
    once.error('Error syncing', { error: failAt('no', { cause: new Error('why') }) });
    expect(lines.map(isShort)).toEqual([false, false, false, false, false]);
  });

  it('is left out of causes too, which may go round, and of the parts of an error of several', () => {
    const once = stackOnceLogger(logger, clock);
    const round = failAt('round');
    round.cause = failAt('cause', { cause: round });
    const several = new AggregateError([failAt('one'), failAt('two')], 'several');
    for (const error of [round, several]) for (const _ of [1, 2]) once.error('x', { error });
    expect(lines.map(isShort)).toEqual([false, true, false, true]);
    expect(lines[1]).toContain('[cause]: [Error: cause]');
    expect(lines[3]).toContain("'Error: two'");
  });

  it('leaves an error of its class, with its members; and a line without one as it is', () => {
    const told: LogFields[] = [];
    const once = stackOnceLogger({ ...logger, error: (_message, fields = {}) => void told.push(fields) }, clock);
    const error = forbidden({ group: '', resource: 'pods' }, 'a', 'no rights');
    for (const _ of [1, 2]) once.error('x', { error });
    const [first, second] = told.map((fields) => fields.error) as [typeof error, typeof error];
    for (const { code, message } of [first, second]) expect([code, message]).toEqual([403, error.message]);
    for (const one of [first, second]) expect([isStatusError(one), types.isNativeError(one)]).toEqual([true, true]);
    expect([first.stack?.includes('.test.ts'), second.stack]).toEqual([true, String(error)]);
    for (const fields of [{ error: 'text' }, { error: Object.assign(new Error('bare'), { stack: 'Error: bare' }) }, {}])
      for (const _ of [1, 2]) once.error('x', fields);
    expect(told.slice(2).every((fields) => !('repeated' in fields))).toBe(true);
  });

  it('is forgotten when there are too many others', () => {
    const once = stackOnceLogger(logger, clock);
    for (let at = 0; at <= 256; at++) once.error(`line ${at}`, { error: failAt('no') });
    for (const at of [256, 0]) once.error(`line ${at}`, { error: failAt('no') });
    expect(lines.slice(257).map(isShort)).toEqual([true, false]);
  });
});

it('a controller all of whose objects fail tells each of them, and the stack once; what a reconcile logs is its own', async () => {
  const source = new FakeListerWatcher<TestConfigMap>();
  for (let at = 0; at < 20; at++) source.add(configMap({ name: `n${at}` }));
  const stop = new AbortController();
  const failing = controller(testConfigMaps).reconcile(async ({ metadata }, { log }) => {
    const error = new Error(`no ${metadata?.name}`);
    log.warn('mine', { error });
    throw error;
  });
  const client = { listerWatcher: () => source } as unknown as ResourceClient;
  const running = new Manager([failing], { client, clock, logger }).run(stop.signal);
  await settle();
  for (let tick = 0; tick < 10; tick++) await clock.advance(100);
  const mine = lines.filter((line) => line.startsWith('mine'));
  const ours = lines.filter((line) => line.startsWith('Error syncing; requeuing for later retry'));
  expect(ours.length).toBeGreaterThan(40);
  expect(ours.length).toBe(mine.length);
  for (let at = 0; at < 20; at++) expect(ours.some((line) => line.includes(`no n${at}`))).toBe(true);
  expect(ours.filter((line) => !isShort(line))).toHaveLength(1);
  expect(mine.filter(isShort)).toEqual([]);
  stop.abort();
  await running;
});
