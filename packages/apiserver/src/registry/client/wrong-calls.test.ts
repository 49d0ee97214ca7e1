// Runs the shared suite of wrong calls in process. There are no resources, so a call that passed the checks would get a
// 404.
import { wrongCallConformance } from '@kapstan/api/testing';
import { ResourceCatalog } from '../definition/catalog.ts';
import { InProcessClient } from './in-process-client.ts';

await wrongCallConformance('the in-process client', async () => ({
  client: new InProcessClient({ catalog: new ResourceCatalog() }),
  passedOn: () => 0,
  close: async () => undefined,
}));
