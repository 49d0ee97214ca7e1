// The Table form of lists, as kubectl prints them. Each kind has one convertor, compiled once. Source: meta/v1 Table.
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import type { SlicedWork } from '@kapstan/api/internal';
import type { Age } from './age.ts';

/** A column of `kubectl get`, with its cells. */
export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  /** 0 = always shown; above = only with -o wide. */
  readonly priority: number;
}

/** Turns objects into rows of a table. */
export interface TableConvertor<T extends KubernetesObject> {
  readonly columns: readonly TableColumn[];
  /**
   * Returns one cell per column (some kinds return more), from the object alone, because it is called once per object.
   * A cell that changes with time is an {@link Age}.
   */
  cells(object: DeepReadonly<T>): readonly unknown[];
  /** Compiles thousands of columns in slices, so that the first use of the others need not. Default: there is nothing to do. */
  prepare?(): SlicedWork<void>;
}
