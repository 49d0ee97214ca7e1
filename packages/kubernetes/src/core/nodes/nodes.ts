// Nodes. Source: pkg/registry/core/node, pkg/apis/core/validation ValidateNode, ValidateNodeUpdate.
import type { DeepReadonly } from '@kapstan/api';
import { labelValueErrors, qualifiedNameErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { Node, Taint } from '@kapstan/kinds/core/v1';
import type { BuiltinKind, BuiltinServer } from '../../builtin/builtin-kind.ts';
import { cidrWarnings } from '../../validation/ip-warnings.ts';
import { cidrErrors, strictCidrErrors } from '../../validation/value-rules.ts';
import { nodeProxySubresource } from './proxy.ts';
import { dropStatusConfig, validateNodeStatus, validateNodeStatusChange } from './status-validation.ts';

export function nodes(server: BuiltinServer): BuiltinKind<Node> {
  return {
    id: 'v1/nodes',
    strategy: { updateMetadata: 'both' },
    keepsStatusOnCreate: true,
    warnings: ({ spec }) => [
      ...(spec?.configSource === undefined
        ? []
        : ['spec.configSource: the feature is no longer supported, and this field will be ignored']),
      ...(spec?.externalID ? ['spec.externalID: this field is deprecated, and is unused by Kubernetes'] : []),
      ...(spec?.podCIDRs ?? []).flatMap((cidr, index) => cidrWarnings(`spec.podCIDRs[${index}]`, cidr)),
    ],
    prepareForCreate: (node) => {
      dropConfigSource(node);
      dropStatusConfig(node);
    },
    prepareForUpdate: dropConfigSource,
    setDefaults: ({ spec, status }) => {
      // The singular field decides, for old clients that change only it.
      if (spec?.podCIDR && spec.podCIDRs?.[0] !== spec.podCIDR) spec.podCIDRs = [spec.podCIDR];
      else if (spec?.podCIDRs?.[0] !== undefined && !spec.podCIDR) spec.podCIDR = spec.podCIDRs[0];
      // An empty list of amounts is stored as none, which gets the default when it is read.
      if (status?.capacity !== undefined && Object.keys(status.allocatable ?? {}).length === 0)
        status.allocatable = { ...status.capacity };
    },
    validate: (root, node) => {
      const { spec } = node;
      validateTaints(root.child('metadata', 'taints'), spec?.taints);
      validateNodeStatus(root.child('status'), node);
      validatePodRanges(root.child('spec', 'podCIDRs'), spec?.podCIDRs);
    },
    validateChange: (root, next, old) => {
      // Kubernetes checks these twice, too.
      validateTaints(root.child('metadata', 'taints'), next.spec?.taints);
      validateNodeStatus(root.child('status'), next);
      const before = old.spec?.podCIDRs ?? [];
      if (before.length > 0 && !jsonEqual(next.spec?.podCIDRs, before)) {
        root.child('spec', 'podCIDRs').forbidden('node updates may not change podCIDR except from "" to valid');
      }
      if ((next.spec?.externalID ?? '') !== (old.spec?.externalID ?? ''))
        root.child('spec', 'externalID').forbidden('may not be updated');
      if (old.spec?.providerID && next.spec?.providerID !== old.spec.providerID) {
        root.child('spec', 'providerID').forbidden('node updates may not change providerID except from "" to valid');
      }
    },
    status: { prepare: dropStatusConfig, validate: validateNodeStatusChange },
    fields: ({ spec }) => ({ 'spec.unschedulable': String(spec?.unschedulable ?? false) }),
    subresources: [nodeProxySubresource(server)],
  };
}

/** Kubelets no longer read their configuration from here. Source: dropDisabledFields. */
function dropConfigSource({ spec }: Node): void {
  if (spec !== undefined) delete spec.configSource;
}

/** Allows at most one range of each IP family. */
function validatePodRanges(at: Field, ranges: readonly string[] | undefined): void {
  at.each(ranges, (cidr, place) => place.invalidAll(cidr, strictCidrErrors(cidr)));
  if (ranges === undefined || ranges.length < 2) return;
  const wrong = ranges.findIndex((cidr) => cidrErrors(cidr).length > 0);
  if (wrong >= 0)
    at.internal(
      `invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[${wrong}]: <nil> (invalid CIDR address: ${ranges[wrong]})`,
    );
  const families = new Set(ranges.map((cidr) => cidr.includes(':')));
  if (wrong >= 0 || families.size < 2 || ranges.length > 2)
    at.invalid(ranges, 'may specify no more than one CIDR for each IP family');
}

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** Source: validateNodeTaints. */
function validateTaints(at: Field, taints: readonly DeepReadonly<Taint>[] | undefined): void {
  const seen = new Set<string>();
  at.each(taints, (taint, place) => {
    place.child('key').invalidAll(taint.key, qualifiedNameErrors(taint.key));
    const valueErrors = labelValueErrors(taint.value ?? '');
    if (valueErrors.length > 0) place.child('value').invalid(taint.value ?? '', valueErrors.join(';'));
    if ((taint.effect as string) === '') place.child('effect').required();
    else place.child('effect').oneOf(taint.effect, effects);
    const pair = `${taint.effect}/${taint.key}`;
    if (seen.has(pair)) {
      const shown = {
        Key: taint.key,
        Value: taint.value ?? '',
        Effect: taint.effect,
        TimeAdded: taint.timeAdded ?? null,
      };
      place.duplicate(shown, 'taints must be unique by key and effect pair');
    }
    seen.add(pair);
  });
}
