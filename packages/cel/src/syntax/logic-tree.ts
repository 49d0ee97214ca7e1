// Long chains of && or || become balanced trees, as cel-go builds them: `a && b && c && d` is `(a && b) && (c && d)`.
import type { Expr } from './expr.ts';
import type { Token } from './token.ts';

export function balancedTree(name: string, terms: readonly Expr[], marks: readonly Token[]): Expr {
  if (marks.length === 0) return terms[0] as Expr;
  const build = (low: number, high: number): Expr => {
    const middle = Math.floor((low + high + 1) / 2);
    const left = middle === low ? (terms[middle] as Expr) : build(low, middle - 1);
    const right = middle === high ? (terms[middle + 1] as Expr) : build(middle + 1, high);
    return { kind: 'call', offset: (marks[middle] as Token).offset, name, target: undefined, args: [left, right] };
  };
  return build(0, marks.length - 1);
}
