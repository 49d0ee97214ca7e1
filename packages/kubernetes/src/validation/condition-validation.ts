// Conditions in the form that all newer kinds use. Source: apimachinery meta/v1/validation ValidateConditions.
import type { DeepReadonly } from '@kapstan/api';
import { qualifiedNameErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import type { Condition } from '@kapstan/kinds';

const reasonFormat = '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?';
const reason = new RegExp(`^${reasonFormat}$`);
const maxReasonBytes = 1024;
const maxMessageBytes = 32 * 1024;

/** Checks that each condition is valid and no type repeats. */
export function validateConditions(at: Field, conditions: readonly DeepReadonly<Condition>[] | undefined): void {
  const types = new Set<string>();
  at.each(conditions, (condition, place) => {
    if (types.has(condition.type)) place.child('type').duplicate(condition.type);
    types.add(condition.type);
    validateCondition(place, condition);
  });
}

function validateCondition(at: Field, condition: DeepReadonly<Condition>): void {
  at.child('type').invalidAll(condition.type, qualifiedNameErrors(condition.type));
  at.child('status').oneOf(condition.status, ['False', 'True', 'Unknown']);
  if ((condition.observedGeneration ?? 0) < 0)
    at.child('observedGeneration').invalid(condition.observedGeneration, 'must be greater than or equal to zero');
  at.child('lastTransitionTime').present(condition.lastTransitionTime);
  if (at.child('reason').present(condition.reason)) validateReason(at.child('reason'), condition.reason);
  if (Buffer.byteLength(condition.message ?? '') > maxMessageBytes) at.child('message').tooLong(maxMessageBytes);
}

function validateReason(at: Field, text: string): void {
  if (!reason.test(text)) {
    at.invalid(
      text,
      `a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '${reasonFormat}')`,
    );
  }
  if (Buffer.byteLength(text) > maxReasonBytes) at.tooLong(maxReasonBytes);
}
