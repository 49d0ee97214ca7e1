// Lists as sets.
import type { Library } from '../environment/library.ts';
import { globalOverload, oneOverload } from '../types/function-declaration.ts';
import { type AnyList, listItems } from '../values/cel-list.ts';
import { contains } from '../values/equality.ts';

function includesAll(list: AnyList, part: AnyList): boolean {
  return listItems(part).every((item) => contains(list, item) === true);
}

function intersects(left: AnyList, right: AnyList): boolean {
  return listItems(left).some((item) => contains(right, item) === true);
}

function isEquivalent(left: AnyList, right: AnyList): boolean {
  return includesAll(left, right) && includesAll(right, left);
}

const signature = 'list(T), list(T) -> bool';

export const setsLibrary: Library = {
  name: 'sets',
  functions: [
    oneOverload('sets.contains', globalOverload('list_sets_contains_list', signature, includesAll)),
    oneOverload('sets.equivalent', globalOverload('list_sets_equivalent_list', signature, isEquivalent)),
    oneOverload('sets.intersects', globalOverload('list_sets_intersects_list', signature, intersects)),
  ],
};
