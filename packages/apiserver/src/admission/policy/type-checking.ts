// Checks the expressions of a validating policy against the schemas of the kinds that it names, and reports type errors. The results are
// only warnings, because objects have no types at run time. Source: plugin/policy/validating/typechecking.go.
import type { DeepReadonly } from '@kapstan/api';
import { formatApiVersion, type GroupVersionKind, type SlicedWork } from '@kapstan/api/internal';
import {
  CelCompileError,
  type CelType,
  compileInSlices,
  type Environment,
  storedExpressions,
  structType,
  typeOf,
} from '@kapstan/cel';
import type { SchemaNode } from '../../schema/node/schema-node.ts';
import type { RequestExpressions } from '../matching/request-expressions.ts';
import { variablesType, variableType } from './policy-expressions.ts';
import type { ParamKind } from './policy-source.ts';
import type { CriteriaSpec } from './request-criteria.ts';
import { SchemaTypes } from './schema-types.ts';
import type { ValidatingPolicySpec } from './validating-policy.ts';

export interface ExpressionWarning {
  /** Place of the expression: "spec.validations[0].expression". */
  readonly fieldRef: string;
  readonly warning: string;
}

interface CheckedKind {
  readonly kind: GroupVersionKind;
  readonly schema: SchemaNode;
}

/** Finds schemas of served kinds. */
export interface KindSchemas {
  ofResource(group: string, version: string, resource: string): CheckedKind | undefined;
  ofKind(kind: ParamKind): CheckedKind | undefined;
}

/** Maximum number of kinds against which one rule is checked. */
const maxKinds = 10;

/** Returns the warnings for all validations of a policy. Pauses after each expression and kind. */
export function* checkTypes(
  spec: DeepReadonly<ValidatingPolicySpec>,
  schemas: KindSchemas,
  requests: RequestExpressions,
): SlicedWork<readonly ExpressionWarning[]> {
  const kinds = kindsOf(spec.matchConstraints ?? {}, schemas);
  const warnings: ExpressionWarning[] = [];
  const environments: (readonly [kind: GroupVersionKind, environment: Environment])[] = [];
  for (const checked of kinds) {
    environments.push([checked.kind, yield* environmentOf(spec, { checked, schemas, requests })]);
  }
  const check = function* (fieldRef: string, expression: string): SlicedWork<void> {
    const faults: string[] = [];
    for (const [kind, environment] of environments) {
      const fault = yield* typeFault(expression, environment);
      if (fault !== undefined) faults.push(`${kindText(kind)}: ${fault}\n`);
      yield;
    }
    if (faults.length > 0) warnings.push({ fieldRef, warning: faults.join('\n') });
  };
  for (const [index, { expression, messageExpression = '' }] of (spec.validations ?? []).entries()) {
    yield* check(`spec.validations[${index}].expression`, expression);
    if (messageExpression !== '') yield* check(`spec.validations[${index}].messageExpression`, messageExpression);
  }
  return warnings;
}

/** Returns the kinds that rules without wildcards name, in order. */
function kindsOf({ resourceRules = [] }: DeepReadonly<CriteriaSpec>, schemas: KindSchemas): readonly CheckedKind[] {
  const found = new Map<string, CheckedKind>();
  for (const { apiGroups = [], apiVersions = [], resources = [] } of resourceRules) {
    if ([...apiGroups, ...apiVersions].some((text) => text.includes('*'))) continue;
    const named = resources.filter((text) => !/[*/]/.test(text));
    let count = 0;
    for (const place of placesOf(apiGroups, apiVersions, named)) {
      const checked = schemas.ofResource(...place);
      if (checked === undefined) continue;
      found.set(kindText(checked.kind), checked);
      count += 1;
      if (count === maxKinds) return sorted(found);
    }
  }
  return sorted(found);
}

function* placesOf(
  groups: readonly string[],
  versions: readonly string[],
  resources: readonly string[],
): Generator<readonly [group: string, version: string, resource: string]> {
  for (const group of [...groups].sort())
    for (const version of [...versions].sort())
      for (const resource of [...resources].sort()) yield [group, version, resource];
}

function sorted(found: ReadonlyMap<string, CheckedKind>): readonly CheckedKind[] {
  const keyOf = ({ kind: { group, version, kind } }: CheckedKind): string => `${group}\0${version}\0${kind}`;
  return [...found.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

interface CheckedTypes {
  readonly checked: CheckedKind;
  readonly schemas: KindSchemas;
  readonly requests: RequestExpressions;
}

function* environmentOf(
  { paramKind, variables = [] }: DeepReadonly<ValidatingPolicySpec>,
  { checked, schemas, requests }: CheckedTypes,
): SlicedWork<Environment> {
  const types = new SchemaTypes();
  const object = types.add(`${checked.kind.kind}0`, checked.schema);
  const declared = new Map<string, CelType>([
    ...requests.commonVariables(),
    ['object', object],
    ['oldObject', object],
    ['authorizer', structType('kubernetes.authorization.Authorizer')],
    ['variables', variablesType],
  ]);
  if (paramKind !== undefined) {
    const params = schemas.ofKind(paramKind);
    declared.set('params', params === undefined ? typeOf('dyn') : types.add(`${params.kind.kind}1`, params.schema));
  }
  const members = new Map<string, CelType>();
  const provider = {
    hasStruct: (name: string) => name === variablesType.name,
    fieldType: (_: string, field: string) => members.get(field),
  };
  const environment = storedExpressions()
    .extend({ variables: declared, provider: requests.types })
    .extend({ provider: types })
    .extend({ provider });
  for (const { name, expression } of variables) {
    members.set(name, yield* typeIn(expression, environment));
    yield;
  }
  return environment;
}

function* typeIn(expression: string, environment: Environment): SlicedWork<CelType> {
  try {
    return variableType((yield* compileInSlices(expression, { environment })).type);
  } catch (error) {
    if (!(error instanceof CelCompileError)) throw error;
    return typeOf('dyn');
  }
}

function* typeFault(expression: string, environment: Environment): SlicedWork<string | undefined> {
  try {
    yield* compileInSlices(expression, { environment });
    return undefined;
  } catch (error) {
    if (!(error instanceof CelCompileError)) throw error;
    return error.message;
  }
}

/** Formats a group, version and kind as Go does. */
function kindText(kind: GroupVersionKind): string {
  return `${kind.group === '' ? '/' : ''}${formatApiVersion(kind)}, Kind=${kind.kind}`;
}
