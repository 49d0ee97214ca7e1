// Starts the process of webhook-process.mjs. Used by admission.mjs and webhook-faults.mjs.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const bareCalls = fileURLToPath(new URL('bare-webhook-calls.mjs', import.meta.url));
const program = fileURLToPath(new URL('webhook-process.mjs', import.meta.url));
const group = '/apis/admissionregistration.k8s.io/v1';

/**
 * Resolves to `install(call, kind, { name, path })`, `remove(call, kind, name)`, `bareCallUs(calls)`, which measures a client that
 * does nothing but call, and `end()`. `kind`: validating or mutating.
 */
export async function startWebhooks() {
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
  const { url, ca } = await firstLine(child.stdout);
  const caBundle = Buffer.from(ca).toString('base64');
  const install = (call, kind, { name, path, timeoutSeconds = 10 }) => {
    const webhook = {
      name: 'bench.example.com',
      clientConfig: { url: `${url}${path}`, caBundle },
      rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
      ...{ timeoutSeconds, sideEffects: 'None', admissionReviewVersions: ['v1'] },
    };
    const body = JSON.stringify({ metadata: { name }, webhooks: [webhook] });
    return call('POST', `${group}/${kind}webhookconfigurations`, body);
  };
  const remove = (call, kind, name) => call('DELETE', `${group}/${kind}webhookconfigurations/${name}`);
  const bareCallUs = async (calls) => {
    const caller = spawn(process.execPath, [bareCalls, String(calls)], { stdio: ['pipe', 'pipe', 'inherit'] });
    caller.stdin.end(JSON.stringify({ url, ca }));
    return (await firstLine(caller.stdout)).cpuUs;
  };
  return { install, remove, bareCallUs, end: () => child.stdin.end() };
}

async function firstLine(output) {
  for await (const line of createInterface(output)) return JSON.parse(line);
  throw new Error('the webhook ended before it listened');
}
