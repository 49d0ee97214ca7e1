// Compares decisions with those of a real kube-apiserver 1.36 under the same flags, with the same objects: rights, reasons, and the texts
// of refusals.
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@kapstan/api';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import { parseServeFlags } from '../flags/serve-flags.ts';
import type { ControlPlane } from '../options/control-plane-options.ts';
import { toOptions } from '../serve.ts';
import { type Answer, type Call, httpsCaller } from '../testing/https-caller.ts';
import { type RecordedReview, reviewOf, statusText } from '../testing/recorded-review.ts';

type Json = Record<string, unknown>;

interface Recorded {
  readonly flags: readonly string[];
  /** Texts of files that the flags name, by "FILE:name". */
  readonly files?: Readonly<Record<string, string>>;
  readonly users: Readonly<Record<string, { readonly user: string; readonly groups: readonly string[] }>>;
  readonly setup: readonly (readonly [method: string, path: string, object: Json | null, contentType?: string])[];
  readonly reviews: readonly RecordedReview[];
  readonly requests: readonly {
    readonly request: Call;
    readonly code: number;
    readonly message?: string;
    readonly text?: string;
    readonly status?: unknown;
  }[];
}

const tokens = `tok,admin,admin,"system:masters"
alice,alice,alice,"dev"
bob,bob,bob-uid,"dev,ops"
n1,system:node:n1,n1,"system:nodes"
n2,system:node:n2,n2,"system:nodes"
nx,system:node:,nx,"system:nodes"
ny,system:node:n1,ny,"other"
`;

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });

const folder = new URL('../../fixtures/authorization/', import.meta.url);

for (const file of readdirSync(folder)) {
  const recorded = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Recorded;

  describe(`recorded decisions of ${file}`, () => {
    let dataDir: string;
    let server: ControlPlane;
    let call: (...call: Call) => Promise<Answer>;

    beforeAll(async () => {
      dataDir = await mkdtemp(join(tmpdir(), 'kapstan-recorded-'));
      server = await startControlPlane({ ...(await optionsOf(recorded, dataDir)), logger: silentLogger });
      call = httpsCaller(server);
      for (const [method, path, object, contentType] of recorded.setup) {
        const { code, body } = await call('tok', method, path, object, contentType ?? null);
        expect([path, code < 300 ? 'made' : body]).toEqual([path, 'made']);
      }
    });
    afterAll(async () => {
      await server?.close();
      await rm(dataDir, { recursive: true, force: true });
    });

    it('reviews of access have the same answers and reasons', async () => {
      const wrong: string[] = [];
      for (const review of recorded.reviews) {
        const sent = reviewOf(recorded.users, review);
        const { body } = await call('tok', 'POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', sent, null);
        const told = statusText(body);
        if (told !== review[5]) wrong.push(`${review.join(' ')}: ${told}`);
      }
      expect(wrong).toEqual([]);
    });

    it('requests have the same answers', async () => {
      for (const { request, code, text, message, status } of recorded.requests) {
        const { code: told, body } = await call(...request);
        const answer = body as { message?: string; status?: unknown };
        const isReview = status !== undefined;
        expect([request, told]).toEqual([request, code]);
        if (text !== undefined) expect([request, body]).toEqual([request, text]);
        if (message !== undefined) expect([request, answer.message]).toEqual([request, message]);
        if (isReview) expect([request, inOrder(answer.status)]).toEqual([request, inOrder(status)]);
      }
    });
  });
}

/** Bindings grant their rules in any order. */
function inOrder(status: unknown): unknown {
  const { resourceRules, ...rest } = status as { readonly resourceRules?: readonly unknown[] };
  const texts = resourceRules?.map((rule) => JSON.stringify(Object.entries(rule as Json).sort()));
  return { ...rest, resourceRules: texts?.sort() };
}

async function optionsOf({ flags, files = {} }: Recorded, dataDir: string) {
  await writeFile(join(dataDir, 'tokens.csv'), tokens);
  for (const [name, text] of Object.entries(files)) await writeFile(join(dataDir, name), text);
  const args = flags.map((flag) => flag.replace('FILE:', `${dataDir}/`));
  const own = [`--data-dir=${dataDir}/data`, '--secure-port=0', `--token-auth-file=${dataDir}/tokens.csv`];
  const fixed = [
    '--control-loops=none',
    '--disable-admission-plugins=ServiceAccount',
    '--endpoint-reconciler-type=none',
  ];
  return await toOptions(parseServeFlags([...own, ...fixed, ...args]));
}
