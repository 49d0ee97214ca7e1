// RequestExpressions compiles expressions about requests: match conditions of webhooks and all expressions of policies.
// Used where they are evaluated and where they are validated. Source: plugin/cel/compile.go.
import type { SlicedWork } from '@kapstan/api/internal';
import {
  CelCompileError,
  CelProgramError,
  type CelType,
  type CompiledExpression,
  compileInSlices,
  type Environment,
  isExactType,
  newExpressions,
  storedExpressions,
  structType,
  type TypeProvider,
  typeOf,
} from '@kapstan/cel';

/** 'stored': an earlier version of the server accepted it, so that it must keep compiling. */
export type ExpressionAge = 'new' | 'stored';

/** The variables that an expression may name in addition to the common ones. */
export interface ExpressionScope {
  readonly age: ExpressionAge;
  readonly hasParams: boolean;
  readonly hasAuthorizer: boolean;
}

/** The reason why a text is not a valid expression at its place, in kube-apiserver's words. */
export class CompileFault {
  readonly detail: string;
  /** True = the text is a valid expression, but no program can be made of it. */
  readonly isInternal: boolean;

  constructor(detail: string, isInternal: boolean) {
    this.detail = detail;
    this.isInternal = isInternal;
  }
}

export type Compiled = CompiledExpression | CompileFault;

/** Types that an expression may have; "any" = all. */
export type ReturnTypes = readonly CelType[] | 'any';

export interface CompileTarget {
  readonly returns: ReturnTypes;
  readonly environment: Environment;
}

/** Compiles an expression, its program included. */
export function* compileFor(text: string, { returns, environment }: CompileTarget): SlicedWork<Compiled> {
  try {
    const compiled = yield* compileInSlices(text, { environment });
    if (returns !== 'any' && !returns.some((type) => isExactType(type, compiled.type) && !compiled.type.isNullable)) {
      const wanted = returns.length === 1 ? `${returns[0]}` : `one of [${returns.join(' ')}]`;
      return new CompileFault(`must evaluate to ${wanted} but got ${compiled.type}`, false);
    }
    yield;
    // Constants without a value are found when the program is made.
    void compiled.program;
    return compiled;
  } catch (error) {
    if (error instanceof CelCompileError) return new CompileFault(`compilation failed: ${error.message}`, false);
    if (error instanceof CelProgramError)
      return new CompileFault(`program instantiation failed: ${error.message}`, true);
    throw error;
  }
}

type Fields = Readonly<Record<string, string>>;

const groupVersion: Fields = { group: 'string', version: 'string' };

/** Source: BuildRequestType, BuildNamespaceType. */
const structs: Readonly<Record<string, Fields>> = {
  GroupVersionKind: { ...groupVersion, kind: 'string' },
  GroupVersionResource: { ...groupVersion, resource: 'string' },
  UserInfo: { username: 'string', uid: 'string', groups: 'list(string)', extra: 'map(string, list(string))' },
  AdmissionRequest: {
    kind: 'GroupVersionKind',
    resource: 'GroupVersionResource',
    subResource: 'string',
    requestKind: 'GroupVersionKind',
    requestResource: 'GroupVersionResource',
    requestSubResource: 'string',
    name: 'string',
    namespace: 'string',
    operation: 'string',
    userInfo: 'UserInfo',
    dryRun: 'bool',
    options: 'dyn',
  },
  NamespaceSpec: { finalizers: 'list(string)' },
  NamespaceCondition: {
    status: 'string',
    type: 'string',
    lastTransitionTime: 'google.protobuf.Timestamp',
    message: 'string',
    reason: 'string',
  },
  NamespaceStatus: { conditions: 'list(kubernetes.NamespaceCondition)', phase: 'string' },
  NamespaceMetadata: {
    name: 'string',
    generateName: 'string',
    namespace: 'string',
    labels: 'map(string, string)',
    annotations: 'map(string, string)',
    UID: 'string',
    creationTimestamp: 'google.protobuf.Timestamp',
    deletionGracePeriodSeconds: 'int',
    deletionTimestamp: 'google.protobuf.Timestamp',
    generation: 'int',
    resourceVersion: 'string',
    finalizers: 'list(string)',
  },
};

const namespaceFields: Fields = { metadata: 'NamespaceMetadata', spec: 'NamespaceSpec', status: 'NamespaceStatus' };

function structNamed(name: string): CelType {
  return structType(`kubernetes.${name}`);
}

const bool: readonly CelType[] = [typeOf('bool')];

export class RequestExpressions {
  readonly #namespaceKind: string;
  readonly #environments = new Map<string, Environment>();
  #provider: TypeProvider | undefined;

  /** `namespaceKind`: kind of the variable `namespaceObject`, after which its struct is named. */
  constructor(namespaceKind: string) {
    this.#namespaceKind = namespaceKind;
  }

  /** Compiles a match condition. */
  condition(text: string, scope: ExpressionScope): SlicedWork<Compiled> {
    return compileFor(text, { returns: bool, environment: this.environment(scope) });
  }

  environment(scope: ExpressionScope): Environment {
    const { age, hasParams, hasAuthorizer } = scope;
    const key = `${age} ${hasParams} ${hasAuthorizer}`;
    const known = this.#environments.get(key);
    if (known !== undefined) return known;
    const base = age === 'new' ? newExpressions() : storedExpressions();
    const dyn = typeOf('dyn');
    const variables = new Map([...this.commonVariables(), ['object', dyn], ['oldObject', dyn]]);
    if (hasParams) variables.set('params', dyn);
    if (hasAuthorizer) {
      variables.set('authorizer', structType('kubernetes.authorization.Authorizer'));
      variables.set('authorizer.requestResource', structType('kubernetes.authorization.ResourceCheck'));
    }
    const environment = base.extend({ variables, provider: this.types });
    this.#environments.set(key, environment);
    return environment;
  }

  /** Types of `request` and `namespaceObject`. */
  commonVariables(): ReadonlyMap<string, CelType> {
    return new Map([
      ['namespaceObject', structNamed(this.#namespaceKind)],
      ['request', structNamed('AdmissionRequest')],
    ]);
  }

  get types(): TypeProvider {
    this.#provider ??= this.#makeTypes();
    return this.#provider;
  }

  #makeTypes(): TypeProvider {
    const all = { ...structs, [this.#namespaceKind]: namespaceFields };
    const typed = (type: string): CelType => (Object.hasOwn(structs, type) ? structNamed(type) : typeOf(type));
    const types = new Map(
      Object.entries(all).map(([name, fields]) => [
        `kubernetes.${name}`,
        new Map(Object.entries(fields).map(([field, type]) => [field, typed(type)])),
      ]),
    );
    return {
      hasStruct: (name) => types.has(name),
      fieldType: (name, field) => types.get(name)?.get(field),
    };
  }
}
