// FunctionDeclaration: the overloads of one function name, for the checker and for evaluation.
import type { CelType } from './cel-type.ts';
import { typeOf } from './type-text.ts';

/** Computes a result from arguments that have the overload's types. Errors are returned as CelFailure, never thrown. */
export type Implementation = (...args: never[]) => unknown;

/** An implementation whose arguments were checked, or need no check. */
export type CheckedCall = (...args: unknown[]) => unknown;

/** One form of a function: its parameters, its result, its implementation and its cost. */
export interface Overload {
  /** An id that is unique in an environment. Costs are looked up by it. */
  readonly id: string;
  readonly isMember: boolean;
  readonly params: readonly CelType[];
  readonly result: CelType;
  readonly typeParams: readonly CelType[];
  /** Undefined when the function has one implementation for all overloads. */
  readonly run: Implementation | undefined;
}

/** A function with its overloads. */
export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
  /** One implementation for all overloads, which checks the types itself. */
  readonly singleton?: Implementation;
  /** True = implementations get unchecked arguments. */
  readonly skipsTypeGuards?: boolean;
}

interface Signature {
  readonly id: string;
  readonly params: readonly string[];
  readonly result: string;
  readonly run?: Implementation | undefined;
}

/** Makes an overload for calls such as `f(x)`. */
export function globalOverload(id: string, signature: string, run?: Implementation): Overload {
  return makeOverload({ ...parseSignature(id, signature), run }, false);
}

/** Makes an overload for calls such as `x.f(y)`; the first parameter is `x`. */
export function memberOverload(id: string, signature: string, run?: Implementation): Overload {
  return makeOverload({ ...parseSignature(id, signature), run }, true);
}

/** Parses `int, list(A) -> bool`. */
function parseSignature(id: string, signature: string): Signature {
  const [left = '', result = ''] = signature.split('->');
  return { id, params: splitTopLevel(left), result: result.trim() };
}

function splitTopLevel(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = '';
  for (const char of text) {
    if (char === '(') depth++;
    if (char === ')') depth--;
    if (char === ',' && depth === 0) {
      parts.push(part.trim());
      part = '';
    } else part += char;
  }
  if (part.trim() !== '') parts.push(part.trim());
  return parts;
}

function makeOverload({ id, params, result, run }: Signature, isMember: boolean): Overload {
  const types = params.map(typeOf);
  const resultType = typeOf(result);
  const typeParams = new Map<string, CelType>();
  for (const type of [...types, resultType]) collectTypeParams(type, typeParams);
  return { id, isMember, params: types, result: resultType, typeParams: [...typeParams.values()], run };
}

function collectTypeParams(type: CelType, found: Map<string, CelType>): void {
  if (type.kind === 'typeParam') found.set(type.name, type);
  for (const parameter of type.parameters) collectTypeParams(parameter, found);
}

/** Makes a function of one overload. */
export function oneOverload(name: string, overload: Overload): FunctionDeclaration {
  return { name, overloads: [overload] };
}
