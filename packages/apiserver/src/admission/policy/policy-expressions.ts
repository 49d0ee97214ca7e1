// PolicyExpressions compiles the expressions of one policy, which may name its variables. Used where policies are validated
// and where they are prepared for requests. Source: plugin/cel/composition.go, plugin/cel/mutation.go.
import type { SlicedWork } from '@kapstan/api/internal';
import { type CelType, type Environment, jsonPatchLibrary, listType, mapType, structType, typeOf } from '@kapstan/cel';
import {
  type Compiled,
  CompileFault,
  compileFor,
  type ExpressionAge,
  type RequestExpressions,
  type ReturnTypes,
} from '../matching/request-expressions.ts';
import { jsonPatchType, objectType, patchTypes } from './patch-types.ts';

/** The purpose of an expression. */
export type ExpressionPurpose = 'validation' | 'message' | 'annotation' | 'applyConfiguration' | 'jsonPatch';

interface Purpose {
  readonly returns: ReturnTypes;
  readonly hasAuthorizer: boolean;
  readonly hasPatches: boolean;
}

const purposes: Readonly<Record<ExpressionPurpose, Purpose>> = {
  validation: { returns: [typeOf('bool')], hasAuthorizer: true, hasPatches: false },
  message: { returns: [typeOf('string')], hasAuthorizer: false, hasPatches: false },
  annotation: { returns: [typeOf('string'), typeOf('null')], hasAuthorizer: true, hasPatches: false },
  applyConfiguration: { returns: [objectType], hasAuthorizer: true, hasPatches: true },
  jsonPatch: { returns: [listType(jsonPatchType)], hasAuthorizer: true, hasPatches: true },
};

export interface PolicyExpressionsOptions {
  /** True = the policy has a kind of parameters, so that expressions may name `params`. */
  readonly hasParams: boolean;
  /** True = expressions may name `variables`. */
  readonly hasVariables: boolean;
}

export const variablesType: CelType = structType('kubernetes.variables');
const dyn = typeOf('dyn');

export class PolicyExpressions {
  readonly #requests: RequestExpressions;
  readonly #options: PolicyExpressionsOptions;
  /** Types of the variables so far: an expression may name only those before it. */
  readonly #types = new Map<string, CelType>();
  readonly #environments = new Map<string, Environment>();

  constructor(requests: RequestExpressions, options: PolicyExpressionsOptions) {
    this.#requests = requests;
    this.#options = options;
  }

  /** Compiles a variable. Later expressions may name it, even if it has a fault. */
  *variable(name: string, text: string, age: ExpressionAge): SlicedWork<Compiled> {
    const environment = this.#environment({ age, hasAuthorizer: true, hasPatches: false });
    const compiled = yield* compileFor(text, { returns: 'any', environment });
    this.#types.set(name, compiled instanceof CompileFault ? dyn : variableType(compiled.type));
    return compiled;
  }

  condition(text: string, age: ExpressionAge): SlicedWork<Compiled> {
    return this.compile('validation', text, age);
  }

  compile(purpose: ExpressionPurpose, text: string, age: ExpressionAge): SlicedWork<Compiled> {
    const { returns, hasAuthorizer, hasPatches } = purposes[purpose];
    return compileFor(text, { returns, environment: this.#environment({ age, hasAuthorizer, hasPatches }) });
  }

  #environment(scope: Pick<Purpose, 'hasAuthorizer' | 'hasPatches'> & { readonly age: ExpressionAge }): Environment {
    const { hasParams, hasVariables } = this.#options;
    const { age, hasAuthorizer, hasPatches } = scope;
    const key = `${age} ${hasAuthorizer} ${hasPatches}`;
    const known = this.#environments.get(key);
    if (known !== undefined) return known;
    let made = this.#requests.environment({ age, hasParams, hasAuthorizer });
    if (hasVariables) made = made.extend({ variables: new Map([['variables', variablesType]]), provider: this });
    if (hasPatches) made = made.extend({ provider: patchTypes, libraries: [jsonPatchLibrary] });
    this.#environments.set(key, made);
    return made;
  }

  hasStruct(name: string): boolean {
    return name === variablesType.name;
  }

  fieldType(struct: string, field: string): CelType | undefined {
    return struct === variablesType.name ? this.#types.get(field) : undefined;
  }
}

const kept: ReadonlySet<string> = new Set([
  'any',
  'bool',
  'bytes',
  'double',
  'duration',
  'int',
  'null',
  'string',
  'timestamp',
  'uint',
]);

/** Returns the type that expressions see of a variable: structs and optionals are any value. */
export function variableType(type: CelType): CelType {
  if (kept.has(type.kind) && !type.isNullable) return type;
  if (type.kind === 'list') return listType(variableType(type.first));
  return type.kind === 'map' ? mapType(variableType(type.first), variableType(type.second)) : dyn;
}
