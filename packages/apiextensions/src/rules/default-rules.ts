// Evaluates rules on the defaults of a schema, because a default that its own rules refuse could never be used. All
// defaults of a schema share the budget of an object. Source: apiextensions schema/defaulting ValidateDefaults.
import type { SlicedWork } from '@kapstan/api/internal';
import type { Field } from '@kapstan/apiserver/internal';
import { Correlation } from './correlation.ts';
import { evaluateRules, objectBudget } from './rule-evaluation.ts';
import { isEmbedded, itemsOf, type RuleSchema } from './rule-schema.ts';
import { RuleValidator } from './rule-validator.ts';

/** Checks a schema whose defaults have no other faults. */
export function* validateDefaultRules(at: Field, schema: RuleSchema): SlicedWork<void> {
  yield* visit(at, schema, { isRoot: true, budget: objectBudget });
}

interface Place {
  readonly isRoot: boolean;
  readonly budget: number;
}

/** Returns the rest of the budget. Maps are skipped, because they contain no defaults. */
function* visit(at: Field, schema: RuleSchema, { isRoot, budget }: Place): SlicedWork<number> {
  let left =
    schema.default === undefined || schema.default === null ? budget : yield* validate(at, schema, { isRoot, budget });
  const items = itemsOf(schema);
  if (items !== undefined && left >= 0) {
    left = yield* visit(at.child('items'), items, { isRoot: isEmbedded(items), budget: left });
  }
  const { properties = {} } = schema;
  for (const name of Object.keys(properties)) {
    if (left < 0) break;
    const property = properties[name] as RuleSchema;
    left = yield* visit(at.child('properties').key(name), property, { isRoot: isEmbedded(property), budget: left });
  }
  return left;
}

/** A default may equal the old value or be new; some rules distinguish these. */
function* validate(at: Field, schema: RuleSchema, { isRoot, budget }: Place): SlicedWork<number> {
  const validator = RuleValidator.of(schema, isRoot);
  if (validator === undefined) return budget;
  const { default: value } = schema;
  const { path } = at.child('default');
  const place = { path, value, correlation: Correlation.none };
  const kept = yield* evaluateRules(validator, { ...place, old: value }, { budget });
  for (const error of kept.errors) at.tell(error);
  if (kept.errors.length > 0) return kept.budget;
  const added = yield* evaluateRules(validator, { ...place, old: undefined }, { budget });
  for (const error of added.errors) at.tell(error);
  return Math.min(kept.budget, added.budget);
}
