import type { UnstructuredObject } from '@kapstan/api';
import type { FieldError } from '@kapstan/api/errors';
import type { ResourceDefinition } from '@kapstan/apiserver';
import { testContext } from '@kapstan/apiserver/testing';
import { describe, expect, it } from 'vitest';
import { builtinResources } from '../../builtin-resources.ts';

const context = testContext({ namespace: 'default' });
const kindsOf = (allowsPrivileged?: boolean): ReadonlyMap<string, ResourceDefinition> =>
  new Map(
    builtinResources(allowsPrivileged === undefined ? {} : { capabilities: { allowsPrivileged } }).map((definition) => [
      definition.resource,
      definition,
    ]),
  );
const [byDefault, allowing] = [kindsOf(), kindsOf(true)];
const privileged = { name: 'a', image: 'a', securityContext: { privileged: true } };
const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [privileged] } };
const selector = { matchLabels: { a: 'b' } };
const job = { template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } } };

function complete(kinds: ReadonlyMap<string, ResourceDefinition>, resource: string, fields: object) {
  const definition = kinds.get(resource) as ResourceDefinition;
  const { group, version, kind } = definition;
  const object = {
    apiVersion: group === '' ? version : `${group}/${version}`,
    kind,
    metadata: { name: 'a', namespace: 'default' },
    ...structuredClone(fields),
  } as UnstructuredObject;
  definition.applyDefaults(object);
  return { definition, object };
}

function refusals(kinds: ReadonlyMap<string, ResourceDefinition>, resource: string, fields: object): string[] {
  const { definition, object } = complete(kinds, resource, fields);
  return definition.strategy.validateCreate(object, context).map(textOf);
}

const textOf = ({ type, field, detail }: FieldError): string => `${type} ${field}: ${detail}`;
const refused = (path: string): string => `FieldValueForbidden ${path}: disallowed by cluster policy`;

describe('a privileged container', () => {
  it.each([
    ['pods', { spec: template.spec }, 'spec.'],
    ['podtemplates', { template }, 'template.spec.'],
    ['replicationcontrollers', { spec: { template } }, 'spec.template.spec.'],
    ['deployments', { spec: { selector, template } }, 'spec.template.spec.'],
    ['replicasets', { spec: { selector, template } }, 'spec.template.spec.'],
    ['statefulsets', { spec: { selector, template } }, 'spec.template.spec.'],
    ['daemonsets', { spec: { selector, template } }, 'spec.template.spec.'],
    ['jobs', { spec: { ...job, manualSelector: true, selector } }, 'spec.template.spec.'],
    ['cronjobs', { spec: { schedule: '@daily', jobTemplate: { spec: job } } }, 'spec.jobTemplate.spec.template.spec.'],
  ])('is refused where the server does not allow it, and taken where it does: %s', (resource, fields, path) => {
    expect(refusals(byDefault, resource, fields)).toEqual([refused(`${path}containers[0].securityContext.privileged`)]);
    expect(refusals(allowing, resource, fields)).toEqual([]);
  });

  it('is refused among the init containers, too', () => {
    const spec = { initContainers: [privileged], containers: [{ name: 'b', image: 'b' }] };
    expect(refusals(byDefault, 'pods', { spec })).toEqual([
      refused('spec.initContainers[0].securityContext.privileged'),
    ]);
  });

  it('is not one that says `privileged: false`', () => {
    const plain = { ...privileged, securityContext: { privileged: false } };
    expect(refusals(byDefault, 'pods', { spec: { containers: [plain] } })).toEqual([]);
  });

  it('may not be added to a running pod, either', () => {
    const errorsIn = (kinds: ReadonlyMap<string, ResourceDefinition>): string[] => {
      const { definition, object: old } = complete(kinds, 'pods', {
        spec: { containers: [{ name: 'b', image: 'b' }] },
      });
      const { object: next } = complete(kinds, 'pods', {
        spec: { containers: [{ name: 'b', image: 'b' }], ephemeralContainers: [privileged] },
      });
      const part = definition.subresources.find(({ name }) => name === 'ephemeralcontainers');
      if (part?.type !== 'strategy') throw new Error('no strategy');
      return part.strategy.validateUpdate(next, old, context).map(textOf);
    };
    expect(errorsIn(byDefault)).toEqual([refused('spec.ephemeralContainers[0].securityContext.privileged')]);
    expect(errorsIn(allowing)).toEqual([]);
  });
});

it('a Windows host process is refused where privileged containers are', () => {
  const windowsOptions = { hostProcess: true, runAsUserName: 'a' };
  const spec = {
    os: { name: 'windows' },
    hostNetwork: true,
    containers: [{ name: 'a', image: 'a', securityContext: { windowsOptions } }],
  };
  const text = 'FieldValueForbidden spec: hostProcess containers are disallowed by cluster policy';
  expect(refusals(byDefault, 'pods', { spec })).toEqual([text]);
  expect(refusals(allowing, 'pods', { spec })).toEqual([]);
});
