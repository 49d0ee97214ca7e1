// Checks the declarations made with `defaults`, `validates` and `converts`, and keeps them as data. Used by
// controller-builder.ts.
import { inspect } from 'node:util';
import { type KubernetesObject, type LabelSelectorSpec, labelSelectorFrom, type Resource } from '@kapstan/api';
import { dnsSubdomainErrors } from '@kapstan/api/errors';
import {
  checkedElsewhere,
  type OptionCheck,
  type OptionTable,
  optional,
  requireGivenFunction,
  requireObject,
  requireOptions,
  requireResource,
  requireString,
} from '@kapstan/api/internal';
import type {
  DeclaredHook,
  DeclaredHooks,
  DefaultsOptions,
  HookOptions,
  ValidatesOptions,
  Validators,
  VersionConversion,
} from './hook-types.ts';

export const noHooks: DeclaredHooks = { admission: [], conversions: new Map() };

const hookTable: OptionTable<HookOptions> = {
  name: optional(requireHookName),
  subresource: optional(requireString),
  failurePolicy: optional(oneOf('Fail', 'Ignore')),
  matchPolicy: optional(oneOf('Exact', 'Equivalent')),
  matchConditions: optional(requireConditions),
  namespaceSelector: optional(requireSelector),
  objectSelector: optional(requireSelector),
  sideEffects: optional(oneOf('None', 'NoneOnDryRun')),
  timeoutSeconds: optional(requireSeconds),
};
const defaultsTable: OptionTable<DefaultsOptions> = {
  ...hookTable,
  operations: optional(requireOperations('CREATE', 'UPDATE')),
  reinvocationPolicy: optional(oneOf('Never', 'IfNeeded')),
};
const validatesTable: OptionTable<ValidatesOptions> = {
  ...hookTable,
  operations: optional(requireOperations('CREATE', 'UPDATE', 'DELETE')),
};
const conversionTable: OptionTable<VersionConversion<KubernetesObject, KubernetesObject>> = {
  resource: checkedElsewhere,
  to: requireGivenFunction,
  from: requireGivenFunction,
};
const validatorsTable: OptionTable<Validators<KubernetesObject>> = {
  create: optional(requireGivenFunction),
  update: optional(requireGivenFunction),
  delete: optional(requireGivenFunction),
};

/** Returns the hooks with one that sets defaults. Throws TypeError for wrong arguments. */
export function withDefaults(
  hooks: DeclaredHooks,
  resource: Resource,
  [defaults, options = {}]: readonly [defaults: unknown, options?: DefaultsOptions | undefined],
): DeclaredHooks {
  requireGivenFunction(defaults, 'defaults()');
  requireObject(options, 'options of defaults()');
  requireOptions(options, defaultsTable, 'defaults()');
  const { name = defaultName('defaults', resource, options), operations = ['CREATE', 'UPDATE'] } = options;
  return withHook(hooks, { type: 'mutating', name, operations, options, functions: { defaults: defaults as never } });
}

/** Returns the hooks and one more, which validates. Throws TypeError for wrong arguments. */
export function withValidation(
  hooks: DeclaredHooks,
  resource: Resource,
  [validates, options = {}]: readonly [validates: unknown, options?: ValidatesOptions | undefined],
): DeclaredHooks {
  requireObject(options, 'options of validates()');
  requireOptions(options, validatesTable, 'validates()');
  const { name = defaultName('validates', resource, options) } = options;
  const operations = operationsOf(validates, options);
  return withHook(hooks, {
    type: 'validating',
    name,
    operations,
    options,
    functions: { validates: validates as never },
  });
}

/** Returns the hooks with conversions, by version. Throws TypeError for wrong arguments. */
export function withConversions(hooks: DeclaredHooks, hub: Resource, versions: unknown): DeclaredHooks {
  requireObject(versions, 'converts(), such as { v1beta1: { to, from } },');
  const conversions = new Map(hooks.conversions);
  for (const [version, given] of Object.entries(versions as Readonly<Record<string, unknown>>)) {
    const where = `converts() for ${version}`;
    if (version === hub.version)
      throw new TypeError(`${where}: this is the controller's own version, through which all others are converted`);
    if (conversions.has(version)) throw new TypeError(`${where} is given twice`);
    requireObject(given, where);
    const conversion = given as VersionConversion<KubernetesObject, KubernetesObject>;
    requireOptions(conversion, conversionTable, where);
    requireVersion(conversion.resource, { hub, version, where });
    conversions.set(version, conversion);
  }
  return { ...hooks, conversions };
}

function withHook(hooks: DeclaredHooks, hook: DeclaredHook): DeclaredHooks {
  if (hooks.admission.some(({ name }) => name === hook.name))
    throw new TypeError(`two webhooks are named ${hook.name}: give one of them another name in its options`);
  return { ...hooks, admission: [...hooks.admission, hook] };
}

function defaultName(verb: string, { plural, group }: Resource, { subresource = '' }: HookOptions): string {
  const part = subresource === '' || subresource === '*' ? '' : `${subresource}.`;
  return `${verb}.${part}${plural}.${group || 'core'}`;
}

function operationsOf(validates: unknown, options: ValidatesOptions): readonly ('CREATE' | 'UPDATE' | 'DELETE')[] {
  if (typeof validates === 'function') return options.operations ?? ['CREATE', 'UPDATE'];
  requireObject(validates, 'validates(): a function or { create, update, delete },');
  requireOptions(validates as Validators<KubernetesObject>, validatorsTable, 'validates()');
  const given = (['create', 'update', 'delete'] as const).filter((name) => (validates as object as never)[name]);
  if (given.length === 0) throw new TypeError('validates() takes at least one of create, update and delete');
  if (options.operations !== undefined)
    throw new TypeError('validates() with a function for each operation takes no operations: they are these');
  return given.map((name) => name.toUpperCase() as 'CREATE');
}

function requireVersion(
  resource: Resource | undefined,
  { hub, version, where }: { readonly hub: Resource; readonly version: string; readonly where: string },
): void {
  if (resource === undefined) return;
  requireResource(resource, where);
  const isSame = (['group', 'kind', 'plural', 'scope'] as const).every((name) => resource[name] === hub[name]);
  if (isSame && resource.version === version) return;
  const told = `${resource.kind} of ${resource.group}/${resource.version}`;
  throw new TypeError(`${where} takes ${hub.kind} of ${hub.group}/${version} as its resource, not ${told}`);
}

/** Source: admissionregistration validation, IsFullyQualifiedName. */
function requireHookName(name: unknown): void {
  const isName = typeof name === 'string' && name.split('.').length >= 3 && dnsSubdomainErrors(name).length === 0;
  if (!isName)
    throw new TypeError(
      `the name of a webhook has at least three labels, "ports.pods.example.com", unlike ${inspect(name)}`,
    );
}

function oneOf(...values: readonly string[]): OptionCheck {
  return (value, name) => {
    if (!values.includes(value as string))
      throw new TypeError(`${name} must be ${values.map((each) => `'${each}'`).join(' or ')}, not ${inspect(value)}`);
  };
}

function requireOperations(...known: readonly string[]): OptionCheck {
  return (value, name) => {
    const isList = Array.isArray(value) && value.length > 0 && value.every((each) => known.includes(each as string));
    if (!isList) throw new TypeError(`${name} takes a list of ${known.join(', ')}, not ${inspect(value)}`);
  };
}

function requireSelector(value: unknown, name: string): void {
  requireObject(value, name);
  labelSelectorFrom(value as LabelSelectorSpec);
}

function requireConditions(value: unknown, name: string): void {
  const isCondition = (each: unknown): boolean =>
    typeof each === 'object' && each !== null && 'name' in each && 'expression' in each;
  if (!(Array.isArray(value) && value.every(isCondition)))
    throw new TypeError(`${name} takes a list of { name, expression }, not ${inspect(value)}`);
}

/** Source: admissionregistration validation of timeoutSeconds. */
function requireSeconds(value: unknown, name: string): void {
  if (!(Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 30))
    throw new TypeError(`${name} must be a whole number from 1 to 30, not ${inspect(value)}`);
}
