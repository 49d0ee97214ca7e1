// The program: its parts, and how it runs in a cluster. `npm run generate` imports this file, so nothing is started here.
import type { RunOptions } from '@kapstan/controller';

export { greetingController } from './controller.ts';

export const options: RunOptions = {
  leaderElection: { name: 'my-controller' }, // several replicas, of which one works and all answer webhooks
  metrics: { port: 8080 }, // /metrics, /healthz and /readyz
  webhooks: { service: { name: 'my-controller', namespace: 'my-controller' } }, // certificates are made and renewed
};
