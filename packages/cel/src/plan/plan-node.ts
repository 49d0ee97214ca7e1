// PlanNode: an expression in the form in which it is evaluated. The nodes decide the cost, so they are the same as in
// cel-go: a variable with its selections is one node (an attribute), and the branches of a conditional are resolved
// instead of evaluated.
import type { CallCost } from '../cost/runtime-cost.ts';
import type { PatternOperation } from '../patterns/pattern-work.ts';
import type { CheckedCall } from '../types/function-declaration.ts';

export interface ConstantNode {
  readonly kind: 'constant';
  readonly value: unknown;
}

/** The start of an attribute. */
export type AttributeBase =
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'slot'; readonly slot: number }
  /** A variable of a macro whose initial value is computed on its first read. */
  | { readonly kind: 'accumulator'; readonly slot: number; readonly start: PlanNode }
  | { readonly kind: 'operand'; readonly node: PlanNode }
  | {
      readonly kind: 'conditional';
      readonly condition: PlanNode;
      readonly branches: readonly [AttributeNode, AttributeNode];
    };

/** A field, key or index. */
export interface Qualifier {
  readonly key: { readonly value: unknown } | { readonly attribute: AttributeNode } | { readonly node: PlanNode };
  readonly isOptional: boolean;
  /** True when only its presence is tested. */
  readonly isTest: boolean;
}

export interface AttributeNode {
  readonly kind: 'attribute';
  readonly base: AttributeBase;
  /** The list grows while the planner moves outwards from the inside of an expression. */
  readonly qualifiers: Qualifier[];
  isTest: boolean;
}

export interface CallNode {
  readonly kind: 'call';
  readonly name: string;
  readonly args: readonly PlanNode[];
  readonly run: CheckedCall;
  readonly cost: CallCost | number;
  /** Set for functions whose second argument is a pattern. */
  readonly pattern?: PatternOperation | undefined;
  /**
   * `each`: all arguments are evaluated, even after an error. `untilError`: an error ends the call before the next
   * argument, and the call then costs nothing. `lenient`: errors are passed to the implementation.
   */
  readonly mode: 'each' | 'untilError' | 'lenient';
}

export interface LogicNode {
  readonly kind: 'and' | 'or';
  readonly terms: readonly PlanNode[];
}

export interface EqualityNode {
  readonly kind: 'equal' | 'notEqual';
  readonly args: readonly [PlanNode, PlanNode];
}

export interface ListNode {
  readonly kind: 'list';
  readonly elements: readonly PlanNode[];
  readonly optionals: ReadonlySet<number>;
}

export interface MapNode {
  readonly kind: 'map';
  readonly entries: readonly { readonly key: PlanNode; readonly value: PlanNode; readonly isOptional: boolean }[];
}

export interface StructNode {
  readonly kind: 'struct';
  readonly fields: readonly { readonly name: string; readonly value: PlanNode; readonly isOptional: boolean }[];
  construct(fields: ReadonlyMap<string, unknown>): unknown;
}

export interface FoldNode {
  readonly kind: 'fold';
  readonly range: PlanNode;
  readonly slot: number;
  readonly slot2: number | undefined;
  readonly accumulatorSlot: number;
  readonly condition: PlanNode;
  readonly step: PlanNode;
  readonly result: PlanNode;
}

/** `x in [constants]`. */
export interface MembershipNode {
  readonly kind: 'membership';
  readonly arg: PlanNode;
  has(value: unknown): unknown;
}

export interface OptionalOrNode {
  readonly kind: 'or?' | 'orValue?';
  readonly args: readonly [PlanNode, PlanNode];
}

export type PlanNode =
  | ConstantNode
  | AttributeNode
  | CallNode
  | LogicNode
  | EqualityNode
  | ListNode
  | MapNode
  | StructNode
  | FoldNode
  | MembershipNode
  | OptionalOrNode;
