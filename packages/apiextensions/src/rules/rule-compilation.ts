// RuleCompilation compiles a rule into programs. Rules that users send compile in the environment of the version before
// this one, stored ones in the newest. Source: apiextensions pkg/apiserver/schema/cel/compilation.go.

import { randomInt } from 'node:crypto';
import type { SlicedWork } from '@kapstan/api/internal';
import {
  CelCompileError,
  CelProgramError,
  type CelType,
  type CompiledExpression,
  compileInSlices,
  type Environment,
  newExpressions,
  optionalType,
  type Program,
  type SizeEstimator,
  storedExpressions,
} from '@kapstan/cel';
import type { DeclType } from './decl-type.ts';
import { DeclTypeProvider } from './decl-type-provider.ts';
import { resolveFieldPath } from './rule-field-path.ts';
import type { Rule, RuleSchema } from './rule-schema.ts';

/** An expression that compiles. */
export interface RuleProgram {
  readonly program: Program;
  /** Returns the highest cost of one evaluation. */
  readonly maxCost: () => bigint;
}

/** The result of compiling one rule. A rule without text has neither a program nor an error. */
export interface RuleCompilation {
  readonly rule: Rule;
  readonly program?: RuleProgram;
  /** The reason why there is no program. */
  readonly error?: string;
  /** True when the rule compares a value with its old value. */
  readonly usesOldSelf: boolean;
  readonly message?: RuleProgram;
  /** The reason why there is no program for the message. */
  readonly messageError?: string;
  /** Path below the rule's place at which its errors are reported: `spec.ports`. "" is the place itself. */
  readonly fieldPath: string;
}

/** Knows which expressions an earlier server version accepted; these must keep compiling. */
export interface KnownExpressions {
  hasRule(text: string): boolean;
  hasMessage(text: string): boolean;
}

export const allKnown: KnownExpressions = { hasRule: () => true, hasMessage: () => true };
export const noneKnown: KnownExpressions = { hasRule: () => false, hasMessage: () => false };

/** Compiles the rules of one place. Their common parts are made once. */
export class RuleCompiler {
  readonly #schema: RuleSchema;
  readonly #decl: DeclType;
  readonly #known: KnownExpressions;
  readonly #types = new DeclTypeProvider();
  readonly #self: CelType;
  readonly #sizes: SizeEstimator;
  readonly #environments = new Map<string, Environment>();

  constructor(schema: RuleSchema, decl: DeclType, known: KnownExpressions) {
    this.#schema = schema;
    this.#decl = decl;
    this.#known = known;
    // The name differs each time, so that no rule can rely on it.
    this.#self = this.#types.typeOf(decl, `selfType${randomInt(1_000_000_000)}`);
    this.#sizes = ({ path }) => this.#sizeAt(path);
  }

  *compile(rule: Rule): SlicedWork<RuleCompilation> {
    const none = { rule, usesOldSelf: false, fieldPath: '' };
    if (rule.rule.trim() === '') return none;
    const isOptional = rule.optionalOldSelf === true;
    const known = this.#known.hasRule(rule.rule);
    const compiled = yield* this.#compileAs('bool', rule.rule, this.#environment(known, isOptional));
    if (typeof compiled === 'string') return { ...none, error: ruleErrors[compiled] ?? compiled };
    const { program, expression } = compiled;
    return {
      rule,
      program,
      usesOldSelf: expression.names('oldSelf'),
      ...(yield* this.#compileMessage(rule, isOptional)),
      fieldPath: rule.fieldPath ? (resolveFieldPath(rule.fieldPath, this.#schema) ?? '') : '',
    };
  }

  *#compileMessage(
    { messageExpression: text = '' }: Rule,
    isOptional: boolean,
  ): SlicedWork<Pick<RuleCompilation, 'message' | 'messageError'>> {
    if (text === '') return {};
    const environment = this.#environment(this.#known.hasMessage(text), isOptional);
    const compiled = yield* this.#compileAs('string', text, environment);
    if (typeof compiled !== 'string') return { message: compiled.program };
    return { messageError: messageErrors[compiled] ?? `messageExpression ${compiled.replace(/^program /, '')}` };
  }

  /** Returns the program, or the reason why there is none. */
  *#compileAs(
    kind: 'bool' | 'string',
    text: string,
    environment: Environment,
  ): SlicedWork<{ readonly program: RuleProgram; readonly expression: CompiledExpression } | string> {
    try {
      const expression = yield* compileInSlices(text, { environment, sizes: this.#sizes });
      if (expression.type.kind !== kind || expression.type.isNullable) return wrongType;
      yield;
      return { expression, program: { program: expression.program, maxCost: () => expression.cost.max } };
    } catch (error) {
      if (error instanceof CelCompileError) return `compilation failed: ${error.message}`;
      if (error instanceof CelProgramError) return `program instantiation failed: ${error.message}`;
      throw error;
    }
  }

  #environment(isKnown: boolean, isOptional: boolean): Environment {
    const key = `${isKnown} ${isOptional}`;
    const made = this.#environments.get(key);
    if (made !== undefined) return made;
    const oldSelf = isOptional ? optionalType(this.#self) : this.#self;
    const environment = (isKnown ? storedExpressions() : newExpressions()).extend({
      variables: new Map([
        ['self', this.#self],
        ['oldSelf', oldSelf],
      ]),
      provider: this.#types,
    });
    this.#environments.set(key, environment);
    return environment;
  }

  /** Paths begin with a variable, which is always `self` or `oldSelf`. */
  #sizeAt(path: readonly string[] | undefined): { readonly min: bigint; readonly max: bigint } | undefined {
    if (path === undefined || path.length === 0) return undefined;
    let decl: DeclType | undefined = this.#decl;
    for (const name of path.slice(1)) {
      decl = decl && partOf(decl, name);
      if (decl === undefined) return undefined;
    }
    return { min: 0n, max: BigInt(decl.maxElements) };
  }
}

const wrongType = 'wrong type';
const ruleErrors: Readonly<Record<string, string>> = { [wrongType]: 'cel expression must evaluate to a bool' };
const messageErrors: Readonly<Record<string, string>> = { [wrongType]: 'messageExpression must evaluate to a string' };

function partOf(decl: DeclType, name: string): DeclType | undefined {
  const isContainer = decl.kind === 'list' || decl.kind === 'map';
  if (name === '@items' || name === '@values') return isContainer ? decl.element : undefined;
  if (name === '@keys') return decl.kind === 'map' ? decl.key : undefined;
  return decl.kind === 'object' ? decl.field(name) : undefined;
}
