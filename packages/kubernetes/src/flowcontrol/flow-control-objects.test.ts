import type { FlowSchema, PriorityLevelConfiguration } from '@kapstan/kinds/flowcontrol.apiserver.k8s.io/v1';
import { describe, expect, it } from 'vitest';
import { mandatoryLevels, mandatorySchemas, suggestedLevels, suggestedSchemas } from './bootstrap-configuration.ts';
import { type FlowControlChange, FlowControlObjects, mandatoryConfiguration } from './flow-control-objects.ts';

const object = (name: string, spec: unknown, uid = name) =>
  ({ metadata: { name, uid }, spec }) as FlowSchema & PriorityLevelConfiguration;
const limited = (limit: object) => ({ type: 'Limited', limited: { nominalConcurrencyShares: 5, ...limit } });
const rejecting = limited({ limitResponse: { type: 'Reject' } });

function objectsOf() {
  const changes: FlowControlChange[] = [];
  return { changes, objects: new FlowControlObjects((change) => changes.push(change)) };
}

describe('the configuration of stored objects', () => {
  it('has the mandatory schemas and levels even when they are not stored', () => {
    const { schemas, levels, fallback } = mandatoryConfiguration();
    expect(schemas.map(({ name, precedence }) => [name, precedence])).toEqual([
      ['exempt', 1],
      ['catch-all', 10_000],
    ]);
    expect(levels.map(({ name, queuing, shares }) => [name, queuing, shares])).toEqual([
      ['catch-all', 'none', 5],
      ['exempt', 'unlimited', 0],
    ]);
    expect(fallback).toBe('catch-all');
  });

  it('has what is stored, with its uid', () => {
    const { objects } = objectsOf();
    objects.replace(
      'FlowSchema',
      [...mandatorySchemas, ...suggestedSchemas].map(({ metadata, spec }) => object(metadata.name, spec, 'u')),
    );
    objects.replace(
      'PriorityLevelConfiguration',
      [...mandatoryLevels, ...suggestedLevels].map(({ metadata, spec }) => object(metadata.name, spec, 'u')),
    );
    const { schemas, levels } = objects.configuration();
    expect([schemas.length, levels.length]).toEqual([11, 8]);
    expect([...schemas, ...levels].every(({ uid }) => uid === 'u')).toBe(true);
    expect(schemas.find(({ name }) => name === 'system-leader-election')).toMatchObject({
      levelName: 'leader-election',
      distinguisher: 'user',
      rules: [
        {
          subjects: [
            { type: 'user', name: 'system:kube-controller-manager' },
            { type: 'user', name: 'system:kube-scheduler' },
            { type: 'serviceAccount', namespace: 'kube-system', name: '*' },
          ],
          resourceRules: [{ verbs: ['get', 'create', 'update'], clusterScope: false }],
        },
      ],
    });
    expect(levels.find(({ name }) => name === 'workload-low')).toMatchObject({
      shares: 100,
      lendablePercent: 90,
      borrowingLimitPercent: undefined,
      queuing: { queues: 128, handSize: 6, queueLengthLimit: 50 },
    });
  });

  it.each<readonly [what: string, name: string, spec: unknown]>([
    ['Limited without its part', 'a', { type: 'Limited' }],
    ['Exempt under another name', 'a', { type: 'Exempt', exempt: {} }],
    ['Limited under the name exempt', 'exempt', rejecting],
    ['rejecting with queues', 'a', limited({ limitResponse: { type: 'Reject', queuing: { queues: 1 } } })],
    ['queuing without queues', 'a', limited({ limitResponse: { type: 'Queue' } })],
    ['both parts', 'exempt', { type: 'Exempt', exempt: {}, limited: {} }],
  ])('leaves out a level that is %s', (_, name, spec) => {
    const { objects } = objectsOf();
    objects.set('PriorityLevelConfiguration', object(name, spec));
    expect(objects.hasUsableLevel(name)).toBe(false);
    expect(objects.configuration().levels.filter(({ uid }) => uid !== '')).toEqual([]);
  });

  it('tells changes of specs from changes of a status', () => {
    const { objects, changes } = objectsOf();
    const spec = { priorityLevelConfiguration: { name: 'p' }, matchingPrecedence: 5 };
    objects.set('FlowSchema', object('a', spec));
    const withStatus: FlowSchema = { ...object('a', structuredClone(spec)), status: {} };
    objects.set('FlowSchema', withStatus);
    objects.set('FlowSchema', object('a', { ...spec, matchingPrecedence: 6 }));
    objects.set('FlowSchema', object('a', { ...spec, matchingPrecedence: 6 }, 'made again'));
    objects.delete('FlowSchema', object('a', spec));
    expect(changes).toEqual(['specs', 'status', 'specs', 'specs', 'specs']);
    expect([...objects.schemas]).toEqual([]);
  });
});
