// The engines of a server that keeps all objects in one store.
import type { Engine } from '@kapstan/storage';
import type { StoreEngines } from '../store/store-engines.ts';

export function singleEngine(main: Engine): StoreEngines {
  return { main, all: [main], engineFor: () => main };
}
