import { type Logger, silentLogger } from '@kapstan/api';
import { unauthorized } from '@kapstan/api/errors';
import {
  FakeListerWatcher,
  pod,
  settle,
  type TestPod,
  testConfigMaps,
  testPods,
  VirtualClock,
} from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SharedInformer } from '../shared-informer.ts';
import type { SharedInformerOptions } from '../shared-informer-options.ts';
import { emitProcessWarning } from './process-warning.ts';

let warnings: Error[];
let logged: [message: string, fields: unknown][];
let source: FakeListerWatcher<TestPod>;
let informer: SharedInformer<TestPod>;
const listen = (warning: Error): void => void warnings.push(warning);

/** Causes two kinds of trouble: a source that refuses, then a handler that throws. */
async function runIntoTrouble(options: SharedInformerOptions<TestPod>): Promise<void> {
  const clock = new VirtualClock();
  source.failNext('list', unauthorized('no token'));
  informer = new SharedInformer<TestPod>(source, {
    clock,
    random: () => 0,
    useWatchList: false,
    resource: testPods,
    ...options,
  });
  informer.addEventHandler({
    onAdd: () => {
      throw new Error('from a handler');
    },
  });
  informer.start();
  source.add(pod({ name: 'a' }));
  await clock.advance(60_000);
  await settle();
}

beforeEach(() => {
  warnings = [];
  logged = [];
  source = new FakeListerWatcher<TestPod>();
  process.on('warning', listen);
});
afterEach(async () => {
  process.off('warning', listen);
  await informer.close();
});

describe('trouble that no callback takes', () => {
  const logger: Logger = { ...silentLogger, warn: (message, fields) => void logged.push([message, fields]) };
  const texts = [
    'pods: failed to list or watch, trying again: no token',
    'pods: a handler failed (added default/a): from a handler',
  ];

  it('goes to the logger, and not to the process', async () => {
    await runIntoTrouble({ logger });
    expect(logged.map(([message]) => message)).toEqual(texts);
    expect(logged[1]?.[1]).toEqual({ error: expect.objectContaining({ message: 'from a handler' }) });
    expect(warnings).toEqual([]);
  });

  it('is a warning of the process without a logger, with the stack of what threw', async () => {
    await runIntoTrouble({});
    expect(warnings.map(({ message }) => message)).toEqual(texts);
    // The warning is named like those of clients and controllers, so that one listener can recognise them.
    expect(warnings.map(({ name }) => name)).toEqual(['KapstanWarning', 'KapstanWarning']);
    expect((warnings[1] as Error & { detail?: string }).detail).toMatch(
      /^Error: from a handler\n +at .*process-warning/s,
    );
  });

  it('shows the line of an index function that throws, behind the error that names the object', async () => {
    const node = (): never => {
      throw new Error('no node');
    };
    await runIntoTrouble({ indexers: { node } });
    const ours = 'Error: unable to calculate an index entry for key "default/a" on index "node": no node';
    const detail = (warnings[1] as Error & { detail: string }).detail;
    const [outer = '', inner] = detail.split('\ncaused by: ');
    expect(outer).toContain(`${ours}\n    at `);
    expect(inner).toMatch(/^Error: no node\n +at .*process-warning\.test\.ts/);
  });

  it('ends where causes go round in a circle, and shows one that is no error', async () => {
    const [circle, other] = [new Error('first'), new Error('outer', { cause: 'a string' })];
    circle.cause = new Error('second', { cause: circle });
    informer = new SharedInformer<TestPod>(source);
    for (const error of [circle, other]) emitProcessWarning('text', error);
    await settle();
    const details = warnings.map((warning) => (warning as Error & { detail: string }).detail);
    expect(details.map((detail) => detail.replace(/\n +at .*/g, ''))).toEqual([
      'Error: first\ncaused by: Error: second',
      'Error: outer\ncaused by: a string',
    ]);
  });

  it.each([
    ['objects', undefined],
    ['configmaps', testConfigMaps],
  ])('names what the ListerWatcher lists, where nobody else says it: %s', async (name, resource) => {
    Object.assign(source, { resource });
    await runIntoTrouble({ resource: undefined as never });
    expect(warnings.map(({ message }) => message.split(':')[0])).toEqual([name, name]);
  });

  it('is told nobody else where callbacks take it', async () => {
    const told: unknown[] = [];
    const take = (error: unknown): void => void told.push((error as Error).message);
    const takeWithPlace: SharedInformerOptions<TestPod>['onHandlerError'] = (error, change, name) => {
      take(error);
      told.push(name, change?.type, change?.key);
    };
    await runIntoTrouble({ logger, onWatchError: take, onHandlerError: takeWithPlace });
    expect(told).toEqual(['no token', 'from a handler', 'pods', 'added', 'default/a']);
    expect([...logged, ...warnings]).toEqual([]);
  });

  it.each<[string, () => void]>([
    [
      'throws',
      () => {
        throw new Error('the logger is full');
      },
    ],
    ['rejects', () => Promise.reject(new Error('the logger is full'))],
  ])('is a warning of the process where the logger %s, and costs nothing else', async (_, warn) => {
    await runIntoTrouble({ logger: { ...silentLogger, warn } });
    expect(warnings.map(({ message }) => message)).toEqual(texts.flatMap((text) => [text, 'the logger is full']));
    expect(informer.lister.list()).toHaveLength(1);
  });
});
