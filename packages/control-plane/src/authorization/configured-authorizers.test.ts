import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, silentLogger } from '@kapstan/api';
import { formatMetrics } from '@kapstan/api/internal';
import { settle, VirtualClock } from '@kapstan/api/testing';
import { type AuthorizationAttributes, alwaysDeny } from '@kapstan/apiserver';
import { longestTurnMs } from '@kapstan/apiserver/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AuthorizationSettings } from './authorization-settings.ts';
import { ConfiguredAuthorizers } from './configured-authorizers.ts';

let folder: string;
let configFile: string;
let clock: VirtualClock;
let log: string[];
let authorizers: ConfiguredAuthorizers | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kapstan-authorizers-'));
  configFile = join(folder, 'authz.yaml');
  clock = new VirtualClock();
  log = [];
});
afterEach(async () => {
  await authorizers?.close();
  authorizers = undefined;
  expect(clock.pendingTimers, 'timers left behind (I9)').toBe(0);
  await rm(folder, { recursive: true });
});

const note = (message: string, data?: Readonly<Record<string, unknown>>): void =>
  void log.push(data?.error === undefined ? message : `${message}: ${data.error}`);
const logger: Logger = { ...silentLogger, error: note, warn: note, info: note };

async function open(settings: AuthorizationSettings): Promise<ConfiguredAuthorizers> {
  const ports = { rbac: alwaysDeny, node: () => alwaysDeny, server: 'apiserver-x', clock, logger };
  authorizers = await ConfiguredAuthorizers.open(settings, ports);
  return authorizers;
}

const configuration = (...types: readonly string[]): string =>
  `apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n${types.map((type) => `- {type: ${type}, name: ${type.toLowerCase()}}\n`).join('')}`;

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{ name: hook, cluster: { server: "https://127.0.0.1:1/" } }]
users: [{ name: server, user: {} }]
contexts: [{ name: c, context: { cluster: hook, user: server } }]
current-context: c
`;

const asked: AuthorizationAttributes = { type: 'path', user: { name: 'u', groups: [] }, verb: 'get', path: '/' };

async function decision(): Promise<string | undefined> {
  return (await authorizers?.authorize(asked))?.decision;
}

/** Waits for the next check of the file, however long reading it takes. */
async function look(isSeen: () => boolean | Promise<boolean>): Promise<void> {
  await clock.advance(5_000);
  const check = async (): Promise<void> => {
    await settle();
    if (!(await isSeen())) throw new Error('not yet');
  };
  await vi.waitFor(check, { timeout: 20_000 });
}

describe('a file of authorizers', () => {
  const errors = JSON.parse(
    readFileSync(new URL('../../fixtures/authorization-webhook/errors.json', import.meta.url), 'utf8'),
  ) as { readonly text: string; readonly error: string }[];

  it.each(errors)('is refused as by a real kube-apiserver: $error', async ({ text, error }) => {
    await writeFile(configFile, text);
    await expect(open({ configFile })).rejects.toMatchObject({ message: `authorization.configFile: ${error}` });
  });

  it('that cannot be read is refused in Go’s words', async () => {
    await expect(open({ configFile })).rejects.toThrow(
      `authorization.configFile: open ${configFile}: no such file or directory`,
    );
    await expect(open({ configFile: folder })).rejects.toThrow(
      `authorization.configFile: read ${folder}: is a directory`,
    );
  });

  it('may not ask the server itself', async () => {
    const webhook =
      '{timeout: 3s, subjectAccessReviewVersion: v1, failurePolicy: Deny, connectionInfo: {type: InClusterConfig}}';
    await writeFile(
      configFile,
      configuration().replace('authorizers:', `authorizers: [{type: Webhook, name: a, webhook: ${webhook}}]`),
    );
    await expect(open({ configFile })).rejects.toThrow(
      'connectionInfo.type InClusterConfig is not allowed for an API server',
    );
  });

  it('is followed, and one with errors changes nothing', async () => {
    await writeFile(configFile, configuration('RBAC', 'AlwaysDeny'));
    await open({ configFile });
    expect(await decision()).toBe('noOpinion');
    await writeFile(configFile, configuration('RBAC', 'AlwaysDeny', 'AlwaysAllow', 'Foo'));
    await look(() => log.length === 1);
    expect(log[0]).toMatch(
      /^could not reload the authorization configuration; the old one stays in use: authorizers\[3\].type: Unsupported value: "Foo"/,
    );
    expect(await decision()).toBe('noOpinion');
    await writeFile(configFile, configuration('RBAC', 'AlwaysDeny', 'AlwaysAllow'));
    await look(async () => (await decision()) === 'allow');
    const text = formatMetrics(authorizers?.families() ?? []);
    const controller = 'apiserver_authorization_config_controller_automatic_reloads_total{apiserver_id_hash="sha256:';
    expect(text).toMatch(new RegExp(`${controller.replace('{', '\\{')}[0-9a-f]{64}",status="failure"} 1`));
    expect(text).toMatch(new RegExp(`${controller.replace('{', '\\{')}[0-9a-f]{64}",status="success"} 1`));
    expect(text).toMatch(/last_config_info\{apiserver_id_hash="sha256:[0-9a-f]{64}",hash="sha256:[0-9a-f]{64}"\} 1/);
  });

  it.each([
    ['is put to use', 'has(request.user)', /^reloaded the authorization configuration$/],
    ['is refused', 'unknown.name', /authorizers\[1\].*undeclared reference to 'unknown'/s],
  ])('with 6,400 conditions %s in short turns', { timeout: 60_000 }, async (_what, condition, told) => {
    const kubeConfigFile = join(folder, 'webhook.kubeconfig');
    await writeFile(kubeConfigFile, kubeconfig);
    const conditions = (hook: number): object[] =>
      Array.from({ length: 64 }, (_, index) => ({
        expression: `request.resourceAttributes.namespace == 'n${hook}-${index}' && ${condition}`,
      }));
    const webhooks = Array.from({ length: 100 }, (_, hook) => ({
      type: 'Webhook',
      name: `hook${hook}`,
      webhook: {
        timeout: '3s',
        subjectAccessReviewVersion: 'v1',
        matchConditionSubjectAccessReviewVersion: 'v1',
        failurePolicy: 'NoOpinion',
        connectionInfo: { type: 'KubeConfigFile', kubeConfigFile },
        matchConditions: conditions(hook),
      },
    }));
    await writeFile(configFile, configuration('AlwaysDeny'));
    await open({ configFile });
    const kind = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthorizationConfiguration' };
    const authorizers = [{ type: 'AlwaysDeny', name: 'alwaysdeny' }, ...webhooks];
    await writeFile(configFile, JSON.stringify({ ...kind, authorizers }));
    const longest = await longestTurnMs(() => look(() => log.length === 1));
    expect(log[0]).toMatch(told);
    expect(longest).toBeLessThan(50);
  });

  it('must go on to list what it listed at the start, and may not add what needs a start', async () => {
    await writeFile(configFile, configuration('RBAC', 'AlwaysDeny'));
    await open({ configFile });
    await writeFile(configFile, configuration('AlwaysAllow'));
    await look(() => log.length === 1);
    await writeFile(configFile, configuration('RBAC', 'AlwaysDeny', 'Node'));
    await look(() => log.length === 2);
    await rm(configFile);
    await look(() => log.length === 3);
    await clock.advance(20_000);
    const prefix = 'could not reload the authorization configuration; the old one stays in use: ';
    expect(log).toEqual([
      `${prefix}missing required types: [AlwaysDeny RBAC]`,
      `${prefix}authorizer type Node is not allowed if it was not enabled at initial server startup`,
      `${prefix}open ${configFile}: no such file or directory`,
    ]);
    expect(await decision()).toBe('noOpinion');
  });

  it('that could not be put to use is tried again until it can', async () => {
    const kubeConfigFile = join(folder, 'hook.kubeconfig');
    await writeFile(kubeConfigFile, 'nothing');
    await writeFile(configFile, configuration('RBAC'));
    await open({ configFile });
    const connection = `{type: KubeConfigFile, kubeConfigFile: ${kubeConfigFile}}`;
    const webhook = `{timeout: 3s, subjectAccessReviewVersion: v1, failurePolicy: Deny, connectionInfo: ${connection}}`;
    await writeFile(configFile, `${configuration('RBAC')}- {type: Webhook, name: a, webhook: ${webhook}}\n`);
    await look(() => log.length === 1);
    await look(() => clock.pendingTimers === 1);
    expect(log).toEqual([
      expect.stringMatching(/^could not reload the authorization configuration; the old one stays/),
    ]);
    const cluster = { server: 'https://127.0.0.1:1/' };
    const contexts = [{ name: 'c', context: { cluster: 'h', user: 'u' } }];
    const clusters = [{ name: 'h', cluster }];
    const users = [{ name: 'u', user: {} }];
    await writeFile(
      kubeConfigFile,
      JSON.stringify({ apiVersion: 'v1', kind: 'Config', clusters, users, contexts, 'current-context': 'c' }),
    );
    await look(() => log.length === 2);
    expect(log[1]).toBe('reloaded the authorization configuration');
    expect(await decision()).toBe('deny');
  });
});

describe('a file of policies', () => {
  const policy = '{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{}}';
  const registry = 'in scheme "pkg/runtime/scheme.go:111"';

  it.each([
    [
      policy.replace('"Policy"', '"Polic"'),
      1,
      `no kind "Polic" is registered for version "abac.authorization.kubernetes.io/v1beta1" ${registry}`,
    ],
    [
      policy.replace('v1beta1', 'v1'),
      1,
      `no kind "Policy" is registered for version "abac.authorization.kubernetes.io/v1" ${registry}`,
    ],
    ['{"user":1}', 1, 'json: cannot unmarshal number into Go struct field Policy.user of type string'],
    ['{"user"', 1, "couldn't get version/kind; json parse error: unexpected end of JSON input"],
    [
      policy.replace('{}', '{"readonly":"x"}'),
      1,
      'json: cannot unmarshal string into Go struct field PolicySpec.spec.readonly of type bool',
    ],
    [
      '{"kind":"Policy","user":"x"}\n{"kind":"Foo","user":"x"}',
      2,
      `no kind "Foo" is registered for version "abac.authorization.kubernetes.io/v0" ${registry}`,
    ],
    [
      '{"apiVersion":"v0","kind":"Policy","user":"x"}',
      1,
      `no kind "Policy" is registered for version "v0" ${registry}`,
    ],
    [policy.replace('"kind":"Policy",', ''), 1, 'converting (v1beta1.Policy) to (v0.Policy): unknown conversion'],
    [`# a\n\n{"user":"x"}\n${'x'.repeat(65_536)}`, 0, 'bufio.Scanner: token too long'],
  ])('is refused as by a real kube-apiserver: %#', async (text, line, error) => {
    const policyFile = join(folder, 'policies');
    await writeFile(policyFile, text);
    const place = line === 0 ? '' : `, line ${line}: ${text.split('\n')[line - 1]}`;
    await expect(open({ modes: ['ABAC'], policyFile })).rejects.toMatchObject({
      message: `authorization.policyFile: error reading policy file ${policyFile}${place}: ${error}`,
    });
  });

  it('may hold unknown fields, and old lines, of which the server warns', async () => {
    const policyFile = join(folder, 'policies');
    await writeFile(
      policyFile,
      `${policy.replace('{}', '{"user":"u","unknown":1,"nonResourcePath":"*"}')}\r\n{"user":"v"}\n`,
    );
    await open({ modes: ['ABAC'], policyFile });
    expect(await decision()).toBe('allow');
    expect(log).toEqual(['the authorization policy file has lines in the old form without a version']);
  });

  it('is read in short turns, however long it is', { timeout: 60_000 }, async () => {
    const policyFile = join(folder, 'policies');
    const spec = (index: number): string => `{"user":"u${index}","nonResourcePath":"*"}`;
    const lines = Array.from({ length: 8_000 }, (_, index) => policy.replace('{}', spec(index)));
    await writeFile(policyFile, [...lines, policy.replace('{}', '{"user":"u","nonResourcePath":"*"}')].join('\n'));
    const longest = await longestTurnMs(() => open({ modes: ['ABAC'], policyFile }));
    expect(await decision()).toBe('allow');
    expect(longest).toBeLessThan(50);
  });
});
