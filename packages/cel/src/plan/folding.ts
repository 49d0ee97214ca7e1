// Constant folding: literals of constants, and membership in a list of constants.

import { type AnyList, listItems, listSize } from '../values/cel-list.ts';
import { CelMap, equalNumbers } from '../values/cel-map.ts';
import { EvaluationStop } from '../values/failure.ts';
import type { Int } from '../values/integers.ts';
import { type CelUint, numberOfDouble } from '../values/numbers.ts';
import { doubleValue, kindOf } from '../values/value.ts';
import { buildList, buildMap } from './literals.ts';
import type { ConstantNode, ListNode, MapNode, MembershipNode, PlanNode } from './plan-node.ts';

export function foldedList(node: ListNode): PlanNode {
  const values = constantsOf(node.elements);
  return values === undefined ? node : { kind: 'constant', value: buildList(node, values) };
}

export function foldedMap(node: MapNode): PlanNode {
  const values = constantsOf(node.entries.flatMap(({ key, value }) => [key, value]));
  return values === undefined ? node : { kind: 'constant', value: buildMap(node, values) };
}

/** Returns the values of nodes that are all constants, or undefined. */
function constantsOf(nodes: readonly PlanNode[]): readonly unknown[] | undefined {
  if (!nodes.every((node): node is ConstantNode => node.kind === 'constant')) return undefined;
  return nodes.map(({ value }) => value);
}

const primitive: ReadonlySet<string> = new Set(['bool', 'double', 'int', 'string', 'uint']);

/** Makes `x in list` for a constant list a lookup in a set, if its elements can be in one. */
export function foldedMembership(arg: PlanNode, list: AnyList): ConstantNode | MembershipNode | undefined {
  if (listSize(list) === 0) return { kind: 'constant', value: false };
  const items = listItems(list);
  if (!items.every((item) => primitive.has(kindOf(item)))) return undefined;
  const set = new CelMap();
  for (const item of items) {
    set.set(item, true);
    const double = doubleOf(item);
    if (double !== undefined) set.set(doubleValue(double), true);
    for (const same of equalNumbers(item)) set.set(same, true);
  }
  return { kind: 'membership', arg, has: (value) => isMember(set, value) };
}

function doubleOf(item: unknown): number | undefined {
  const kind = kindOf(item);
  if (kind === 'int') return Number(item as Int);
  if (kind === 'uint') return Number((item as CelUint).value);
  return kind === 'double' ? numberOfDouble(item) : undefined;
}

/** In Go, looking up bytes in a set ends the evaluation. */
function isMember(set: CelMap, value: unknown): boolean {
  if (value instanceof Uint8Array) {
    throw new EvaluationStop('internal error: runtime error: hash of unhashable type types.Bytes');
  }
  return set.find(value) !== undefined;
}
