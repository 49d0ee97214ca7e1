// Admission policies as a real kube-apiserver 1.36 evaluates them: recorded requests under validating and mutating policies, with
// their answers, warnings and audit annotations.

import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type ServeProcess, startServeProcess } from '../kapstan/serve-process.ts';

type Json = Record<string, unknown>;

interface Answer {
  readonly code: number;
  readonly status?: unknown;
  readonly object?: unknown;
  readonly warnings?: readonly string[];
}

interface RecordedRequest extends Answer {
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly user: 'admin' | 'alice';
    readonly contentType?: string;
    readonly object?: Json;
  };
  readonly auditAnnotations?: Readonly<Record<string, string>>;
  /** The recorded server crashed inside this request, so any clear answer is right. */
  readonly panic?: true;
}

interface RecordedPolicy {
  readonly id: string;
  readonly kind: 'ValidatingAdmissionPolicy' | 'MutatingAdmissionPolicy';
  readonly namespace: { readonly name: string };
  readonly params?: readonly Json[];
  readonly existing?: readonly Json[];
  readonly policy: { readonly name: string; readonly spec: unknown };
  readonly binding: { readonly name: string; readonly spec: unknown };
  readonly rejected?: Json;
  readonly bindingRejected?: Json;
  readonly requests?: readonly RecordedRequest[];
}

interface Received {
  readonly code: number;
  readonly body: Json;
  readonly warnings: readonly string[];
  readonly auditId: string;
}

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });

const folder = new URL('policies/', import.meta.url);
const topics = readdirSync(folder).map((file) => file.replace('.json', ''));
const casesOf = (topic: string): readonly RecordedPolicy[] =>
  JSON.parse(readFileSync(new URL(`${topic}.json`, folder), 'utf8')) as RecordedPolicy[];
const all = topics.flatMap(casesOf);
const setup = JSON.parse(readFileSync(new URL('policies-setup.json', import.meta.url), 'utf8')) as [string, Json][];

const places: Readonly<Record<string, readonly [api: string, plural: string]>> = {
  ConfigMap: ['/api/v1', 'configmaps'],
  Deployment: ['/apis/apps/v1', 'deployments'],
  Widget: ['/apis/example.com/v1', 'widgets'],
};
const group = '/apis/admissionregistration.k8s.io/v1';

let work: string;
let server: ServeProcess;
let ca: Buffer;
/** Answers to the creation of policies and bindings, by the id of the case. */
const made = new Map<string, { readonly policy: Received; readonly binding: Received | undefined }>();

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), 'kapstan-policies-'));
  const policy = join(work, 'audit.json');
  const rules = [{ level: 'Metadata', omitStages: ['RequestReceived'] }];
  await writeFile(policy, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules }));
  server = await startServeProcess({
    userGroups: ['devs', 'testers'],
    flags: [
      '--control-loops=none',
      '--disable-admission-plugins=ServiceAccount',
      '--warn-without-effect=false',
      `--audit-policy-file=${policy}`,
      `--audit-log-path=${join(work, 'audit.log')}`,
    ],
  });
  ca = await readFile(server.caFile);
  for (const [path, object] of setup) await call('POST', path, { object });
  const widgets = '/apis/example.com/v1/widgets';
  await until(async () => (await call('GET', widgets)).code === 200);
  for (const { namespace, params = [], existing = [] } of all) {
    await call('POST', '/api/v1/namespaces', { object: { metadata: namespace } });
    for (const object of [...params, ...existing]) {
      const [api, plural] = places[object.kind as string] ?? ['', ''];
      const { code } = await call('POST', `${api}/namespaces/${namespace.name}/${plural}`, { object });
      expect(code).toBe(201);
    }
  }
  for (const each of all) made.set(each.id, await makePolicy(each));
  await allInForce();
});

afterAll(async () => {
  await server?.close();
  await rm(work, { recursive: true, force: true });
});

async function makePolicy({ kind, policy, binding }: Pick<RecordedPolicy, 'kind' | 'policy' | 'binding'>) {
  const plural = kind.startsWith('V') ? 'validatingadmissionpolic' : 'mutatingadmissionpolic';
  const create = (resource: string, of: string, { name, spec }: { name: string; spec: unknown }) => {
    const object = { apiVersion: 'admissionregistration.k8s.io/v1', kind: of, metadata: { name }, spec };
    return call('POST', `${group}/${resource}`, { object });
  };
  const created = await create(`${plural}ies`, kind, policy);
  if (created.code !== 201) return { policy: created, binding: undefined };
  return { policy: created, binding: await create(`${plural}ybindings`, `${kind}Binding`, binding) };
}

/** Policies come into force in the order in which they were made, so the last ones are representative of all. */
async function allInForce(): Promise<void> {
  const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }];
  const matchConstraints = { resourceRules, objectSelector: { matchLabels: { last: 'yes' } } };
  const validations = [{ expression: 'false' }];
  const expression = "Object{metadata: Object.metadata{labels: {'seen': 'yes'}}}";
  const mutations = [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }];
  await makePolicy({
    kind: 'MutatingAdmissionPolicy',
    policy: { name: 'z-last', spec: { matchConstraints, mutations, reinvocationPolicy: 'Never' } },
    binding: { name: 'z-last', spec: { policyName: 'z-last' } },
  });
  const object = { metadata: { name: 'last', labels: { last: 'yes' } } };
  const create = () => call('POST', '/api/v1/namespaces/default/configmaps?dryRun=All', { object });
  await until(async () => ((await create()).body.metadata as Json)?.labels !== undefined && isSeen(await create()));
  await makePolicy({
    kind: 'ValidatingAdmissionPolicy',
    policy: { name: 'z-last', spec: { matchConstraints, validations } },
    binding: { name: 'z-last', spec: { policyName: 'z-last', validationActions: ['Deny'] } },
  });
  await until(async () => (await create()).code === 422);
}

function isSeen({ body }: Received): boolean {
  return ((body.metadata as Json).labels as Json).seen === 'yes';
}

/** Repeats the check until it holds, up to a thousand times. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 1000; attempt++) if (await isSo()) return;
  throw new Error('it never came about');
}

function call(
  method: string,
  path: string,
  { object, user = 'admin', contentType = 'application/json' }: Partial<RecordedRequest['request']> = {},
): Promise<Received> {
  const authorization = `Bearer ${user === 'admin' ? server.adminToken : server.userToken}`;
  const headers = { authorization, ...(object && { 'content-type': contentType }) };
  return new Promise((resolve, reject) => {
    const sent = httpsRequest(new URL(path, server.url), { method, ca, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      answer.on('end', () => {
        const { warning: warnings = [] } = answer.headersDistinct;
        const auditId = String(answer.headers['audit-id']);
        resolve({ code: answer.statusCode ?? 0, body: JSON.parse(text) as Json, warnings, auditId });
      });
    });
    sent.on('error', reject);
    sent.end(object && JSON.stringify(object));
  });
}

/** Members that differ with each server. */
const ownMetadata = ['uid', 'resourceVersion', 'creationTimestamp', 'managedFields', 'generation', 'deletionTimestamp'];

function shownObject(body: Json): Json {
  const { status, metadata = {}, ...rest } = structuredClone(body) as Json & { metadata?: Json };
  for (const name of ownMetadata) delete metadata[name];
  return { ...rest, metadata, ...(rest.kind === 'Widget' && status !== undefined ? { status } : {}) };
}

function shownStatus({ reason, message, details }: Json): unknown {
  const { causes } = (details ?? {}) as Json;
  return { reason, message, ...(causes === undefined ? {} : { causes }) };
}

function shownAnswer({ code, body, warnings }: Received, wanted: Answer): Answer {
  const content =
    code >= 400 ? { status: shownStatus(body) } : wanted.object === undefined ? {} : { object: shownObject(body) };
  return { code, ...content, ...(warnings.length === 0 ? {} : { warnings }) };
}

function shownRejection(received: Received | undefined): unknown {
  if (received === undefined || received.code === 201) return undefined;
  return { code: received.code, ...(shownStatus(received.body) as Json) };
}

describe.each(topics)('recorded policies: %s', (topic) => {
  it.each(casesOf(topic).map((each) => [each.id, each] as const))('are answered as recorded: %s', async (_, each) => {
    const answers = made.get(each.id);
    expect(shownRejection(answers?.policy)).toEqual(each.rejected);
    expect(shownRejection(answers?.binding)).toEqual(each.bindingRejected);
    for (const { request, auditAnnotations, panic, ...wanted } of each.requests ?? []) {
      const received = await call(request.method, request.path, request);
      if (panic !== true) expect(shownAnswer(received, wanted)).toEqual(wanted);
      if (auditAnnotations !== undefined) expect(await annotationsOf(received.auditId)).toMatchObject(auditAnnotations);
    }
  });
});

/** An event is written before the answer ends, or a moment later. */
async function annotationsOf(auditId: string): Promise<Json> {
  for (let attempt = 0; attempt < 1000; attempt++) {
    const lines = (await readFile(join(work, 'audit.log'), 'utf8')).split('\n');
    const found = lines.find((line) => line.includes(auditId) && line.includes('"ResponseComplete"'));
    if (found !== undefined) return (JSON.parse(found) as { annotations: Json }).annotations;
  }
  throw new Error(`no audit event ${auditId}`);
}
