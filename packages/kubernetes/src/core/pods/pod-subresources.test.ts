// Fields that endpoints for parts of a pod keep and refuse, recorded from a kube-apiserver 1.36.
import { deepCopy, type UnstructuredObject } from '@kapstan/api';
import { formatFieldError } from '@kapstan/api/errors';
import type { StrategySubresource } from '@kapstan/apiserver/internal';
import { testContext } from '@kapstan/apiserver/testing';
import type { Container, Pod, PodSpec } from '@kapstan/kinds/core/v1';
import { describe, expect, it } from 'vitest';
import { definitionOf } from '../../testing/status-endpoint.ts';

const definition = definitionOf('pods');
const container = (name: string, more: Partial<Container> = {}): Container => ({ name, image: 'i:1', ...more });

function written(name: 'resize' | 'ephemeralcontainers', old: Pod, change: (next: Pod) => void): [Pod, string[]] {
  const { strategy } = definition.subresources.find((part) => part.name === name) as StrategySubresource<never>;
  const present = deepCopy(old) as Pod;
  definition.applyDefaults(present as UnstructuredObject);
  const next = deepCopy(present) as Pod;
  change(next);
  definition.applyDefaults(next as UnstructuredObject);
  strategy.prepareForUpdate(next as never, present as never, testContext());
  const errors = strategy.validateUpdate(next as never, present as never, testContext()).map(formatFieldError);
  return [next, errors];
}

const pod = (spec: Partial<PodSpec>, annotations: Record<string, string> = {}): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u', annotations },
  spec: { containers: [], ...spec },
});
const amounts = (requests: Record<string, string>, limits: Record<string, string> = {}): Partial<Container> => ({
  resources: { requests, limits },
});
const mirror = { 'kubernetes.io/config.mirror': 'x' };
const only = 'spec: Forbidden: only cpu and memory resources are mutable';

describe('the resize of a pod', () => {
  const burstable = pod({
    initContainers: [
      container('i', amounts({ cpu: '1' })),
      container('s', { ...amounts({ cpu: '1' }), restartPolicy: 'Always' }),
    ],
    containers: [container('c', amounts({ cpu: '1', memory: '1Gi' }, { cpu: '2', memory: '2Gi' })), container('d')],
  });
  const guaranteed = pod({ containers: [container('c', amounts({}, { cpu: '1', memory: '1Gi' }))] });
  const whole = pod({
    resources: { requests: { cpu: '2' }, limits: { cpu: '4' } },
    containers: [container('c', amounts({ cpu: '1' }))],
  });
  const of = (next: Pod, name: string): Container => {
    const all = [...(next.spec?.containers ?? []), ...(next.spec?.initContainers ?? [])];
    return all.find((candidate) => candidate.name === name)!;
  };
  const set = (name: string, more: Partial<Container>) => (next: Pod) => void Object.assign(of(next, name), more);

  it.each<[string, Pod, (next: Pod) => void, string[]]>([
    [
      'changes CPU and memory',
      burstable,
      set('c', amounts({ cpu: '1500m', memory: '1Gi' }, { cpu: '3', memory: '2Gi' })),
      [],
    ],
    ['adds amounts', burstable, set('d', amounts({ cpu: '1' })), []],
    ['changes those of init containers', burstable, set('i', amounts({ cpu: '2' })), []],
    ['leaves other amounts', burstable, set('d', amounts({}, { 'example.com/x': '1' })), [only]],
    [
      'leaves other amounts of sidecars',
      burstable,
      set('s', amounts({ cpu: '1', 'ephemeral-storage': '2' })),
      ['spec.initContainers[1]: Forbidden: only cpu and memory resources for init or sidecar containers are mutable'],
    ],
    [
      'takes nothing away',
      burstable,
      set('c', amounts({ cpu: '1', memory: '1Gi' }, { memory: '2Gi' })),
      ['spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed'],
    ],
    [
      'knows no policy of restarts that changes',
      burstable,
      set('c', { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }] }),
      [only],
    ],
    [
      'leaves the number of containers',
      burstable,
      (next) => void next.spec?.containers.push(container('zz')),
      ['spec.containers: Forbidden: containers may not be added or removed on resize'],
    ],
    [
      'leaves their order',
      burstable,
      (next) => void next.spec?.containers.reverse(),
      [0, 1].map(
        (at) => `spec.containers[${at}].name: Forbidden: containers may not be renamed or reordered on resize`,
      ),
    ],
    [
      'leaves the class of service',
      guaranteed,
      set('c', amounts({ cpu: '500m', memory: '1Gi' }, { cpu: '1', memory: '1Gi' })),
      ['spec: Invalid value: "Guaranteed": Pod QOS Class may not change as a result of resizing'],
    ],
    [
      'changes the amounts of the whole pod',
      whole,
      (next) =>
        void Object.assign(next.spec!, { resources: { requests: { cpu: '3' }, limits: { cpu: '4', memory: '3Gi' } } }),
      [],
    ],
    [
      'takes nothing of the whole pod away',
      whole,
      (next) => void Object.assign(next.spec!, { resources: { requests: { cpu: '2' } } }),
      ['spec.resources.limits: Forbidden: pod-level resource limits cannot be removed'],
    ],
    [
      'keeps some amounts of the whole pod',
      whole,
      (next) => void delete next.spec?.resources,
      ['spec.resources: Forbidden: pod-level resources cannot be removed'],
    ],
    [
      'is not for static pods',
      pod({ nodeName: 'n', containers: [container('c')] }, mirror),
      set('c', amounts({ cpu: '1' })),
      ['[]: Forbidden: static pods cannot be resized'],
    ],
    [
      'is not for Windows',
      pod({ os: { name: 'windows' }, containers: [container('c')] }),
      set('c', amounts({ cpu: '1' })),
      ['[]: Forbidden: windows pods cannot be resized'],
    ],
  ])('%s', (_about, old, change, refused) => {
    expect(written('resize', old, change)[1]).toEqual(refused);
  });

  it('needs a node that can: one that tells the amounts of what runs', () => {
    const running = (resources?: object): Pod => ({
      ...burstable,
      status: {
        containerStatuses: [
          { name: 'c', image: 'i', imageID: '', ready: true, restartCount: 0, state: { running: {} }, ...resources },
        ],
      },
    });
    const change = set('d', amounts({ cpu: '1' }));
    expect(written('resize', running(), change)[1]).toEqual([
      'spec: Forbidden: Pod running on node without support for resize',
    ]);
    expect(written('resize', running({ resources: {} }), change)[1]).toEqual([]);
  });

  it('writes nothing else of the pod, and raises the generation', () => {
    const [next, errors] = written(
      'resize',
      { ...burstable, metadata: { ...burstable.metadata, generation: 4 } },
      (wanted) => {
        wanted.metadata = { ...wanted.metadata, labels: { a: 'b' }, annotations: { c: 'd' } };
        Object.assign(wanted.spec!, { nodeName: 'other' });
        Object.assign(of(wanted, 'c'), {
          image: 'other',
          ...amounts({ cpu: '1500m', memory: '1Gi' }, { cpu: '2', memory: '2Gi' }),
        });
      },
    );
    expect(errors).toEqual([]);
    expect([next.metadata?.labels, next.metadata?.annotations, next.spec?.nodeName]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(of(next, 'c')).toMatchObject({ image: 'i:1', resources: { requests: { cpu: '1500m' } } });
    expect(next.metadata?.generation).toBe(5);
  });
});

describe('the ephemeral containers of a pod', () => {
  const debug = { name: 'e', image: 'i:1' };
  const add = (next: Pod): void => void Object.assign(next.spec!, { ephemeralContainers: [debug] });

  it('are all that is written', () => {
    const [next, errors] = written('ephemeralcontainers', pod({ containers: [container('c')] }), (wanted) => {
      add(wanted);
      wanted.metadata = { ...wanted.metadata, labels: { a: 'b' } };
      wanted.spec!.containers[0]!.image = 'other';
    });
    expect(errors).toEqual([]);
    expect(next.spec?.ephemeralContainers).toEqual([expect.objectContaining(debug)]);
    expect([next.metadata?.labels, next.spec?.containers[0]?.image]).toEqual([undefined, 'i:1']);
  });

  it('are not for static pods', () => {
    const [, errors] = written(
      'ephemeralcontainers',
      pod({ nodeName: 'n', containers: [container('c')] }, mirror),
      add,
    );
    expect(errors).toEqual(['[]: Forbidden: static pods do not support ephemeral containers']);
  });
});
