import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type KubernetesObject, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import type { SharedInformer } from '@kapstan/informers';
import { Namespace } from '@kapstan/kinds/core/v1';
import { quotaAdmission } from '@kapstan/kubernetes';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openResources } from '../resources.ts';
import { singleEngine } from '../testing/single-engine.ts';
import type { ControlLoop, ControlLoopContext } from './control-loop.ts';
import { type ControlLoopName, controlLoopNames } from './control-loop-names.ts';
import { ControlLoops, type ControlLoopsOptions } from './control-loops.ts';
import { garbageCollectorController } from './garbage-collector-controller.ts';
import { namespaceController } from './namespace-controller.ts';
import { serviceAccountController } from './serviceaccount-controller.ts';

type TestLoops = NonNullable<ControlLoopsOptions['loops']>;

let dataDir: string;
let clock: VirtualClock;
let closers: (() => Promise<void>)[];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-ready-'));
  clock = new VirtualClock();
  closers = [() => rm(dataDir, { recursive: true })];
});
afterEach(async () => {
  for (const close of closers.reverse()) await close();
});

async function start(names: readonly ControlLoopName[], replaced: TestLoops = {}) {
  const engine = await openLmdbEngine({ dataDir, clock });
  closers.push(() => engine.close());
  const resources = await openResources(singleEngine(engine), { clock, logger: silentLogger });
  closers.push(() => resources.close());
  const { client, catalog, access, quotas } = resources;
  const ports = { client, catalog, secretTokens: access.serviceAccountTokens, quotas, clock, logger: silentLogger };
  const loops = new ControlLoops({ ...ports, names, loops: replaced, caCert: 'PEM', namespaceGraceMs: 500 });
  closers.push(() => loops.close());
  loops.start();
  return { loops, client };
}

const createDefault = (client: Awaited<ReturnType<typeof start>>['client']): Promise<unknown> =>
  client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } });
const health = async (loops: ControlLoops, endpoint: 'livez' | 'readyz' = 'readyz'): Promise<Record<string, string>> =>
  Object.fromEntries(
    await Promise.all(
      loops.healthChecks
        .filter(({ endpoints }) => endpoints?.includes(endpoint))
        .map(async ({ name, check }) => [name, (await check())?.message ?? 'ok'] as const),
    ),
  );
const fails: ControlLoop = () => Promise.reject(new Error('boom'));

describe('control loops', () => {
  it('are ready when each has seen all that it works on', async () => {
    const { loops, client } = await start(controlLoopNames);
    expect(new Set(Object.values(await health(loops)))).toEqual(new Set(['not finished']));
    await createDefault(client);
    await loops.whenReady();
    expect(await health(loops)).toEqual(
      Object.fromEntries(controlLoopNames.map((name) => [`poststarthook/${name}`, 'ok'])),
    );
  });

  it('leave out those that work for clients where there is no server', () => {
    const client = { listerWatcher: () => undefined } as unknown as ControlLoopsOptions['client'];
    const catalog = {} as ControlLoopsOptions['catalog'];
    const secretTokens = { issueForSecret: async () => '' };
    const loops = new ControlLoops({
      client,
      catalog,
      clock,
      logger: silentLogger,
      names: controlLoopNames,
      secretTokens,
      quotas: quotaAdmission({ catalog, clock }),
      caCert: undefined,
      namespaceGraceMs: 0,
    });
    const forClients = ['root-ca-certificate-publisher-controller', 'serviceaccount-token-controller'];
    expect(new Set(loops.healthChecks.map(({ name }) => name))).toEqual(
      new Set(controlLoopNames.filter((name) => !forClients.includes(name)).map((name) => `poststarthook/${name}`)),
    );
  });

  it('keep the server from being live until they have come up once, as a part of its start', async () => {
    let isBroken = true;
    const { loops } = await start(['namespace-controller'], {
      'namespace-controller': async ({ onSynced }) => {
        if (!isBroken) onSynced();
        throw new Error('boom');
      },
    });
    const name = 'poststarthook/namespace-controller';
    await vi.waitFor(async () => expect(await health(loops, 'livez')).toEqual({ [name]: 'boom' }));
    isBroken = false;
    await clock.advance(1000);
    await vi.waitFor(async () => expect(await health(loops, 'livez')).toEqual({ [name]: 'ok' }));
    expect(await health(loops)).toEqual({ [name]: 'boom' });
    const asked = loops.healthChecks.map(({ endpoints, isPartOfStart }) => [endpoints, isPartOfStart]);
    expect(asked).toEqual([
      [['healthz', 'readyz'], undefined],
      [['livez'], true],
    ]);
  });

  it('show in health and metrics which of them is down, and run the others', async () => {
    const { loops, client } = await start(['serviceaccount-controller', 'namespace-controller'], {
      'namespace-controller': fails,
    });
    await createDefault(client);
    await vi.waitFor(async () =>
      expect(await health(loops)).toEqual({
        'poststarthook/serviceaccount-controller': 'ok',
        'poststarthook/namespace-controller': 'boom',
      }),
    );
    await clock.advance(3000);
    const lines = (await loops.metrics.metrics()).split('\n');
    expect(lines).toContain('running_managed_controllers{name="serviceaccount-controller",manager="kapstan"} 1');
    expect(lines).toContain('running_managed_controllers{name="namespace-controller",manager="kapstan"} 0');
    expect(lines).toContain('kapstan_control_loop_restarts_total{name="namespace-controller"} 2');
  });

  it.each<[string, readonly ControlLoopName[], TestLoops, RegExp]>([
    ['a loop fails', ['namespace-controller'], { 'namespace-controller': fails }, /namespace-controller: boom$/],
    [
      'a loop does not get to see its objects',
      ['garbage-collector-controller'],
      {
        'garbage-collector-controller': (_, signal) =>
          new Promise((end) => signal.addEventListener('abort', () => end())),
      },
      /garbage-collector-controller: not finished$/,
    ],
    [
      'there is no namespace for the account',
      ['serviceaccount-controller'],
      {},
      /service account "default" is missing/,
    ],
  ])('fail to become ready within a minute when %s', async (_why, names, replaced, reason) => {
    const { loops } = await start(names, replaced);
    const ready = loops.whenReady();
    const outcome = expect(ready).rejects.toThrow(reason);
    // The stores are real, so we wait in real time for the sync before virtual time runs out.
    if (names.includes('serviceaccount-controller')) {
      await vi.waitFor(async () => expect(Object.values(await health(loops))).toEqual(['ok']));
    }
    await clock.advance(60_000);
    await outcome;
  });

  it('fail to become ready when they are closed', async () => {
    const { loops } = await start(['serviceaccount-controller']);
    const outcome = expect(loops.whenReady()).rejects.toThrow('the control loops are stopped');
    await loops.close();
    await outcome;
    await expect(loops.whenReady()).rejects.toThrow();
  });

  it.each<[ControlLoopName, ControlLoop]>([
    ['serviceaccount-controller', serviceAccountController],
    ['namespace-controller', namespaceController],
    ['garbage-collector-controller', garbageCollectorController],
  ])('leave no handler behind when %s fails and is started again', async (name, loop) => {
    const open = new Set<unknown>();
    const counted: ControlLoop = (context, signal) => loop(countHandlers(context, open), signal);
    const { loops } = await start([name], { [name]: counted });
    await vi.waitFor(async () => expect(Object.values(await health(loops))).toEqual(['boom']));
    expect(open.size).toBe(0);
  });
});

/** Returns a context in which a loop fails as soon as it has synced; `open` holds its handlers while they are registered. */
function countHandlers(context: ControlLoopContext, open: Set<unknown>): ControlLoopContext {
  const kinds = {
    whenSynced: () => context.kinds.whenSynced({ timeoutMs: 1000, signal: new AbortController().signal }),
    follow: (handler: object) => {
      open.add(handler);
      const unfollow = context.kinds.follow(handler);
      return () => {
        open.delete(handler);
        unfollow();
      };
    },
  };
  const informer: typeof context.informers.informer = (token, options) => {
    const { lister, addEventHandler } = bound(context.informers.informer(token, options));
    const counting: typeof addEventHandler = (handler) => {
      open.add(handler);
      const registration = addEventHandler(handler);
      const close = async (): Promise<void> => {
        open.delete(handler);
        await registration.close();
      };
      return { whenSynced: () => registration.whenSynced(), close } as typeof registration;
    };
    return { lister, addEventHandler: counting } as never;
  };
  const onSynced = (): void => {
    expect(open.size).toBeGreaterThan(0);
    throw new Error('boom');
  };
  const informers = { informer, start: () => context.informers.start() };
  return { ...context, kinds, informers, onSynced } as unknown as ControlLoopContext;
}

function bound<T extends KubernetesObject>(
  informer: SharedInformer<T>,
): Pick<SharedInformer<T>, 'lister' | 'addEventHandler'> {
  return { lister: informer.lister, addEventHandler: (handler) => informer.addEventHandler(handler) };
}
