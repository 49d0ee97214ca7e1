// RequestExpressions compiles expressions about requests: match conditions of webhooks, and what policies have of the
// same kind. Used by match-conditions.ts and by the validation of configurations. Source: plugin/cel/compile.go.
import {
  CelCompileError,
  CelProgramError,
  type CelType,
  type CompiledExpression,
  compile,
  type Environment,
  newExpressions,
  storedExpressions,
  structType,
  type TypeProvider,
  typeOf,
} from '@kapstan/cel';

/** 'stored': an earlier version of the server accepted it, so that it must keep compiling. */
export type ExpressionAge = 'new' | 'stored';

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

export class RequestExpressions {
  readonly #namespaceKind: string;
  readonly #environments = new Map<ExpressionAge, Environment>();

  /** `namespaceKind`: kind of the variable `namespaceObject`, which names its struct. */
  constructor(namespaceKind: string) {
    this.#namespaceKind = namespaceKind;
  }

  /** Returns the condition, or why the text is none, in kube-apiserver's words. */
  condition(text: string, age: ExpressionAge): CompiledExpression | string {
    try {
      const compiled = compile(text, { environment: this.#environment(age) });
      if (compiled.type.kind !== 'bool' || compiled.type.isNullable) {
        return `must evaluate to bool but got ${compiled.type.toString()}`;
      }
      // Constants without a value are found when the program is made.
      void compiled.program;
      return compiled;
    } catch (error) {
      if (error instanceof CelCompileError) return `compilation failed: ${error.message}`;
      if (error instanceof CelProgramError) return `program instantiation failed: ${error.message}`;
      throw error;
    }
  }

  #environment(age: ExpressionAge): Environment {
    const known = this.#environments.get(age);
    if (known !== undefined) return known;
    const base = age === 'new' ? newExpressions() : storedExpressions();
    const variables = new Map([
      ['object', typeOf('dyn')],
      ['oldObject', typeOf('dyn')],
      ['namespaceObject', structNamed(this.#namespaceKind)],
      ['request', structNamed('AdmissionRequest')],
      ['authorizer', structType('kubernetes.authorization.Authorizer')],
      ['authorizer.requestResource', structType('kubernetes.authorization.ResourceCheck')],
    ]);
    const environment = base.extend({ variables, provider: this.#types() });
    this.#environments.set(age, environment);
    return environment;
  }

  #types(): TypeProvider {
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
