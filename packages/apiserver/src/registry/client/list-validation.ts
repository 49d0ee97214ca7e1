// Validates the options of a list or watch, which http/ reads from the query and callers in process pass. Source:
// apimachinery internalversion ValidateListOptions (WatchList on).
import { type FieldError, forbiddenField, invalid, notSupportedField } from '@kapstan/api/errors';

/** The options as given, with the defaults of a watch filled in; absent texts are "". */
export interface ListOptionTexts {
  readonly resourceVersion: string;
  readonly match: string;
  readonly continue: string;
  /** Undefined = not given. */
  readonly sendInitialEvents: boolean | undefined;
}

/** Throws 422 with every error. */
export function requireValidListOptions(options: ListOptionTexts, verb: 'list' | 'watch'): void {
  const errors = verb === 'watch' ? validateWatch(options) : validateList(options);
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', errors);
}

const matchField = 'resourceVersionMatch';

function validateList(raw: ListOptionTexts): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (raw.match !== '') {
    if (raw.resourceVersion === '') {
      errors.push(forbiddenField(matchField, 'resourceVersionMatch is forbidden unless resourceVersion is provided'));
    }
    if (raw.continue !== '') {
      errors.push(forbiddenField(matchField, 'resourceVersionMatch is forbidden when continue is provided'));
    }
    if (raw.match !== 'Exact' && raw.match !== 'NotOlderThan') {
      errors.push(notSupportedField(matchField, raw.match, ['Exact', 'NotOlderThan', '']));
    }
    if (raw.match === 'Exact' && raw.resourceVersion === '0') {
      errors.push(forbiddenField(matchField, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
    }
  }
  if (raw.sendInitialEvents !== undefined) {
    errors.push(forbiddenField('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  }
  return errors;
}

function validateWatch(raw: ListOptionTexts): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (raw.sendInitialEvents !== undefined && raw.match !== 'NotOlderThan') {
    errors.push(forbiddenField(matchField, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'));
  }
  if (raw.match === '') return errors;
  if (raw.sendInitialEvents === undefined) {
    const why = 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided';
    errors.push(forbiddenField(matchField, why));
  }
  if (raw.match !== 'NotOlderThan') errors.push(notSupportedField(matchField, raw.match, ['NotOlderThan']));
  if (raw.continue !== '') {
    errors.push(forbiddenField(matchField, 'resourceVersionMatch is forbidden when continue is provided'));
  }
  return errors;
}
