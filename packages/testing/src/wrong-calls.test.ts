// The shared suite of wrong calls on the client of a test cluster: they are refused whether its server runs or not.
import { systemClock } from '@kapstan/api';
import { wrongCallConformance } from '@kapstan/api/testing';
import { AdmissionFunctions } from '@kapstan/apiserver';
import { ConversionFunctions } from '@kapstan/control-plane';
import { Activity } from './activity.ts';
import { Faults } from './fault.ts';
import { HostedHooks } from './hosted-hooks.ts';
import { TestClient } from './test-client.ts';

await wrongCallConformance('the client of a test cluster', async () => {
  let passedOn = 0;
  const target = (): undefined => {
    passedOn++;
  };
  const hooks = new HostedHooks({ admission: new AdmissionFunctions(), conversions: new ConversionFunctions() });
  return {
    client: new TestClient({ target, faults: new Faults(), activity: new Activity(), clock: systemClock, hooks }),
    passedOn: () => passedOn,
    close: async () => undefined,
  };
});
