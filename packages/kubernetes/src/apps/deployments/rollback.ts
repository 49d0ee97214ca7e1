// POST deployments/{name}/rollback of extensions/v1beta1 records on the deployment that its controller shall roll it
// back. Historic: today's clients set the template themselves. Source: pkg/registry/apps/deployment/storage
// RollbackREST.

import type { UnstructuredObject } from '@kapstan/api';
import { badRequest, invalid } from '@kapstan/api/errors';
import { isJsonObject, setOwn } from '@kapstan/api/internal';
import type { ResourceStrategy, ServedResource } from '@kapstan/apiserver';
import type { ObjectSubresource, SchemaNode } from '@kapstan/apiserver/internal';
import { annotationErrors, collectFieldErrors, metaOf } from '@kapstan/apiserver/internal';
import { kubernetesTypes } from '../../builtin/kubernetes-types.ts';

/** Annotation in which deployment controllers find the revision. Source: apps/v1 DeprecatedRollbackTo. */
const rollbackAnnotation = 'deprecated.deployment.rollback.to';

const text: SchemaNode = { type: 'string' };
const schema: SchemaNode = {
  type: 'object',
  goType: 'v1beta1.DeploymentRollback',
  types: kubernetesTypes,
  properties: new Map<string, SchemaNode>([
    ['apiVersion', text],
    ['kind', text],
    ['name', text],
    ['updatedAnnotations', { type: 'object', additionalProperties: text }],
    [
      'rollbackTo',
      {
        type: 'object',
        goType: 'v1beta1.RollbackConfig',
        properties: new Map<string, SchemaNode>([['revision', { type: 'integer', format: 'int64' }]]),
      },
    ],
  ]),
};

/** Returns deployments of extensions/v1beta1, with only that subresource, on the deployments of apps/v1. */
export function deploymentRollbacks({ definition, store }: ServedResource): ServedResource {
  const { storageVersionHash: _hash, discoveryPlace: _place, ...rest } = definition;
  return {
    definition: {
      ...rest,
      group: 'extensions',
      version: 'v1beta1',
      shortNames: [],
      categories: [],
      verbs: [],
      subresources: [rollbackSubresource(definition.strategy)],
    },
    store,
  };
}

function rollbackSubresource(strategy: ResourceStrategy): ObjectSubresource<UnstructuredObject> {
  // The record does not change the desired state: the generation stays, deployments' rules do not run and nobody owns
  // the field.
  const noting = {
    ...{ ...strategy, prepareForUpdate: () => undefined, prepareForUpdateInSlices: undefined },
    validateUpdate: () => [],
  };
  return {
    type: 'object',
    name: 'rollback',
    kind: { group: 'extensions', version: 'v1beta1', kind: 'DeploymentRollback' },
    verbs: ['create'],
    schema,
    create: async (store, context, { name, body, validate }) => {
      const { annotations, revision } = requireValid(body, name);
      await validate();
      const transform = (present: UnstructuredObject | undefined): UnstructuredObject => {
        const deployment = present as UnstructuredObject;
        const meta = metaOf(deployment);
        meta.annotations = { ...meta.annotations };
        for (const [key, value] of Object.entries(annotations)) setOwn(meta.annotations, key, value);
        meta.annotations[rollbackAnnotation] = revision;
        return deployment;
      };
      const how = { subresource: 'rollback', managedFields: 'given', isAdmitted: true } as const;
      await store.update(context, { name, transform, strategy: noting, ...how });
      return {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Success',
        message: `rollback request for deployment ${JSON.stringify(name)} succeeded`,
        code: 200,
      };
    },
  };
}

interface Rollback {
  readonly annotations: Readonly<Record<string, string>>;
  /** Digits; "0" = the previous revision. */
  readonly revision: string;
}

/** Throws 422 and 400. Source: ValidateDeploymentRollback. */
function requireValid(body: UnstructuredObject, name: string): Rollback {
  const own = typeof body.name === 'string' ? body.name : '';
  const annotations = isJsonObject(body.updatedAnnotations) ? (body.updatedAnnotations as Record<string, string>) : {};
  const revision = isJsonObject(body.rollbackTo) ? (body.rollbackTo.revision ?? 0) : 0;
  const errors = [
    ...annotationErrors(annotations, 'updatedAnnotations'),
    ...collectFieldErrors((root) => {
      if (own === '') root.child('name').required();
      root.child('rollback', 'version').nonNegative(revision as number);
    }),
  ];
  if (errors.length > 0) throw invalid({ group: 'apps', kind: 'DeploymentRollback' }, own, errors);
  if (own !== name) throw badRequest('name in URL does not match name in DeploymentRollback object');
  return { annotations, revision: String(revision) };
}
