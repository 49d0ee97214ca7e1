// Planner turns a checked expression into the nodes that evaluate it. Constant parts are evaluated here, once.
import { constantText } from '../checker/pattern-check.ts';
import type { Environment } from '../environment/environment.ts';
import type { CallExpr, ComprehensionExpr, Expr, IdentExpr, SelectExpr } from '../syntax/expr.ts';
import { CelProgramError } from '../syntax/issues.ts';
import { goTypeName } from '../values/go-type-name.ts';
import { foldedList, foldedMap } from './folding.ts';
import { planFunction } from './function-plan.ts';
import type { AttributeNode, PlanNode, Qualifier } from './plan-node.ts';
import { isQualifier } from './qualifiers.ts';

/** Plans an expression that was checked without issues. Throws CelProgramError when a constant part has no value. */
export function planExpression(expr: Expr, environment: Environment): PlanNode {
  return new Planner(environment).plan(expr);
}

interface Local {
  readonly name: string;
  readonly slot: number;
  /** The initial value of an accumulator. */
  readonly start: PlanNode | undefined;
}

class Planner {
  readonly #environment: Environment;
  readonly #locals: Local[] = [];
  #slots = 0;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  plan(expr: Expr): PlanNode {
    switch (expr.kind) {
      case 'literal':
        return { kind: 'constant', value: expr.value };
      case 'ident':
        return this.#planIdent(expr);
      case 'select':
        return this.#planSelect(expr);
      case 'call':
        return this.#planCall(expr);
      case 'list':
        return foldedList({
          kind: 'list',
          elements: expr.elements.map((element) => this.plan(element)),
          optionals: expr.optionals,
        });
      case 'map':
        return foldedMap({
          kind: 'map',
          entries: expr.entries.map(({ key, value, isOptional }) => ({
            key: this.plan(key),
            value: this.plan(value),
            isOptional,
          })),
        });
      case 'struct': {
        const fields = expr.fields.map(({ name, value, isOptional }) => ({
          name,
          value: this.plan(value),
          isOptional,
        }));
        const { provider } = this.#environment;
        return { kind: 'struct', fields, construct: (values) => provider.construct?.(expr.name, values) };
      }
      case 'comprehension':
        return this.#planComprehension(expr);
      case 'broken':
        throw new CelProgramError('the expression has errors');
    }
  }

  #planIdent({ name, type }: IdentExpr): PlanNode {
    const local = this.#locals.findLast((variable) => variable.name === name);
    const found = local === undefined ? this.#environment.lookUp(name) : undefined;
    // cel-go mistakes a variable whose value is a type for the name of a type.
    if (type?.kind === 'type' && found?.isConstant !== true) {
      throw new CelProgramError(`reference to undefined type: ${name}`);
    }
    if (local !== undefined) {
      const { slot, start } = local;
      return attribute(start === undefined ? { kind: 'slot', slot } : { kind: 'accumulator', slot, start });
    }
    if (found?.isConstant !== true) return attribute({ kind: 'variable', name });
    return { kind: 'constant', value: this.#environment.namedType(name) ?? found.type.first };
  }

  #planSelect(expr: SelectExpr): PlanNode {
    const operand = attributeOf(this.plan(expr.operand));
    addQualifier(operand, { key: { value: expr.field }, isOptional: false, isTest: expr.isTest });
    if (expr.isTest) operand.isTest = true;
    return operand;
  }

  #planCall(expr: CallExpr): PlanNode {
    const operands = expr.target === undefined ? expr.args : [expr.target, ...expr.args];
    const args = operands.map((operand) => this.plan(operand));
    const [first, second, third] = args as [PlanNode, PlanNode, PlanNode];
    switch (expr.name) {
      case '_&&_':
        return { kind: 'and', terms: args };
      case '_||_':
        return { kind: 'or', terms: args };
      case '_?_:_':
        return conditional(first, second, third);
      case '_==_':
        return { kind: 'equal', args: [first, second] };
      case '_!=_':
        return { kind: 'notEqual', args: [first, second] };
      case '_[_]':
        return planIndex(first, second, false);
      case '_?._':
      case '_[?_]':
        return planIndex(first, second, true);
      default:
        return planFunction(this.#environment, {
          name: expr.name,
          args,
          overloads: expr.reference?.overloads ?? [],
          patternFault: constantText(operands[1])?.patternFault,
        });
    }
  }

  #planComprehension(expr: ComprehensionExpr): PlanNode {
    const start = this.plan(expr.start);
    const range = this.plan(expr.range);
    const accumulator: Local = { name: expr.accumulator, slot: this.#slots++, start };
    const slot = this.#slots++;
    const slot2 = expr.variable2 === undefined ? undefined : this.#slots++;
    const depth = this.#locals.length;
    this.#locals.push(accumulator, { name: expr.variable, slot, start: undefined });
    if (slot2 !== undefined) this.#locals.push({ name: expr.variable2 as string, slot: slot2, start: undefined });
    const condition = this.plan(expr.condition);
    const step = this.plan(expr.step);
    this.#locals.length = depth + 1;
    const result = this.plan(expr.result);
    this.#locals.length = depth;
    return { kind: 'fold', range, slot, slot2, accumulatorSlot: accumulator.slot, condition, step, result };
  }
}

function attribute(base: AttributeNode['base']): AttributeNode {
  return { kind: 'attribute', base, qualifiers: [], isTest: false };
}

/** Returns the attribute to which selections can be added: the node itself, or a new one that starts from it. */
function attributeOf(node: PlanNode): AttributeNode {
  return node.kind === 'attribute' ? node : attribute({ kind: 'operand', node });
}

function conditional(condition: PlanNode, whenTrue: PlanNode, whenFalse: PlanNode): AttributeNode {
  return attribute({ kind: 'conditional', condition, branches: [attributeOf(whenTrue), attributeOf(whenFalse)] });
}

function planIndex(operand: PlanNode, index: PlanNode, isOptional: boolean): AttributeNode {
  const node = attributeOf(operand);
  addQualifier(node, { key: keyOf(index), isOptional, isTest: false });
  return node;
}

/** A selection on a conditional applies to both of its branches. */
function addQualifier(node: AttributeNode, qualifier: Qualifier): void {
  if (node.base.kind !== 'conditional') node.qualifiers.push(qualifier);
  else for (const branch of node.base.branches) addQualifier(branch, qualifier);
}

function keyOf(index: PlanNode): Qualifier['key'] {
  if (index.kind === 'attribute') return { attribute: index };
  if (index.kind !== 'constant') return { node: index };
  if (isQualifier(index.value)) return { value: index.value };
  throw new CelProgramError(`invalid qualifier type: ${goTypeName(index.value)}`);
}
