// Compares the values that Kapstan stores in etcd with Kubernetes' own Go types: ./etcd-values makes random objects of
// every kind with their stored bytes, and reads the values written by `kapstan serve`. The test needs Go; its second
// part also needs an etcd.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { parseJson, toRevision, type UnstructuredObject } from '@kapstan/api';
import { storageCodec } from '@kapstan/apiserver';
import { kubernetesTypes } from '@kapstan/kubernetes';
import { openEtcdEngine } from '@kapstan/storage-etcd';
import { findEtcd, howToInstall, startEtcd } from '@kapstan/storage-etcd/testing';
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { startServeProcess } from '../../kapstan/serve-process.ts';
import { objectFrom, requestJson, samples } from './etcd-requests.ts';
import { buildGoProgram, buildTimeoutMs } from './go-programs.ts';

const protobuf = 'application/vnd.kubernetes.protobuf';
let program = '';
let missing: string | undefined;

beforeAll(async () => {
  const built = await buildGoProgram(new URL('etcd-values/', import.meta.url), 'etcd-values');
  if (typeof built === 'string') missing = built;
  else program = built.path;
}, buildTimeoutMs);

beforeEach((context) => {
  if (missing !== undefined) context.skip(missing);
});

interface GoSample {
  readonly apiVersion: string;
  readonly kind: string;
  /** The object as a client sends it, its stored bytes in base64, and the object read from them. */
  readonly sent: UnstructuredObject;
  readonly value: string;
  readonly read: UnstructuredObject;
}

describe('the codec of stored objects', () => {
  it('writes and reads the bytes of Go for random objects of every kind', { timeout: 120_000 }, async () => {
    const seen = new Set<string>();
    const unknown = new Set<string>();
    const wrong: string[] = [];
    for (const line of await run(['samples', '20'], [])) {
      const sample = parseJson(line) as GoSample;
      const name = `${sample.apiVersion} ${sample.kind}`;
      const codec = codecOf(sample);
      if (codec === undefined) unknown.add(name);
      else {
        seen.add(name);
        const bytes = Buffer.from(sample.value, 'base64');
        if (!bytes.equals(codec.encode(sample.sent))) wrong.push(`${name} is written otherwise: ${line}`);
        const expected = { ...sample.read, metadata: { ...sample.read.metadata, resourceVersion: '7' } };
        expect(codec.decode(bytes, toRevision(7)), line).toEqual(expected);
      }
    }
    expect(wrong).toEqual([]);
    expect(seen.size).toBeGreaterThan(80);
    // Kinds that a kube-apiserver with default settings does not serve.
    expect([...unknown].filter((name) => !/alpha|beta|^v1 (PodStatusResult|RangeAllocation)$/.test(name))).toEqual([]);
  });
});

function codecOf({ apiVersion, kind }: GoSample): ReturnType<typeof storageCodec> | undefined {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  try {
    return storageCodec(protobuf, { group, version, kind }, { types: kubernetesTypes });
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

const etcdBinary = findEtcd();

describe('what kapstan serve writes to etcd', () => {
  it('is what Go would have written, for an object of every kind', { timeout: 120_000 }, async ({ skip }) => {
    if (etcdBinary === undefined) return skip(`no etcd: ${howToInstall}`);
    const [etcd] = await startEtcd({ binary: etcdBinary });
    onTestFinished(() => etcd.remove());
    const server = await startServeProcess({
      flags: [`--etcd-servers=${etcd.endpoint}`, '--control-loops=none', '--disable-admission-plugins=ServiceAccount'],
    });
    onTestFinished(() => server.close());
    const admin = { url: server.url, token: server.adminToken };
    const metadata = { name: 'facts' };
    await objectFrom(requestJson(admin, 'POST', '/api/v1/namespaces', { metadata }));
    const written = samples('a');
    for (const { path, object } of written) await objectFrom(requestJson(admin, 'POST', path, object));
    const engine = await openEtcdEngine({ endpoints: [etcd.endpoint] });
    onTestFinished(() => engine.close());
    const { kvs } = await engine.range({ start: '/registry/', end: '/registry0' });
    expect(kvs.length).toBeGreaterThan(written.length);
    const lines = kvs.map(({ key, value }) => JSON.stringify({ key, value: Buffer.from(value).toString('base64') }));
    const verdicts = (await run(['check'], lines)).map((line) => JSON.parse(line) as { key: string; problem?: string });
    expect(verdicts.map(({ key }) => key)).toEqual(kvs.map(({ key }) => key));
    expect(verdicts.filter(({ problem }) => problem !== undefined)).toEqual([]);
  });
});

/** Runs the program and returns its lines of output. Rejects with its standard error when it fails. */
async function run(args: readonly string[], input: readonly string[]): Promise<string[]> {
  const child = spawn(program, args, { stdio: 'pipe' });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const exited = once(child, 'exit');
  child.stdin.end(input.map((line) => `${line}\n`).join(''));
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) lines.push(line);
  const [code] = (await exited) as [number | null];
  if (code !== 0) throw new Error(errors);
  return lines;
}
