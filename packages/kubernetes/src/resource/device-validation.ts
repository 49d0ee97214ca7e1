// Rules that device classes, claims and slices share: selectors, configurations, attributes, tolerations. Source:
// pkg/apis/resource/validation.
import type { DeepReadonly } from '@kapstan/api';
import { labelValueErrors, qualifiedNameErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import type { DeviceSelector, DeviceToleration, OpaqueDeviceConfiguration } from '@kapstan/kinds/resource.k8s.io/v1';
import { validateDriverName } from '../validation/driver-name.ts';
import { tellFault } from '../validation/expression-fault.ts';
import { deviceExpressionFault } from './device-expressions.ts';

export const maxListItems = 32;
const maxExpressionBytes = 10 * 1024;
const maxParametersBytes = 10 * 1024;
const maxIdentifierBytes = 32;

/** Checks the number of items, then each item. Source: validateSlice. */
export function validateItems<T>(
  at: Field,
  items: readonly T[] | undefined,
  validate: (item: T, place: Field, index: number) => void,
): void {
  const count = items?.length ?? 0;
  if (count > maxListItems) return at.tooMany(count, maxListItems);
  at.each(items, validate);
}

/** Checks items whose keys must differ. Source: validateSet. */
export function validateUnique<T>(at: Field, items: readonly T[] | undefined, keyOf: (item: T) => string): void {
  const keys = new Set<string>();
  at.each(items, (item, place) => {
    const key = keyOf(item);
    if (keys.has(key)) place.duplicate(key);
    keys.add(key);
  });
}

export interface SetRules<T> {
  readonly maxItems: number;
  readonly validate: (item: T, place: Field) => void;
  readonly keyOf: (item: T) => string;
}

/** Checks each item, unless there are too many. Source: validateSet. */
export function validateSet<T>(
  at: Field,
  items: readonly T[] | undefined,
  { maxItems, validate, keyOf }: SetRules<T>,
): void {
  const count = items?.length ?? 0;
  if (count > maxItems) return at.tooMany(count, maxItems);
  at.each(items, validate);
  validateUnique(at, items, keyOf);
}

/** `isStored`: an earlier version of the server accepted them, so that they must keep compiling. */
export function validateSelectors(
  at: Field,
  selectors: readonly DeepReadonly<DeviceSelector>[] | undefined,
  isStored = false,
): void {
  validateItems(at, selectors, ({ cel }, place) => {
    if (cel === undefined) place.child('cel').required();
    else validateExpression(place.child('cel', 'expression'), cel.expression ?? '', isStored);
  });
}

/** Source: validateCELSelector. */
function validateExpression(at: Field, expression: string, isStored: boolean): void {
  if (Buffer.byteLength(expression) > maxExpressionBytes) return at.tooLong(maxExpressionBytes);
  at.later(function* () {
    const fault = yield* deviceExpressionFault(expression, isStored);
    if (fault === 'costly') at.forbidden('too complex, exceeds cost limit');
    else if (fault !== undefined) tellFault(at, expression, fault);
    yield;
  });
}

export function validateConfiguration(at: Field, config: DeepReadonly<{ opaque?: OpaqueDeviceConfiguration }>): void {
  if (config.opaque === undefined) return at.child('opaque').required();
  const place = at.child('opaque');
  validateDriverName(place.child('driver'), config.opaque.driver);
  validateRawObject(place.child('parameters'), config.opaque.parameters);
}

/** Source: validateRawExtension. */
export function validateRawObject(at: Field, value: unknown): void {
  if (value === undefined || value === null) return at.required();
  if (Buffer.byteLength(JSON.stringify(value)) > maxParametersBytes) return at.tooLong(maxParametersBytes);
  if (typeof value !== 'object' || Array.isArray(value)) at.invalid('<value omitted>', 'must be a valid JSON object');
}

const identifierFormat = '[A-Za-z_][A-Za-z0-9_]*';
const identifier = new RegExp(`^${identifierFormat}$`);

function validateIdentifier(at: Field, text: string): void {
  if (Buffer.byteLength(text) > maxIdentifierBytes) at.tooLong(maxIdentifierBytes);
  if (!identifier.test(text)) {
    at.invalid(
      text,
      `a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '${identifierFormat}')`,
    );
  }
}

/** Checks the name of an attribute: "example.com/model". Source: validateFullyQualifiedName. */
export function validateFullName(at: Field, name: string): void {
  validateName(at, name);
  if (!name.includes('/')) at.invalid(name, 'a fully qualified name must be a domain and a name separated by a slash');
}

/** Checks a name with or without a domain; several slashes are not reported. Source: validateQualifiedName. */
export function validateName(at: Field, name: string): void {
  const [domain = '', id, ...more] = name.split('/');
  if (id === undefined) validateIdentifier(at, domain);
  else if (more.length === 0) {
    if (domain === '') at.invalid('', 'the domain must not be empty');
    else validateDriverName(at, domain);
    if (id === '') at.invalid('', 'the name must not be empty');
    else validateIdentifier(at, id);
  }
}

const effects = ['NoExecute', 'NoSchedule', 'None'];

export function validateToleration(at: Field, toleration: DeepReadonly<DeviceToleration>): void {
  const { key = '', operator = '', value = '', effect = '' } = toleration;
  if (key !== '') at.child('key').invalidAll(key, qualifiedNameErrors(key));
  if (operator === 'Exists') {
    if (value !== '') at.child('value').invalid(value, 'must be empty for operator `Exists`');
  } else if (operator === 'Equal') at.child('value').invalidAll(value, labelValueErrors(value));
  else if (at.child('operator').present(operator)) at.child('operator').notSupported(operator, ['Equal', 'Exists']);
  if (effect !== '') at.child('effect').oneOf(effect, effects);
}
