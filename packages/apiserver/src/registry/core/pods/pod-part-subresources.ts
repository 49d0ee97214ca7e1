// The endpoints that change one part of a pod: /ephemeralcontainers and /resize. Source: pkg/registry/core/pod/storage.
import { type DeepReadonly, deepCopy } from '@kapstan/api';
import type { Container, EphemeralContainer, Pod } from '@kapstan/kinds/core/v1';
import { kindFactsOf } from '../../builtin-resource.ts';
import { subresourceStrategy } from '../../builtin-strategy.ts';
import { jsonEqual } from '../../json-equality.ts';
import type { StrategySubresource } from '../../resource-definition.ts';
import type { Field } from '../../validation/field.ts';
import { jsonDiff } from '../../validation/json-diff.ts';
import { validatePodSpec } from './pod-spec-validation.ts';
import { qosClassOf } from './qos-class.ts';

const verbs = ['get', 'patch', 'update'] as const;

export function ephemeralContainersSubresource(): StrategySubresource<Pod> {
  const strategy = subresourceStrategy<Pod>(kindFactsOf('v1/pods'), {
    raisesGeneration: true,
    prepare: (next, old) => {
      const wanted = next.spec?.ephemeralContainers;
      restore(next, old);
      if (next.spec === undefined) return;
      if (wanted === undefined) delete next.spec.ephemeralContainers;
      else next.spec.ephemeralContainers = wanted;
    },
    validate: (root, next, old) => {
      validatePodSpec(root.child('spec'), next.spec, next.metadata ?? {});
      validateKept(
        root.child('spec', 'ephemeralContainers'),
        next.spec?.ephemeralContainers,
        old.spec?.ephemeralContainers,
      );
    },
  });
  return { type: 'strategy', name: 'ephemeralcontainers', verbs, strategy };
}

/** They may be added, never changed or removed. Source: ValidatePodEphemeralContainersUpdate. */
function validateKept(
  at: Field,
  next: readonly DeepReadonly<EphemeralContainer>[] | undefined,
  old: readonly DeepReadonly<EphemeralContainer>[] | undefined,
): void {
  for (const container of old ?? []) {
    const same = next?.find((other) => other.name === container.name);
    if (same === undefined)
      at.forbidden(`existing ephemeral containers ${JSON.stringify(container.name)} may not be removed\n`);
    else if (!jsonEqual(same, container)) {
      at.forbidden(
        `existing ephemeral containers ${JSON.stringify(container.name)} may not be changed\n${jsonDiff(container, same)}`,
      );
    }
  }
}

export function resizeSubresource(): StrategySubresource<Pod> {
  const strategy = subresourceStrategy<Pod>(kindFactsOf('v1/pods'), {
    raisesGeneration: true,
    prepare: (next, old) => {
      const wanted = new Map([...containersOf(next)].map((container) => [container.name, container]));
      restore(next, old);
      for (const container of containersOf(next)) takeResources(container, wanted.get(container.name));
    },
    validate: (root, next, old) => {
      validatePodSpec(root.child('spec'), next.spec, next.metadata ?? {});
      if (qosClassOf(next.spec) !== (old.status?.qosClass ?? qosClassOf(old.spec))) {
        root
          .child('spec')
          .invalid(
            old.status?.qosClass ?? qosClassOf(old.spec),
            'Pod QOS Class may not change as a result of resizing',
          );
      }
    },
  });
  return { type: 'strategy', name: 'resize', verbs, strategy };
}

function containersOf(pod: Pod): Container[] {
  return [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
}

function takeResources(container: Container, wanted: Container | undefined): void {
  if (wanted?.resources !== undefined) container.resources = wanted.resources;
  if (wanted?.resizePolicy !== undefined) container.resizePolicy = wanted.resizePolicy;
}

/** Everything but the metadata is as it was. */
function restore(next: Pod, old: DeepReadonly<Pod>): void {
  if (old.spec !== undefined) next.spec = deepCopy(old.spec) as NonNullable<Pod['spec']>;
  if (old.status !== undefined) next.status = deepCopy(old.status) as NonNullable<Pod['status']>;
}
