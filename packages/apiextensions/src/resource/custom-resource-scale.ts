// The /scale subresource of a custom resource: an autoscaling/v1 Scale over the paths in its definition. Source:
// apiextensions registry/customresource ScaleREST.

import type { DeepReadonly, KubernetesObject, UnstructuredObject } from '@kapstan/api';
import { badRequest, type FieldError, internalError, invalidField, notFound } from '@kapstan/api/errors';
import { formatApiVersion } from '@kapstan/api/internal';
import type { ObjectSubresource, TrackFields } from '@kapstan/apiserver/internal';
import { changeScaled, metaTypes, scaleDefinition } from '@kapstan/apiserver/internal';
import type {
  CustomResourceColumnDefinition,
  CustomResourceSubresourceScale,
} from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { ageColumns, customResourceTable } from './custom-resource-table.ts';
import { readInteger, readText, splitDottedPath, writePath } from './dotted-path.ts';

export type ScalePaths = DeepReadonly<CustomResourceSubresourceScale>;

const maxInt32 = 2_147_483_647;
/**
 * kube-apiserver asks the converter of the kind to convert a Scale, which the converter does not know, so every apply
 * fails.
 */
const applyFault =
  'failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid group/version: autoscaling/v1';
/** Represents unset replicas while a change is computed. Source: invalidSpecReplicas. */
const unset = -2_147_483_648;

export function customScaleSubresource(
  resource: { readonly group: string; readonly version: string; readonly resource: string },
  paths: ScalePaths,
): ObjectSubresource<UnstructuredObject> {
  return {
    type: 'object',
    name: 'scale',
    kind: scaleKind,
    verbs: ['get', 'patch', 'update'],
    schema: metaTypes.schema(scaleDefinition),
    applyDefaults: (scale) => metaTypes.normalize(scaleDefinition, scale),
    table: customResourceTable(scaleColumns(paths)),
    get: async (store, context, name) => knownScale(paths, (await store.get(context, name)).object),
    update: async (store, context, { name, change, ...preconditions }) => {
      const field = { apiVersion: formatApiVersion(resource), path: splitDottedPath(paths.specReplicasPath) };
      const transform = async (
        present: UnstructuredObject | undefined,
        track?: TrackFields,
      ): Promise<UnstructuredObject> => {
        if (present === undefined) throw notFound(resource, name);
        const scale = scaleOf(paths, present, unset) as UnstructuredObject;
        const write = (next: UnstructuredObject): UnstructuredObject => applyScale(paths, present, next);
        return changeScaled(present, { scale, change, field, track }, write);
      };
      const validateAdmitted = (
        next: DeepReadonly<UnstructuredObject>,
        old: DeepReadonly<UnstructuredObject>,
      ): Promise<void> | undefined => {
        const [object, oldObject] = [scaleOf(paths, next, 0), scaleOf(paths, old, 0)] as UnstructuredObject[];
        const part = { operation: 'UPDATE', phase: 'validate', name, subresource: 'scale', kind: scaleKind } as const;
        return store.admitPart?.(context, { ...part, object: object ?? {}, oldObject });
      };
      const how = { ...preconditions, managedFields: 'given', isAdmitted: true, validateAdmitted } as const;
      const { stored } = await store.update(context, { name, transform, subresource: 'scale', ...how });
      return knownScale(paths, stored.object);
    },
    isApplicable: true,
    applyFault,
  };
}

const scaleKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' } as const;

/** Source: getScaleColumnsForVersion. */
function scaleColumns({ specReplicasPath, statusReplicasPath }: ScalePaths): CustomResourceColumnDefinition[] {
  const column = (name: string, jsonPath: string): CustomResourceColumnDefinition => ({
    name,
    type: 'integer',
    description: `Number of ${name.toLowerCase()} replicas.`,
    jsonPath,
  });
  return [
    ...(specReplicasPath === '' ? [] : [column('Desired', '.spec.replicas')]),
    ...(statusReplicasPath === '' ? [] : [column('Available', '.status.replicas')]),
    ...ageColumns,
  ];
}

function knownScale(paths: ScalePaths, object: DeepReadonly<UnstructuredObject>): KubernetesObject {
  const replicas = internal(() => readInteger(object, paths.specReplicasPath));
  if (replicas === undefined) {
    throw internalError(new Error(`the spec replicas field ${JSON.stringify(paths.specReplicasPath)} does not exist`));
  }
  return scaleOf(paths, object, replicas);
}

function scaleOf(paths: ScalePaths, object: DeepReadonly<UnstructuredObject>, otherwise: number): KubernetesObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata ?? {};
  const { labelSelectorPath } = paths;
  const scale = {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: internal(() => readInteger(object, paths.specReplicasPath)) ?? otherwise },
    status: {
      replicas: internal(() => readInteger(object, paths.statusReplicasPath)) ?? 0,
      selector: labelSelectorPath ? (internal(() => readText(object, labelSelectorPath)) ?? '') : '',
    },
  };
  metaTypes.normalize(scaleDefinition, scale);
  return scale as KubernetesObject;
}

/** A value in a stored object that cannot be read is a server error: 500. */
function internal<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof TypeError) throw internalError(error);
    throw error;
  }
}

function applyScale(paths: ScalePaths, object: UnstructuredObject, scale: UnstructuredObject): UnstructuredObject {
  const replicas = (scale.spec as { replicas?: number } | undefined)?.replicas ?? 0;
  if (replicas === unset) {
    throw badRequest(`the spec replicas field ${JSON.stringify(paths.specReplicasPath)} cannot be empty`);
  }
  internal(() => writePath(object, paths.specReplicasPath, replicas));
  // A resourceVersion in the scale is a precondition on the object.
  const version = scale.metadata?.resourceVersion;
  if (version) object.metadata = { ...object.metadata, resourceVersion: version };
  return object;
}

/**
 * Returns errors when the values at the paths cannot be used for scaling. Source: ValidateScaleSpec,
 * ValidateScaleStatus.
 */
export function scaleErrors(
  paths: ScalePaths,
  object: DeepReadonly<UnstructuredObject>,
  part: '.spec.' | '.status.',
): readonly FieldError[] {
  const replicasPath = part === '.spec.' ? paths.specReplicasPath : paths.statusReplicasPath;
  const { labelSelectorPath } = paths;
  const errors = replicasErrors(object, replicasPath);
  if (labelSelectorPath?.startsWith(part))
    errors.push(...readErrors('', labelSelectorPath, () => readText(object, labelSelectorPath)));
  return errors;
}

function replicasErrors(object: DeepReadonly<UnstructuredObject>, path: string): FieldError[] {
  let replicas = 0;
  const errors = readErrors(0, path, () => {
    replicas = readInteger(object, path) ?? 0;
  });
  if (replicas < 0) errors.push(invalidField(path, replicas, 'should be a non-negative integer'));
  if (replicas > maxInt32) errors.push(invalidField(path, replicas, `should be less than or equal to ${maxInt32}`));
  return errors;
}

/** `zero`: the value that Go reports for one that could not be read. */
function readErrors(zero: unknown, path: string, read: () => void): FieldError[] {
  try {
    read();
    return [];
  } catch (error) {
    if (error instanceof TypeError) return [invalidField(path, zero, error.message)];
    throw error;
  }
}
