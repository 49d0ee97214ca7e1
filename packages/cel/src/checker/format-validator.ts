// Checks constant format strings against the types of their arguments, when the arguments are a list literal.

import type { CallExpr, Expr } from '../syntax/expr.ts';
import type { Issues } from '../syntax/issues.ts';
import { type CelType, dynType, type TypeKind } from '../types/cel-type.ts';
import { type FormatClause, FormatFailure, formatClauses } from '../values/format-clauses.ts';
import { notBinary, notDecimal, notFixed, notHex, notOctal, notScientific, notString } from '../values/format-texts.ts';

export function validateFormat(call: CallExpr, issues: Issues): void {
  const { target, args, name, reference } = call;
  const [list] = args;
  if (name !== 'format' || target?.kind !== 'literal' || typeof target.value !== 'string') return;
  if (args.length !== 1 || list?.kind !== 'list') return;
  if (reference?.overloads !== undefined && !reference.overloads.includes('string_format')) return;
  const { elements } = list;
  let asked = 0;
  const result = formatClauses(target.value, {
    argCount: elements.length,
    checksArgFirst: false,
    onArg: () => asked++,
    format: (clause) => checkClause(clause, elements[clause.index] as Expr),
  });
  if (result instanceof FormatFailure) {
    issues.add((result.place as Expr | undefined)?.offset ?? call.offset, result.message);
  } else if (elements.length > asked) {
    const counts = `(expected ${asked}, got ${elements.length})`;
    issues.add(call.offset, `too many arguments supplied to string.format ${counts}`);
  }
}

const integers: readonly TypeKind[] = ['int', 'uint'];
const doubles: readonly TypeKind[] = ['double', 'string'];
const printable: readonly TypeKind[] = [
  ...['list', 'map', 'int', 'uint', 'double', 'bool', 'string'],
  ...['timestamp', 'bytes', 'duration', 'type', 'null'],
] as TypeKind[];

function checkClause({ verb }: FormatClause, arg: Expr): string | FormatFailure {
  switch (verb) {
    case 's': {
      const bad = firstUnprintable(arg);
      return bad === undefined ? '' : new FormatFailure(notString(typeOf(bad).name), bad);
    }
    case 'd':
      return checkKind(arg, integers, notDecimal);
    case 'f':
      return checkKind(arg, doubles, notFixed);
    case 'e':
      return checkKind(arg, doubles, notScientific);
    case 'b':
      return checkKind(arg, [...integers, 'bool'], notBinary);
    case 'x':
    case 'X':
      return checkKind(arg, [...integers, 'string', 'bytes'], notHex);
    case 'o':
      return checkKind(arg, integers, notOctal);
  }
}

function typeOf(expr: Expr): CelType {
  return expr.type ?? dynType;
}

function isOneOf(expr: Expr, kinds: readonly TypeKind[]): boolean {
  const { kind } = typeOf(expr);
  return kind === 'dyn' || kinds.includes(kind);
}

function checkKind(arg: Expr, kinds: readonly TypeKind[], text: (type: string) => string): string | FormatFailure {
  return isOneOf(arg, kinds) ? '' : new FormatFailure(text(typeOf(arg).name), arg);
}

/** Returns the argument, or the innermost member of a literal, that cannot be written as text. */
function firstUnprintable(expr: Expr): Expr | undefined {
  if (!isOneOf(expr, printable)) return expr;
  const members = expr.kind === 'list' ? expr.elements : [];
  const entries = expr.kind === 'map' ? expr.entries.flatMap(({ key, value }) => [key, value]) : [];
  for (const member of [...members, ...entries]) {
    const bad = firstUnprintable(member);
    if (bad !== undefined) return bad;
  }
  return undefined;
}
