// POST pods/{name}/binding assigns a pod to a node. Source: pkg/registry/core/pod/storage BindingREST.
import { type DeepReadonly, formatTime, type KubernetesObject, StatusError } from '@kapstan/api';
import { badRequest, conflict, formatFieldErrors, notFound } from '@kapstan/api/errors';
import type { ObjectSubresource } from '@kapstan/apiserver/internal';
import { collectFieldErrors, subresourceStrategy } from '@kapstan/apiserver/internal';
import type { Binding, Pod, PodCondition } from '@kapstan/kinds/core/v1';
import type { BuiltinServer } from '../../builtin/builtin-kind.ts';
import { kindFactsOf } from '../../builtin/builtin-resource.ts';
import { kubernetesTypes } from '../../builtin/kubernetes-types.ts';

const bindings = { group: '', resource: 'pods/binding' };
const pods = { group: '', resource: 'pods' };

/** The answer of the API when there is no object to show. */
export const createdStatus: KubernetesObject & { readonly status: string; readonly code: number } = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  code: 201,
};

export function bindingSubresource(server: Pick<BuiltinServer, 'clock'>): ObjectSubresource<Pod> {
  const strategy = subresourceStrategy<Pod>(kindFactsOf('v1/pods'), {
    prepare: () => undefined,
    validate: () => undefined,
  });
  return {
    type: 'object',
    name: 'binding',
    kind: { group: '', version: 'v1', kind: 'Binding' },
    verbs: ['create'],
    schema: kubernetesTypes.schema('core.v1.Binding'),
    applyDefaults: (binding) => kubernetesTypes.normalize('core.v1.Binding', binding),
    create: async (store, context, { name, body, validate }) => {
      const binding = body as KubernetesObject as Binding;
      requireValid(binding, name);
      await validate();
      const { uid, resourceVersion } = binding.metadata ?? {};
      await store.update(context, {
        name,
        strategy,
        subresource: 'binding',
        // The writer of a binding does not become manager of its fields, because a binding bypasses the handlers that
        // track fields.
        managedFields: 'given',
        isAdmitted: true,
        preconditions: {
          ...(uid === undefined ? {} : { uid }),
          ...(resourceVersion === undefined ? {} : { resourceVersion }),
        },
        transform: (present) => {
          if (present === undefined) throw notFound(pods, name);
          return assign(present, binding, formatTime(server.clock.now()));
        },
      });
      return createdStatus;
    },
  };
}

function requireValid(binding: Binding, name: string): void {
  if (binding.metadata?.name !== name) throw badRequest('name in URL does not match name in Binding object');
  requireTarget(binding);
}

/** Throws 500 when the target is not a node. */
export function requireTarget(binding: Binding): void {
  const errors = collectFieldErrors((root) => {
    const target = root.child('target');
    const kind = binding.target?.kind ?? '';
    if (kind !== '' && kind !== 'Node') target.child('kind').notSupported(kind, ['Node', '<empty>']);
    if (!binding.target?.name) target.child('name').required();
  });
  // Kubernetes answers these errors without a reason, as an internal error.
  if (errors.length > 0) throw new StatusError({ code: 500, reason: '', message: formatFieldErrors(errors) });
}

/** Source: setPodNodeAndMetadata. */
function assign(pod: Pod, binding: Binding, now: string): Pod {
  const name = pod.metadata?.name ?? '';
  const node = pod.spec?.nodeName ?? '';
  if (pod.metadata?.deletionTimestamp !== undefined)
    throw conflict(bindings, name, `pod ${name} is being deleted, cannot be assigned to a host`);
  if (node !== '') throw conflict(bindings, name, `pod ${name} is already assigned to node ${JSON.stringify(node)}`);
  if ((pod.spec?.schedulingGates?.length ?? 0) > 0)
    throw conflict(bindings, name, `pod ${name} has non-empty .spec.schedulingGates`);
  const { annotations, labels } = binding.metadata ?? {};
  const { nominatedNodeName: _nominated, ...status } = pod.status ?? {};
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      ...(annotations === undefined ? {} : { annotations: { ...pod.metadata?.annotations, ...annotations } }),
      ...(labels === undefined ? {} : { labels: { ...pod.metadata?.labels, ...labels } }),
    },
    spec: { containers: [], ...pod.spec, nodeName: binding.target.name ?? '' },
    status: { ...status, conditions: withScheduled(status.conditions ?? [], now) },
  };
}

function withScheduled(conditions: readonly DeepReadonly<PodCondition>[], now: string): PodCondition[] {
  const others = conditions.filter((condition) => condition.type !== 'PodScheduled');
  return [...others, { type: 'PodScheduled', status: 'True', lastTransitionTime: now }];
}
