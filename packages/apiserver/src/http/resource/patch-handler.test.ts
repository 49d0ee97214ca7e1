import type { UnstructuredObject } from '@kapstan/api';
import { forbidden } from '@kapstan/api/errors';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AdmissionAttributes, AdmissionControl } from '../../registry/store/admission-control.ts';
import { startTestServer, type TestServer } from '../../testing/api-server-fixture.ts';
import { factDefinitions } from '../../testing/fact-kinds.ts';

type Hook = (attributes: AdmissionAttributes) => Promise<void> | void;

const pods = '/api/v1/namespaces/default/pods';
const pod = `${pods}/p`;
const types = ['merge', 'strategic', 'json'] as const;
type PatchName = (typeof types)[number];
const mediaTypes = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
};

let admit: Hook;
let validate: Hook;
let server: TestServer;
beforeAll(async () => {
  const definitions = factDefinitions().filter(({ resource }) =>
    ['deployments', 'namespaces', 'pods'].includes(resource),
  );
  const admission: AdmissionControl = {
    admit: async (attributes) => admit(attributes),
    validates: () => true,
    validate: async (attributes) => validate(attributes),
  };
  server = await startTestServer(openLmdbEngine, { definitions, hooks: { admission } });
});
afterAll(() => server.close());
beforeEach(async () => {
  admit = () => undefined;
  validate = () => undefined;
  await server.send('DELETE', `${pod}?gracePeriodSeconds=0`);
  const spec = { activeDeadlineSeconds: 60, containers: [{ name: 'c', image: 'i' }] };
  const metadata = { name: 'p', labels: { where: 'here' } };
  expect((await server.send('POST', pods, { body: { metadata, spec } })).status).toBe(201);
});

const present = async (): Promise<UnstructuredObject> => (await server.send('GET', pod)).json as UnstructuredObject;

/** Returns the change as JSON, or as operations with the same effect. */
function bodyOf(type: PatchName, change: Readonly<Record<string, unknown>>): unknown {
  if (type !== 'json') return nested(change);
  return Object.entries(change).map(([path, value]) => ({ op: 'add', path: `/${path}`, value }));
}

function nested(change: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [path, value] of Object.entries(change)) setAt(body, path.split('/'), value);
  return body;
}

function setAt(object: Record<string, unknown>, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) object[name] = value;
  else {
    const inner = (object[name] ?? {}) as Record<string, unknown>;
    object[name] = inner;
    setAt(inner, rest, value);
  }
}

const patch = (type: PatchName, change: Readonly<Record<string, unknown>>) =>
  server.send('PATCH', pod, { body: bodyOf(type, change), headers: { 'content-type': mediaTypes[type] } });

/** Lets another writer write between the first read and its write. */
function race(change: Readonly<Record<string, unknown>>): { tries: () => number } {
  let tries = 0;
  let isOther = false;
  admit = async () => {
    if (isOther) return;
    tries++;
    if (tries > 1) return;
    isOther = true;
    expect((await patch('merge', { ...change, 'metadata/labels/raced': 'yes' })).status).toBe(200);
    isOther = false;
  };
  return { tries: () => tries };
}

describe.each(types)('a %s patch', (type) => {
  it('without a version goes on top of what others have written meanwhile', async () => {
    race({ 'metadata/annotations': { by: 'another' } });
    const { status, json } = await patch(type, { 'spec/activeDeadlineSeconds': 30 });
    expect(status).toBe(200);
    expect(json).toMatchObject({ spec: { activeDeadlineSeconds: 30 }, metadata: { annotations: { by: 'another' } } });
  });

  it('finds its numbers set already where others set the same', async () => {
    race({ 'spec/activeDeadlineSeconds': 30 });
    const { status, json } = await patch(type, { 'spec/activeDeadlineSeconds': 30 });
    expect([status, json.spec.activeDeadlineSeconds, json.metadata.labels.raced]).toEqual([200, 30, 'yes']);
  });

  it('without a version wins over what others wrote in the same place', async () => {
    race({ 'metadata/labels/where': 'anywhere' });
    const { status, json } = await patch(type, { 'metadata/labels/where': 'there' });
    expect([status, json.metadata.labels]).toMatchObject([200, { where: 'there', raced: 'yes' }]);
  });

  it('of a version that is not the present one is refused', async () => {
    const { metadata } = await present();
    await patch('merge', { 'metadata/labels/n': 'newer' });
    const { json } = await patch(type, {
      'metadata/resourceVersion': metadata?.resourceVersion,
      'metadata/labels/x': 'y',
    });
    expect(json).toMatchObject({
      code: 409,
      reason: 'Conflict',
      message:
        'Operation cannot be fulfilled on pods "p": the object has been modified; please apply your changes to the latest version and try again',
    });
  });

  it('of the present version is refused when others are quicker', async () => {
    const { metadata } = await present();
    const { tries } = race({ 'metadata/labels/where': 'anywhere' });
    const { json } = await patch(type, {
      'metadata/resourceVersion': metadata?.resourceVersion,
      'metadata/labels/x': 'y',
    });
    expect([json.code, json.reason]).toEqual([409, 'Conflict']);
    expect(tries()).toBeLessThanOrEqual(2);
    expect((await present()).metadata?.labels).toMatchObject({ where: 'anywhere' });
  });

  it.each([
    ['that changes objects', true, false, 'mutating admission failure'],
    ['that checks objects', false, true, 'validating admission failure'],
    ['of both kinds', true, true, 'mutating admission failure'],
  ])('is refused by an admission %s', async (_, mutating, validating, why) => {
    const refuse = (text: string) => () => {
      throw forbidden({ group: '', resource: 'pods' }, 'p', text);
    };
    if (mutating) admit = refuse('mutating admission failure');
    if (validating) validate = refuse('validating admission failure');
    const { json } = await patch(type, { 'spec/activeDeadlineSeconds': 30 });
    expect([json.code, json.message]).toEqual([403, `pods "p" is forbidden: ${why}`]);
    admit = () => undefined;
    validate = () => undefined;
    expect((await present()).spec).toMatchObject({ activeDeadlineSeconds: 60 });
  });

  it('is admitted anew with each try, and can be refused then', async () => {
    const { tries } = race({ 'metadata/labels/where': 'anywhere' });
    const first = admit;
    admit = async (attributes) => {
      await first(attributes);
      if (tries() < 2) return;
      expect(attributes.oldObject?.metadata?.labels).toMatchObject({ raced: 'yes' });
      throw forbidden({ group: '', resource: 'pods' }, 'p', 'admission failure');
    };
    const { json } = await patch(type, { 'spec/activeDeadlineSeconds': 30 });
    expect([json.message, tries()]).toEqual(['pods "p" is forbidden: admission failure', 2]);
    admit = () => undefined;
    expect((await present()).spec).toMatchObject({ activeDeadlineSeconds: 60 });
  });
});

it('a strategic merge patch changes the members of structs that are inlined', async () => {
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  const livenessProbe = { exec: { command: ['false'] }, periodSeconds: 5 };
  const template = {
    metadata: { labels: { a: 'b' } },
    spec: { containers: [{ name: 'c', image: 'i', livenessProbe }] },
  };
  const body = { metadata: { name: 'd' }, spec: { selector: { matchLabels: { a: 'b' } }, template } };
  expect((await server.send('POST', deployments, { body })).status).toBe(201);
  const change = { spec: { containers: [{ name: 'c', livenessProbe: { exec: { command: ['true'] } } }] } };
  const headers = { 'content-type': mediaTypes.strategic };
  const { json } = await server.send('PATCH', `${deployments}/d`, { body: { spec: { template: change } }, headers });
  expect(json.spec.template.spec.containers[0].livenessProbe).toMatchObject({
    exec: { command: ['true'] },
    periodSeconds: 5,
  });
});
