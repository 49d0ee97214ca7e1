// Runs the program on this machine, against the API server of a kubeconfig: node dist/dev.js KUBECONFIG [PORT]. The server must be on this
// machine, too, because it calls the webhooks at 127.0.0.1. The path is required, so that no other cluster gets the definition and the
// webhooks by mistake.
import { run } from '@kapstan/controller';
import { greetingController, options } from './program.ts';

const [, , kubeconfig = '', port = '0'] = process.argv;
if (kubeconfig === '') throw new TypeError('usage: node dist/dev.js KUBECONFIG [PORT]');

await run(greetingController, {
  ...options,
  kubeconfig,
  installCrds: true,
  leaderElection: false,
  metrics: { port: Number(port) },
  inspect: true, // a page that shows why the controller runs; its address is in the log
  webhooks: { url: 'https://127.0.0.1', host: '127.0.0.1', port: 0, leaveMs: 0 },
  logger: console,
});
