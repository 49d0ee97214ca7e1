// Validates the expressions of a definition's rules: whether they compile, and their costs. It runs in slices, one rule
// each, because a definition may have thousands. Source: ValidateCustomResourceDefinitionOpenAPISchema,
// cel_validation.go.
import type { SlicedWork } from '@kapstan/api/internal';
import type { Field } from '@kapstan/apiserver/internal';
import { type DeclType, declTypeOf } from './decl-type.ts';
import { type KnownExpressions, type RuleCompilation, RuleCompiler } from './rule-compilation.ts';
import {
  type Cardinality,
  costText,
  expressionLimit,
  innerCardinality,
  mostOfSize,
  multiply,
  RuleCosts,
} from './rule-costs.ts';
import { isEmbedded, itemsOf, type Rule, type RuleSchema, rulesOf, valuesOf } from './rule-schema.ts';
import { propertyDecl } from './rule-validator.ts';

export interface RuleValidation {
  /** Schemas with errors, in themselves or deeper, whose expressions are not checked until the errors are corrected. */
  readonly faulty: ReadonlySet<RuleSchema>;
  /** Expressions that the definition had before. */
  readonly known: KnownExpressions;
  /** True = one expression may exceed its limit, because the schema was accepted before. */
  readonly isUnchanged: boolean;
}

/** The estimate for a rule that compiles. */
interface RuleEstimate {
  readonly path: string;
  readonly index: number;
  readonly cost: bigint;
  readonly cardinality: bigint;
  readonly total: bigint;
  readonly messageCost: bigint | undefined;
  readonly usesOldSelf: boolean;
}

export interface RuleEstimates {
  readonly rules: readonly RuleEstimate[];
  readonly total: bigint;
}

/** Validates the rules of a whole schema that is valid otherwise. */
export function* validateRules(at: Field, schema: RuleSchema, options: RuleValidation): SlicedWork<RuleEstimates> {
  const pass = new RulePass(options);
  yield* pass.visit({
    at,
    schema,
    isRoot: true,
    cardinality: 1n,
    outerDecl: () => undefined,
    isScoped: false,
    uncorrelatable: undefined,
  });
  pass.costs.validate(at);
  return { rules: pass.estimates, total: pass.costs.total };
}

interface Place {
  readonly at: Field;
  readonly schema: RuleSchema;
  readonly isRoot: boolean;
  readonly cardinality: Cardinality;
  /**
   * Returns the type of the place within the type of its parent; undefined when no rule at a higher level has made one.
   */
  outerDecl(): DeclType | undefined;
  /** True when a place above has rules. */
  readonly isScoped: boolean;
  /** The place nearest to the root whose parts cannot be matched after an update. */
  readonly uncorrelatable: Field | undefined;
}

class RulePass {
  readonly costs = new RuleCosts();
  readonly estimates: RuleEstimate[] = [];
  readonly #options: RuleValidation;

  constructor(options: RuleValidation) {
    this.#options = options;
  }

  /** Places inside come first. */
  *visit(place: Place): SlicedWork<void> {
    const { at, schema } = place;
    const decl = declOf(place);
    const values = valuesOf(schema);
    const element = (): DeclType | undefined => elementOf(decl());
    if (values !== undefined) {
      yield* this.visit(inner(place, { at: at.child('additionalProperties'), schema: values, decl: element }));
    }
    const { properties = {} } = schema;
    const places = at.child('properties');
    for (const name of Object.keys(properties).sort()) {
      const property = properties[name] as RuleSchema;
      const propertyType = (): DeclType | undefined => {
        const object = decl();
        return object && propertyDecl(name, property, object);
      };
      yield* this.visit(inner(place, { at: places.key(name), schema: property, decl: propertyType }));
    }
    const items = itemsOf(schema);
    if (items !== undefined)
      yield* this.visit(listItems(place, { at: at.child('items'), schema: items, decl: element }));
    if (rulesOf(schema).length > 0 && !this.#options.faulty.has(schema)) yield* this.#validate(place, decl());
  }

  *#validate(place: Place, decl: DeclType | undefined): SlicedWork<void> {
    const at = place.at.child('x-kubernetes-validations');
    if (decl === undefined) {
      const why = 'unable to convert structural schema to CEL declarations';
      at.internal(`internal error: failed to construct type information for x-kubernetes-validations rules: ${why}`);
      return;
    }
    const compiler = new RuleCompiler(place.schema, decl, this.#options.known);
    const cardinality = place.cardinality ?? mostOfSize(decl.minSize);
    for (const [index, rule] of rulesOf(place.schema).entries()) {
      yield;
      const compilation = yield* compiler.compile(rule);
      yield;
      this.#tell(at.index(index), rule, compilation);
      this.#estimate(place, { index, cardinality }, compilation);
      this.#tellOldSelf(at.index(index), rule, { compilation, uncorrelatable: place.uncorrelatable });
    }
  }

  #tell(at: Field, rule: Rule, { error, messageError }: RuleCompilation): void {
    if (error !== undefined) at.child('rule').invalid(goRule(rule), error);
    if (messageError !== undefined) at.child('messageExpression').invalid(goRule(rule), messageError);
  }

  #estimate(
    place: Place,
    { index, cardinality }: { readonly index: number; readonly cardinality: bigint },
    { program, message, usesOldSelf }: RuleCompilation,
  ): void {
    if (program === undefined) return;
    const at = place.at.child('x-kubernetes-validations').index(index);
    const cost = program.maxCost();
    const total = multiply(cost, cardinality);
    this.#addCost(at.child('rule'), 'estimated rule cost', total);
    const messageCost = message?.maxCost();
    if (messageCost !== undefined) {
      this.#addCost(at.child('messageExpression'), 'estimated messageExpression cost', messageCost);
    }
    this.estimates.push({ path: place.at.path, index, cost, cardinality, total, messageCost, usesOldSelf });
  }

  #addCost(at: Field, what: string, cost: bigint): void {
    if (cost > expressionLimit && !this.#options.isUnchanged) at.forbidden(costText(what, cost, expressionLimit));
    this.costs.add(at, cost);
  }

  #tellOldSelf(
    at: Field,
    rule: Rule,
    {
      compilation,
      uncorrelatable,
    }: { readonly compilation: RuleCompilation; readonly uncorrelatable: Field | undefined },
  ): void {
    if (!compilation.usesOldSelf) {
      if (rule.optionalOldSelf !== undefined && rule.optionalOldSelf !== null) {
        at.child('optionalOldSelf').invalid(rule.optionalOldSelf, 'may not be set if oldSelf is not used in rule');
      }
    } else if (uncorrelatable !== undefined) {
      const where = `within ${uncorrelatable.path}`;
      at.child('rule').invalid(
        rule.rule,
        `oldSelf cannot be used on the uncorrelatable portion of the schema ${where}`,
      );
    }
  }
}

interface Child {
  readonly at: Field;
  readonly schema: RuleSchema;
  decl(): DeclType | undefined;
}

function inner(place: Place, { at, schema, decl }: Child): Place {
  return {
    at,
    schema,
    isRoot: false,
    cardinality: innerCardinality(place.cardinality, place.schema),
    outerDecl: decl,
    isScoped: place.isScoped || rulesOf(place.schema).length > 0,
    uncorrelatable: place.uncorrelatable,
  };
}

/** Only items of a list with keys can be matched. */
function listItems(place: Place, child: Child): Place {
  const isKeyed = place.schema['x-kubernetes-list-type'] === 'map';
  const uncorrelatable = place.uncorrelatable ?? (isKeyed ? undefined : place.at);
  return { ...inner(place, child), uncorrelatable };
}

/** Returns the type of a place on demand: its part of the type that a rule above has made, or a new one. */
function declOf({ schema, isRoot, isScoped, outerDecl }: Place): () => DeclType | undefined {
  let made: { readonly decl: DeclType | undefined } | undefined;
  return () => {
    made ??= { decl: (isScoped ? outerDecl() : undefined) ?? declTypeOf(schema, isRoot || isEmbedded(schema)) };
    return made.decl;
  };
}

function elementOf(decl: DeclType | undefined): DeclType | undefined {
  return decl?.kind === 'list' || decl?.kind === 'map' ? decl.element : undefined;
}

/** Returns the rule as Go prints it in an error: all members of the struct, in their order. */
function goRule(rule: Rule): Record<string, unknown> {
  return {
    Rule: rule.rule,
    Message: rule.message ?? '',
    MessageExpression: rule.messageExpression ?? '',
    Reason: rule.reason ?? null,
    FieldPath: rule.fieldPath ?? '',
    OptionalOldSelf: rule.optionalOldSelf ?? null,
  };
}
