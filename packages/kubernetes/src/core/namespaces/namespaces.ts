// Namespaces. Source: pkg/registry/core/namespace, pkg/apis/core/validation ValidateNamespace*.
import { type DeepReadonly, deepCopy } from '@kapstan/api';
import { qualifiedNameErrors } from '@kapstan/api/errors';
import type { Field, StrategySubresource } from '@kapstan/apiserver/internal';
import { nameIsDnsLabel, subresourceStrategy } from '@kapstan/apiserver/internal';
import type { Namespace } from '@kapstan/kinds/core/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { kindFactsOf } from '../../builtin/builtin-resource.ts';

const nameLabel = 'kubernetes.io/metadata.name';
const kubernetesFinalizer = 'kubernetes';
const standardFinalizers: ReadonlySet<string> = new Set([kubernetesFinalizer, 'orphan', 'foregroundDeletion']);

export function namespaces(): BuiltinKind<Namespace> {
  return {
    id: 'v1/namespaces',
    // Kubernetes' request info does the same.
    isOwnNamespace: true,
    returnsDeletedObject: true,
    validateName: nameIsDnsLabel,
    setDefaults: (object) => {
      object.status = { ...object.status, phase: object.status?.phase || 'Active' };
      const name = object.metadata?.name;
      // A generated name is not known yet; canonicalize adds its label after validation.
      if (name) object.metadata = { ...object.metadata, labels: { ...object.metadata?.labels, [nameLabel]: name } };
    },
    prepareForCreate: (object) => {
      object.status = { phase: 'Active' };
      const finalizers = object.spec?.finalizers ?? [];
      if (!finalizers.includes(kubernetesFinalizer))
        object.spec = { ...object.spec, finalizers: [...finalizers, kubernetesFinalizer] };
    },
    prepareForUpdate: (next, old) => {
      // Finalizers change through /finalize only.
      next.spec = { ...next.spec };
      if (old.spec?.finalizers === undefined) delete next.spec.finalizers;
      else next.spec.finalizers = [...old.spec.finalizers];
    },
    validateCreate: (root, { spec }) => {
      for (const finalizer of spec?.finalizers ?? []) validateFinalizer(root.child('spec', 'finalizers'), finalizer);
    },
    fields: ({ status }) => ({ 'status.phase': status?.phase || 'Active' }),
    status: { validate: validateStatus },
    strategy: {
      updateMetadata: 'both',
      canonicalize: (object) => {
        const name = object.metadata?.name ?? '';
        object.metadata = { ...object.metadata, labels: { ...object.metadata?.labels, [nameLabel]: name } };
      },
      holdsDeletion: ({ spec }) => (spec?.finalizers?.length ?? 0) > 0,
      prepareForDeletion: (object) => {
        object.status = { ...object.status, phase: 'Terminating' };
      },
    },
    subresources: [finalizeSubresource()],
  };
}

/** PUT namespaces/{name}/finalize is the only way to change spec.finalizers. */
function finalizeSubresource(): StrategySubresource<Namespace> {
  const strategy = subresourceStrategy<Namespace>(kindFactsOf('v1/namespaces'), {
    prepare: (next, old) => {
      if (old.status === undefined) delete next.status;
      else next.status = deepCopy(old.status) as NonNullable<Namespace['status']>;
    },
    validate: (root, next) => {
      root
        .child('spec', 'finalizers')
        .each(next.spec?.finalizers, (finalizer, place) => validateFinalizer(place, finalizer));
    },
  });
  return { type: 'strategy', name: 'finalize', verbs: ['update'], strategy };
}

/** Source: validateFinalizerName. */
function validateFinalizer(at: Field, finalizer: string): void {
  at.invalidAll(finalizer, qualifiedNameErrors(finalizer));
  if (!finalizer.includes('/') && !standardFinalizers.has(finalizer)) {
    at.invalid(finalizer, 'name is neither a standard finalizer name nor is it fully qualified');
  }
}

/** Source: ValidateNamespaceStatusUpdate. */
function validateStatus(root: Field, next: DeepReadonly<Namespace>): void {
  const phase = next.status?.phase ?? '';
  const at = root.child('status', 'Phase');
  if (next.metadata?.deletionTimestamp === undefined) {
    if (phase !== 'Active') at.invalid(phase, "may only be 'Active' if `deletionTimestamp` is empty");
  } else if (phase !== 'Terminating')
    at.invalid(phase, "may only be 'Terminating' if `deletionTimestamp` is not empty");
}
