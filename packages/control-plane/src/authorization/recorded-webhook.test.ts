// Compares calls of authorization webhooks with those of a real kube-apiserver 1.36: its requests, and its reaction to right, wrong and
// missing answers, with match conditions and both failure policies.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@kapstan/api';
import { selfSigned } from '@kapstan/apiserver/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import { parseServeFlags } from '../flags/serve-flags.ts';
import type { ControlPlane } from '../options/control-plane-options.ts';
import { toOptions } from '../serve.ts';
import { type Call, httpsCaller } from '../testing/https-caller.ts';
import { type RecordedReview, reviewOf, statusText } from '../testing/recorded-review.ts';

interface Recorded {
  readonly configuration: string;
  readonly users: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly reviews: readonly RecordedReview[];
  readonly requests: readonly {
    readonly request: Call;
    readonly code: number;
    readonly message?: string;
    readonly text?: string;
  }[];
  readonly received: readonly string[];
}

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const file = new URL('../../fixtures/authorization-webhook/reviews.json', import.meta.url);

let dataDir: string;
let hook: Server;
let port: number;
let server: ControlPlane;
let recorded: Recorded;
const received: string[] = [];

type Review = { readonly apiVersion: string; readonly kind: string; readonly spec: { readonly user?: string } };

/** Answers by the name of the user, like the recorded webhook. */
const answers: Readonly<Record<string, object | readonly [code: number, text: string] | 'silence' | 'cut'>> = {
  allowed: { status: { allowed: true, reason: 'hook says yes' } },
  denied: { status: { allowed: false, denied: true, reason: 'hook says no' } },
  both: { status: { allowed: true, denied: true, reason: 'hook is unsure' } },
  none: { status: { allowed: false, reason: 'hook does not know' } },
  evalerr: { status: { allowed: false, reason: 'r', evaluationError: 'E' } },
  v1: { status: { allowed: true }, apiVersion: 'authorization.k8s.io/v1' },
  v2: { status: { allowed: true }, apiVersion: 'authorization.k8s.io/v2' },
  other: { status: { allowed: true }, kind: 'TokenReview' },
  badtype: { status: { allowed: 'yes' } },
  bare: [200, '{"status":{"allowed":true}}'],
  notjson: [200, 'hello'],
  empty: [200, ''],
  e400: [400, 'nope'],
  e403: [403, 'nope'],
  e500: [500, 'boom'],
  e503: [503, 'boom'],
  hang: 'silence',
  cut: 'cut',
};

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = '';
  for await (const part of request.setEncoding('utf8')) text += String(part);
  if (!received.includes(text)) received.push(text);
  const { apiVersion, kind, spec } = JSON.parse(text) as Review;
  const told = answers[spec.user ?? ''] ?? { status: { allowed: false } };
  if (told === 'silence') return;
  if (told === 'cut') return void request.socket.destroy();
  const [code, body] = Array.isArray(told) ? told : [200, JSON.stringify({ apiVersion, kind, ...told })];
  response.writeHead(code as number).end(body);
}

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-webhook-'));
  const { cert, key } = await selfSigned('CN=hook');
  hook = createServer({ cert, key }, (request, response) => void answer(request, response));
  hook.listen(0, '127.0.0.1');
  await once(hook, 'listening');
  port = (hook.address() as AddressInfo).port;
  recorded = JSON.parse(readFileSync(file, 'utf8').replaceAll('PORT', String(port))) as Recorded;
  const authority = Buffer.from(cert).toString('base64');
  const cluster = { server: `https://127.0.0.1:${port}/authorize`, 'certificate-authority-data': authority };
  const kubeconfig = {
    clusters: [{ name: 'h', cluster }],
    users: [{ name: 'u', user: { token: 'hook-token' } }],
    contexts: [{ name: 'c', context: { cluster: 'h', user: 'u' } }],
    'current-context': 'c',
  };
  await writeFile(join(dataDir, 'hook.kubeconfig'), JSON.stringify(kubeconfig));
  await writeFile(join(dataDir, 'authz.yaml'), recorded.configuration.replaceAll('DIR', dataDir));
  await writeFile(join(dataDir, 'tokens.csv'), 'tok,admin,admin,"system:masters"\n');
  const flags = [
    `--data-dir=${dataDir}/data`,
    '--secure-port=0',
    `--token-auth-file=${dataDir}/tokens.csv`,
    `--authorization-config=${dataDir}/authz.yaml`,
    '--control-loops=none',
  ];
  server = await startControlPlane({ ...(await toOptions(parseServeFlags(flags))), logger: silentLogger });
});

afterAll(async () => {
  await server?.close();
  hook.closeAllConnections();
  hook.close();
  await rm(dataDir, { recursive: true, force: true });
});

describe('an authorization webhook', () => {
  it('decides as with a real kube-apiserver, also when it answers nonsense, or not at all', async () => {
    const call = httpsCaller(server);
    const asked = recorded.reviews.map(async (review) => {
      const { body } = await call(
        'tok',
        'POST',
        '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        reviewOf(recorded.users, review),
        null,
      );
      const [who, verb, target, where, , expected] = review;
      return {
        told: `${who} ${verb} ${target} ${where}: ${statusText(body)}`,
        expected: `${who} ${verb} ${target} ${where}: ${expected}`,
      };
    });
    const answers = await Promise.all(asked);
    expect(answers.map(({ told }) => told)).toEqual(answers.map(({ expected }) => expected));
  });

  it('is told in refusals and errors as by a real kube-apiserver', async () => {
    const call = httpsCaller(server);
    for (const { request, code, message, text } of recorded.requests) {
      const answer = await call(...request);
      const told = text === undefined ? (answer.body as { message?: string }).message : answer.body;
      expect([request, answer.code, told]).toEqual([request, code, text ?? message]);
    }
  });

  it('gets the reviews that a real kube-apiserver sends, to the byte', () => {
    expect([...received].sort()).toEqual([...recorded.received].sort());
  });
});
