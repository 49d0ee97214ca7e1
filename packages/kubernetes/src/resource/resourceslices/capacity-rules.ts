// Rules for requests of a shared capacity: one of a list of amounts, or a range with steps. Part of device-rules.ts.
// Source: pkg/apis/resource/validation validateRequestPolicy.
import { type DeepReadonly, parseQuantity, type Quantity } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type { CapacityRequestPolicy, CapacityRequestPolicyRange } from '@kapstan/kinds/resource.k8s.io/v1';
import { validateSet } from '../device-validation.ts';

const maxOptions = 10;
const quantity = (value: unknown): Quantity => parseQuantity(String(value));

/** `most` is the capacity. */
export function validateRequestPolicy(at: Field, policy: DeepReadonly<CapacityRequestPolicy>, most: Quantity): void {
  const { validValues = [], validRange, default: usual } = policy;
  const isOneOfSome = validValues.length > 0;
  if (isOneOfSome && validRange !== undefined) {
    return at.forbidden(
      'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time',
    );
  }
  if (!isOneOfSome && validRange === undefined) return;
  if (usual === undefined)
    return at.child('default').required(`required when ${isOneOfSome ? 'validValues' : 'validRange'} is defined`);
  const amounts = { usual: quantity(usual), most };
  if (validRange === undefined) validateOptions(at.child('validValues'), validValues.map(quantity), amounts);
  else validateRange(at.child('validRange'), validRange, amounts);
}

interface Amounts {
  /** Amount for claims that do not request one. */
  readonly usual: Quantity;
  readonly most: Quantity;
}

function validateOptions(at: Field, options: readonly Quantity[], { usual, most }: Amounts): void {
  for (const [index, option] of options.entries()) {
    const last = options[index - 1];
    if (last !== undefined && last.compare(option) > 0)
      at.index(index).invalid(option.toString(), 'values must be sorted in ascending order');
  }
  validateSet(at, options, {
    maxItems: maxOptions,
    validate: (option, place) => {
      if (option.compare(most) > 0) place.invalid(option.toString(), `option is larger than capacity value: ${most}`);
    },
    keyOf: (option) => String(option.scaledValue()),
  });
  // With too many options the default is refused without a search.
  if (options.length > maxOptions || !options.some((option) => option.compare(usual) === 0))
    at.invalid(usual.toString(), 'default value is not valid according to the requestPolicy');
}

function validateRange(at: Field, range: DeepReadonly<CapacityRequestPolicyRange>, { usual, most }: Amounts): void {
  if (range.min === undefined) return at.child('min').required('required when validRange is defined');
  const min = quantity(range.min);
  const max = range.max === undefined ? undefined : quantity(range.max);
  if (min.compare(most) > 0) at.child('min').invalid(min.toString(), `min is larger than capacity value: ${most}`);
  if (usual.compare(min) < 0) at.child('min').invalid(usual.toString(), `default is less than min: ${min}`);
  if (max !== undefined) validateMost(at.child('max'), { min, max, usual, most });
  if (range.step === undefined) return;
  const step = quantity(range.step);
  const place = at.child('step');
  const next = min.add(step);
  if (next.compare(most) > 0) place.invalid(step.toString(), `one step ${next} is larger than capacity value: ${most}`);
  for (const value of max === undefined ? [usual] : [usual, max]) {
    if (!isReached(value, min, step))
      place.invalid(value.toString(), `value is not a multiple of a given step (${step}) from (${min})`);
  }
}

function validateMost(at: Field, { min, max, usual, most }: Amounts & Readonly<Record<'min' | 'max', Quantity>>): void {
  if (min.compare(max) > 0) at.invalid(min.toString(), `min is larger than max: ${max}`);
  if (max.compare(most) > 0) at.invalid(max.toString(), `max is larger than capacity value: ${most}`);
  if (usual.compare(max) > 0) at.invalid(usual.toString(), `default is more than max: ${max}`);
}

/** A step of zero reaches no other value. */
function isReached(value: Quantity, min: Quantity, step: Quantity): boolean {
  const way = value.scaledValue() - min.scaledValue();
  const length = step.scaledValue();
  return length === 0n ? way === 0n : way % length === 0n;
}
