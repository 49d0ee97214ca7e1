import { type Clock, type DeepReadonly, systemClock, type UnstructuredObject } from '@kapstan/api';
import { runInTurns } from '@kapstan/storage';
import { beforeEach, describe, expect, it } from 'vitest';
import { type PodView, strictPolicyWarnings } from './namespace-pods.ts';

let nowMs: number;
let looks: number;
const clock: Clock = Object.create(systemClock, { monotonicNow: { value: () => nowMs } });
beforeEach(() => {
  nowMs = 0;
  looks = 0;
});

interface PodShape {
  readonly controller?: string;
  readonly runtimeClassName?: string;
  readonly spec?: object;
}

const good = {};
const onHost = { hostPID: true };
const privileged = { containers: [{ name: 'c', securityContext: { privileged: true } }] };

/** `lookMs`: duration of each check of the pod. */
function podView(name: string, { controller, runtimeClassName, spec = onHost }: PodShape, lookMs = 0): PodView {
  const ownerReferences = controller === undefined ? [] : [{ uid: controller, controller: true }];
  const object = { metadata: { name, ownerReferences }, spec: { runtimeClassName, ...spec } };
  return {
    view: (look) => {
      looks += 1;
      nowMs += lookMs;
      return look(object as unknown as DeepReadonly<UnstructuredObject>);
    },
  };
}

async function warningsOf(pods: readonly PodView[], exempt: readonly string[] = []): Promise<string[]> {
  const enforce = { level: 'baseline', version: 'latest' } as const;
  const isExempt = (runtimeClass: string): boolean => exempt.includes(runtimeClass);
  return runInTurns(strictPolicyWarnings({ namespace: 'ns', pods, enforce, isExempt, clock, untilMs: nowMs + 1_000 }));
}

const head = 'existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:latest"';

describe('warnings of the pods of a namespace', () => {
  it('are none where every pod may stay', async () => {
    expect(await warningsOf([podView('a', { spec: good })])).toEqual([]);
  });

  it('name one pod for each set of reasons, and count the others', async () => {
    const pods = [
      podView('z', {}),
      podView('b', {}),
      podView('m', {}),
      podView('y', { spec: privileged }),
      podView('x', { spec: privileged }),
      podView('both', { spec: { ...onHost, ...privileged } }),
    ];
    expect(await warningsOf(pods)).toEqual([
      head,
      'b (and 2 other pods): host namespaces',
      'both: host namespaces, privileged',
      'x (and 1 other pod): privileged',
    ]);
  });

  it('leave out pods of runtime classes without rules', async () => {
    const pods = [podView('a', { runtimeClassName: 'sandbox' }), podView('b', { runtimeClassName: 'other' })];
    expect(await warningsOf(pods, ['sandbox'])).toEqual([head, 'b: host namespaces']);
  });

  it('look at one pod of each controller first, and at 3,000 pods at most', async () => {
    const replicas = Array.from({ length: 3_000 }, (_, at) => podView(`r${at}`, { controller: 'one', spec: good }));
    const warnings = await warningsOf([...replicas, podView('other', { controller: 'two' })]);
    expect(warnings).toEqual([
      'new PodSecurity enforce level only checked against the first 3000 of 3001 existing pods',
      head,
      'other: host namespaces',
    ]);
  });

  it('take a second at most', async () => {
    const pods = Array.from({ length: 10 }, (_, at) => podView(`p${at}`, { spec: good }, 60));
    expect(await warningsOf(pods)).toEqual([
      'new PodSecurity enforce level only checked against the first 7 of 10 existing pods',
    ]);
    expect(looks).toBe(17);
  });
});
