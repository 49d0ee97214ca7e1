// The endpoint that adds containers to a running pod. The endpoint /resize is in resize.ts. Source:
// pkg/registry/core/pod/storage.
import { type DeepReadonly, deepCopy } from '@kapstan/api';
import type { Field, ServerCapabilities, StrategySubresource } from '@kapstan/apiserver/internal';
import { jsonEqual, subresourceStrategy } from '@kapstan/apiserver/internal';
import type { EphemeralContainer, Pod } from '@kapstan/kinds/core/v1';
import { kindFactsOf } from '../../builtin/builtin-resource.ts';
import { internalDiff } from '../../validation/json-diff.ts';
import { isMirror } from './annotation-validation.ts';
import { validatePod } from './pod-validation.ts';

const verbs = ['get', 'patch', 'update'] as const;

export function ephemeralContainersSubresource(capabilities: ServerCapabilities): StrategySubresource<Pod> {
  const strategy = subresourceStrategy<Pod>(kindFactsOf('v1/pods', capabilities), {
    raisesGeneration: true,
    keepsMetadata: true,
    prepare: (next, old) => {
      const wanted = next.spec?.ephemeralContainers;
      restorePod(next, old);
      if (next.spec === undefined) return;
      if (wanted === undefined) delete next.spec.ephemeralContainers;
      else next.spec.ephemeralContainers = wanted;
    },
    validate: (root, next, old) => {
      if (isMirror(old)) return root.child('[]').forbidden('static pods do not support ephemeral containers');
      validatePod(root, next);
      validateKept(
        root.child('spec', 'ephemeralContainers'),
        next.spec?.ephemeralContainers,
        old.spec?.ephemeralContainers,
      );
    },
  });
  return { type: 'strategy', name: 'ephemeralcontainers', verbs, strategy };
}

/** Containers may be added, but never changed or removed. Source: ValidatePodEphemeralContainersUpdate. */
function validateKept(
  at: Field,
  next: readonly DeepReadonly<EphemeralContainer>[] | undefined,
  old: readonly DeepReadonly<EphemeralContainer>[] | undefined,
): void {
  const named = new Map(next?.toReversed().map((container) => [container.name, container]));
  for (const container of old ?? []) {
    const same = named.get(container.name);
    if (same === undefined)
      at.forbidden(`existing ephemeral containers ${JSON.stringify(container.name)} may not be removed\n`);
    else if (!jsonEqual(same, container)) {
      at.forbidden(
        `existing ephemeral containers ${JSON.stringify(container.name)} may not be changed\n${internalDiff('core.EphemeralContainer', container, same)}`,
      );
    }
  }
}

/** Restores everything but the metadata. */
export function restorePod(next: Pod, old: DeepReadonly<Pod>): void {
  if (old.spec !== undefined) next.spec = deepCopy(old.spec) as NonNullable<Pod['spec']>;
  if (old.status !== undefined) next.status = deepCopy(old.status) as NonNullable<Pod['status']>;
}
