// The shared suite of wrong calls on the client of a test cluster: they are refused whether its server runs or not.
import { systemClock } from '@kapstan/api';
import { wrongCallConformance } from '@kapstan/api/testing';
import { Activity } from './activity.ts';
import { Faults } from './fault.ts';
import { TestClient } from './test-client.ts';

await wrongCallConformance('the client of a test cluster', async () => {
  let passedOn = 0;
  const target = (): undefined => {
    passedOn++;
  };
  return {
    client: new TestClient({ target, faults: new Faults(), activity: new Activity(), clock: systemClock }),
    passedOn: () => passedOn,
    close: async () => undefined,
  };
});
