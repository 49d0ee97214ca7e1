// The health of a control plane's parts, for componentstatuses: scheduler and controller manager on this machine, as in Kubernetes,
// and the stores. Source: pkg/registry/core/rest/storage_core.go (componentStatusStorage), componentstatus/validator.go.

import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { text } from 'node:stream/consumers';
import type { Clock } from '@kapstan/api';
import { messageOf } from '@kapstan/api/internal';
import type { ComponentChecks, ComponentHealth } from '@kapstan/kubernetes';
import type { Engine } from '@kapstan/storage';

/** Default ports of the two components. */
const probed = [
  ['scheduler', 10_259],
  ['controller-manager', 10_257],
] as const;

/** Source: probeTimeOut. */
const timeoutMs = 20_000;
const maxBodyBytes = 10_240;

export function componentChecks(engines: readonly Engine[], clock: Clock): ComponentChecks {
  return new Map([
    ...probed.map(([name, port]) => [name, () => probe(`https://127.0.0.1:${port}/healthz`, clock)] as const),
    ...engines.map((engine, index) => [`etcd-${index}`, () => checkStore(engine)] as const),
  ]);
}

async function checkStore(engine: Engine): Promise<ComponentHealth> {
  try {
    await engine.checkHealth();
    return { status: 'True', message: 'ok' };
  } catch (cause) {
    const error = messageOf(cause);
    return { status: 'False', message: error, error };
  }
}

/** Accepts any certificate. */
async function probe(url: string, clock: Clock): Promise<ComponentHealth> {
  const late = new AbortController();
  const cancel = clock.setTimer(() => late.abort(), timeoutMs);
  try {
    const response = await request(url, late.signal);
    const body = await text(response);
    const { statusCode = 0 } = response;
    if (statusCode >= 200 && statusCode < 400) return { status: 'True', message: body.slice(0, maxBodyBytes) };
    return { status: 'False', message: `HTTP probe failed with statuscode: ${statusCode}` };
  } catch (error) {
    return { status: 'False', message: `Get "${url}": ${reasonOf(error as NodeJS.ErrnoException, url)}` };
  } finally {
    cancel();
  }
}

function request(url: string, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { 'User-Agent': 'kube-probe/1.36', Connection: 'close' };
    get(url, { agent: false, rejectUnauthorized: false, headers, signal }, resolve).on('error', reject);
  });
}

/** Phrases an error as Go's net package does. */
function reasonOf({ code, message }: NodeJS.ErrnoException, url: string): string {
  const { host } = new URL(url);
  if (code === 'ECONNREFUSED') return `dial tcp ${host}: connect: connection refused`;
  if (code === 'ABORT_ERR') return 'context deadline exceeded';
  return message;
}
