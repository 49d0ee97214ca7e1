// Validates the flow schemas and priority levels that every cluster has: each has one allowed spec. Source: pkg/apis/flowcontrol/validation.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { FlowSchemaSpec, PriorityLevelConfigurationSpec } from '@kapstan/kinds/flowcontrol.apiserver.k8s.io/v1';
import { catchAllLevel, mandatorySchemas } from './bootstrap-configuration.ts';
import { internalLevelSpec, internalSchemaSpec } from './internal-specs.ts';

const flowSchemaSpecs = new Map(mandatorySchemas.map(({ metadata: { name }, spec }) => [name, spec]));

/** `at` is the spec, `name` the object's. */
export function validateMandatorySchema(at: Field, spec: DeepReadonly<FlowSchemaSpec> | undefined, name: string): void {
  const wanted = flowSchemaSpecs.get(name);
  if (wanted !== undefined && !jsonEqual(spec, wanted))
    at.invalid(internalSchemaSpec(spec), `spec of '${name}' must equal the fixed value`);
}

/** The cluster may choose how much the exempt level lends. */
export function validateMandatoryLevel(
  at: Field,
  spec: Partial<DeepReadonly<PriorityLevelConfigurationSpec>>,
  name: string,
): void {
  if (name === 'exempt') {
    const { exempt: _changeable, ...rest } = spec;
    if (!jsonEqual(rest, { type: 'Exempt' }))
      at.invalid(internalLevelSpec(spec), "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value");
  } else if (name === 'catch-all' && !jsonEqual(spec, catchAllLevel.spec))
    at.invalid(internalLevelSpec(spec), "spec of 'catch-all' must equal the fixed value");
}
