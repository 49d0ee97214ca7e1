// Creates the FIFO that an informer's option names. Used by shared-informer.ts.
import type { KubernetesObject } from '@kapstan/api';
import { DeltaFifo } from './delta-fifo.ts';
import type { Fifo } from './fifo.ts';
import { InOrderFifo } from './in-order-fifo.ts';

/** Throws TypeError for an unknown kind of FIFO. */
export function createFifo<T extends KubernetesObject>(
  kind: 'delta' | 'inOrder',
  options: ConstructorParameters<typeof DeltaFifo<T>>[0],
): Fifo<T> {
  switch (kind) {
    case 'delta':
      return new DeltaFifo<T>(options);
    case 'inOrder':
      return new InOrderFifo<T>(options);
    default:
      throw new TypeError(`fifo must be 'delta' or 'inOrder', got ${String(kind)}`);
  }
}
