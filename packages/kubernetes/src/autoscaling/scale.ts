// The /scale subresource of workloads: an autoscaling/v1 Scale made from the object and written back into it.
// Source: pkg/registry/apps/<resource>/storage ScaleREST.

import type { DeepReadonly, KubernetesObject, UnstructuredObject } from '@kapstan/api';
import { conflict, invalid, notFound } from '@kapstan/api/errors';
import { formatApiVersion } from '@kapstan/api/internal';
import type { ObjectSubresource, TrackFields } from '@kapstan/apiserver/internal';
import { changeScaled, collectFieldErrors, scaleTable, validateObjectMeta } from '@kapstan/apiserver/internal';
import { kubernetesTypes } from '../builtin/kubernetes-types.ts';

/** Functions that scale a kind. */
export interface ScaledKind<T extends KubernetesObject> {
  readonly resource: { readonly group: string; readonly resource: string };
  read(object: DeepReadonly<T>): { readonly replicas: number; readonly current: number; readonly selector: string };
  write(object: T, replicas: number): void;
}

export function scaleSubresource<T extends KubernetesObject>(kind: ScaledKind<T>): ObjectSubresource<T> {
  return {
    type: 'object',
    name: 'scale',
    kind: scaleKind,
    verbs: ['get', 'patch', 'update'],
    get schema() {
      return kubernetesTypes.schema('autoscaling.v1.Scale');
    },
    applyDefaults: (scale) => kubernetesTypes.normalize('autoscaling.v1.Scale', scale),
    table: scaleTable,
    get: async (store, context, name) => scaleOf(kind, (await store.get(context, name)).object),
    update: async (store, context, { name, change, ...preconditions }) => {
      const field = { apiVersion: formatApiVersion({ group: kind.resource.group, version: 'v1' }), path: replicasPath };
      const transform = async (present: T | undefined, track?: TrackFields): Promise<T> => {
        if (present === undefined) throw notFound(kind.resource, name);
        const scale = scaleOf(kind, present as DeepReadonly<T>) as UnstructuredObject;
        const write = (next: UnstructuredObject): T => applyScale(kind, present, next);
        return changeScaled(present, { scale, change, field, track }, write);
      };
      const validateAdmitted = (next: DeepReadonly<T>, old: DeepReadonly<T>): Promise<void> | undefined => {
        const [object, oldObject] = [scaleOf(kind, next), scaleOf(kind, old)] as UnstructuredObject[];
        const part = { operation: 'UPDATE', phase: 'validate', name, subresource: 'scale', kind: scaleKind } as const;
        return store.admitPart?.(context, { ...part, object: object ?? {}, oldObject });
      };
      const how = { ...preconditions, managedFields: 'given', isAdmitted: true, validateAdmitted } as const;
      const { stored } = await store.update(context, { name, transform, subresource: 'scale', ...how });
      return scaleOf(kind, stored.object);
    },
    isApplicable: true,
  };
}

const scaleKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' } as const;
const replicasPath = ['spec', 'replicas'];

function scaleOf<T extends KubernetesObject>(kind: ScaledKind<T>, object: DeepReadonly<T>): KubernetesObject {
  const { replicas, current, selector } = kind.read(object);
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata ?? {};
  const scale = {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas },
    status: { replicas: current, selector },
  };
  kubernetesTypes.normalize('autoscaling.v1.Scale', scale);
  return scale as KubernetesObject;
}

function applyScale<T extends KubernetesObject>(kind: ScaledKind<T>, object: T, scale: UnstructuredObject): T {
  const replicas = (scale.spec as { replicas?: number } | undefined)?.replicas ?? 0;
  // Admission may have changed more than the number.
  const errors = [
    ...validateObjectMeta(scale.metadata ?? {}, { namespaced: true, finalizerNames: 'Kubernetes' }),
    ...collectFieldErrors((root) => root.child('spec', 'replicas').nonNegative(replicas)),
  ];
  if (errors.length > 0) throw invalid({ group: 'autoscaling', kind: 'Scale' }, object.metadata?.name ?? '', errors);
  refuseOtherUid(kind, object, scale);
  kind.write(object, replicas);
  // A resourceVersion in the scale is a precondition on the object. Source: scaleUpdatedObjectInfo.
  if (scale.metadata?.resourceVersion)
    object.metadata = { ...object.metadata, resourceVersion: scale.metadata.resourceVersion };
  return object;
}

/** Source: scaleUpdatedObjectInfo. */
function refuseOtherUid<T extends KubernetesObject>(
  { resource }: ScaledKind<T>,
  { metadata }: T,
  scale: UnstructuredObject,
): void {
  const uid = scale.metadata?.uid;
  if (!uid || uid === metadata?.uid) return;
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata?.uid}`;
  throw conflict({ ...resource, resource: `${resource.resource}/scale` }, metadata?.name ?? '', why);
}
