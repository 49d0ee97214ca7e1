// A project of create-kapstan that runs as a process, for tests: its output, and its objects on a server.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { delay, type KubernetesObject, resource, systemClock } from '@kapstan/api';
import { Client, clientConfigOf, parseKubeconfig } from '@kapstan/client';
import { ServiceAccount } from '@kapstan/kinds/core/v1';
import { parse, parseAllDocuments } from 'yaml';
import { Greeting } from '../../packages/create-kapstan/template/src/api.ts';

export interface RunningProgram {
  readonly child: ChildProcess;
  /** All output so far. */
  text(): string;
  /** Resolves when the output, after its first `from` characters, matches. Rejects when the program ends before. */
  printed(pattern: RegExp, from?: number): Promise<RegExpExecArray>;
  /** Sends a signal and resolves to how the program ended. */
  stop(signal: NodeJS.Signals): Promise<readonly [code: number | null, signal: NodeJS.Signals | null]>;
}

export function runProgram(
  file: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv },
): RunningProgram {
  const child = spawn(file, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  let notify: () => void = () => undefined;
  const read = (chunk: Buffer): void => {
    text += chunk;
    notify();
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  let hasEnded = false;
  const ended = once(child, 'close').then((how) => {
    hasEnded = true;
    notify();
    return how as [number | null, NodeJS.Signals | null];
  });
  return {
    child,
    text: () => text,
    async printed(pattern, from = 0) {
      for (;;) {
        const found = pattern.exec(text.slice(from));
        if (found !== null) return found;
        if (hasEnded) throw new Error(`ended before it printed ${pattern}:\n${text}`);
        await new Promise<void>((resolve) => {
          notify = resolve;
        });
      }
    },
    async stop(signal) {
      child.kill(signal);
      return await ended;
    },
  };
}

/** Returns a client that reads through no proxy of the environment. */
export async function clientOf(kubeconfig: string): Promise<Client> {
  const client = new Client({ ...clientConfigOf(parseKubeconfig(kubeconfig)), proxyUrl: '' });
  await client.prepare();
  return client;
}

/** Resolves when the API server calls the webhooks, of which it learns by its own watch. Rejects after 30 s. */
export async function webhooksAreCalled(client: Client): Promise<void> {
  const probe = { metadata: { name: 'probe', namespace: 'default' }, spec: { message: 'x' } };
  const deadline = systemClock.monotonicNow() + 30_000;
  let last: unknown;
  while (systemClock.monotonicNow() < deadline) {
    const made = await client.create(Greeting, probe, { dryRun: true }).catch((error: unknown) => {
      last = error;
    });
    if (made?.spec?.from !== undefined) return;
    await delay(systemClock, 50);
  }
  throw new Error('the API server does not call the webhooks', { cause: last });
}

/** Applies the objects of YAML texts, as kubectl would. */
export async function applyAll(client: Client, texts: readonly string[]): Promise<void> {
  for (const document of texts.flatMap((text) => parseAllDocuments(text))) {
    const object = document.toJS() as KubernetesObject & { readonly apiVersion: string; readonly kind: string };
    const [version = '', group = ''] = object.apiVersion.split('/').reverse();
    const scope = object.metadata?.namespace === undefined ? 'Cluster' : 'Namespaced';
    await client.apply(resource({ group, version, kind: object.kind, scope }), object as never, {
      fieldManager: 'test',
      force: true,
    });
  }
}

/** Returns the kubeconfig with a token of the service account instead of the admin's credentials. */
export async function asServiceAccount(
  client: Client,
  kubeconfig: string,
  account: { readonly name: string; readonly namespace: string },
): Promise<string> {
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const target = { ...account, subresource: 'token' };
  const { status } = (await client.createSubresource(ServiceAccount, target, { body: request })) as {
    readonly status?: { readonly token: string };
  };
  const config = parse(kubeconfig) as { users: { user: object }[]; contexts: { context: { namespace?: string } }[] };
  for (const user of config.users) user.user = { token: status?.token };
  for (const { context } of config.contexts) context.namespace = account.namespace;
  return JSON.stringify(config);
}
