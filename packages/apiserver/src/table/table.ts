// The Table form of lists, as kubectl prints them. One convertor a kind, compiled once. meta/v1 Table.
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import type { Age } from './age.ts';

export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  /** 0 = always shown; above = with -o wide. */
  readonly priority: number;
}

export interface TableConvertor<T extends KubernetesObject> {
  readonly columns: readonly TableColumn[];
  /**
   * One cell per column (some kinds answer more), told by the object alone: it is asked once an object. A cell that moves on
   * with time is an {@link Age}.
   */
  cells(object: DeepReadonly<T>): readonly unknown[];
}
