// client-go against `kapstan serve`: ./client-go makes the checks, and each one is a test here. Needs Go.
// KAPSTAN_FAIR_TURNS=10 makes the check fair-turns, in which chance has a part, ten times.
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ServeProcess, startServeProcess } from '../../kapstan/serve-process.ts';
import { buildGoPrograms, buildTimeoutMs } from './go-programs.ts';

const sentences = {
  'create-update-delete': 'a typed client creates, updates and deletes, and learns of conflicts',
  patches: 'strategic, merge and JSON patches change a Deployment',
  'status-subresource': 'status and spec are written apart',
  'scale-subresource': 'a Deployment is scaled through its scale',
  'dry-run-and-generate-name': 'a dry run generates a name and stores nothing',
  'preconditions-and-finalizers': 'preconditions refuse a delete and finalizers delay it',
  'delete-collection': 'a collection is deleted by label',
  'fair-turns': 'each of four writers gets its turn 200 times within 18 tries',
  'retry-on-conflict': 'concurrent writers that retry on conflict lose no write',
  'bind-and-evict-pod': 'a Pod is bound, found by its node, evicted and deleted at once',
  'too-large-and-invalid': 'bodies too large, bad names and missing namespaces have their own errors',
  'paged-list': 'pages are of one version, and the pager sees every object',
  'list-at-resource-version': 'lists at, not older than and after a resource version',
  selectors: 'label and field selectors choose',
  'watch-events': 'a watch tells additions, changes and departures as its selector sees them',
  'watch-bookmarks': 'a watch without events ends with a bookmark, at its timeout',
  'watch-initial-events': 'a streaming list ends with a marked bookmark',
  'retry-watcher': 'a RetryWatcher resumes over watches that time out and misses nothing',
  'many-watches': '300 watches on one connection each see their event',
  'informer-watch-list': 'a shared informer streams its list of 2,000 objects while they are written',
  'informer-list-then-watch': 'an informer that lists first agrees with a list in the end',
  'informer-lister-and-index': 'a filtered informer feeds an index, a lister and a work queue',
  discovery: 'discovery is aggregated and tells preferred resources',
  'rest-mapper': 'a REST mapper finds kinds, short names and a kind defined since',
  'openapi-v2': 'the OpenAPI v2 client reads built-in and custom kinds from protobuf',
  'openapi-v3': 'the OpenAPI v3 client reads the schemas of a group',
  'openapi-v3-round-trip': 'every OpenAPI v3 document is the same when it is read and written, and in protobuf',
  'openapi-v3-custom-keywords': 'a definition with every keyword is published, the same in JSON and protobuf, and goes',
  'dynamic-custom-resources': 'a dynamic client defines a kind, uses it and removes it',
  'dynamic-informer': 'a dynamic informer follows custom resources',
  'metadata-client': 'the metadata client lists, watches and deletes by metadata alone',
  apply: 'typed apply configurations create, change and give up fields',
  'apply-conflict-and-force': 'two appliers conflict until one forces',
  'apply-extract': 'what an applier owns is extracted, changed and applied',
  'apply-status': 'a status is applied by a manager of its own',
  'leader-election': 'of two candidates one leads a Lease, and the other when it resigns',
  'event-recorder': 'the recorder writes core events and counts repeats',
  'event-recorder-events-v1': 'the newer recorder writes events.k8s.io events and series',
  'protobuf-by-default': 'typed clients speak protobuf, in watches too',
  'json-when-asked': 'a client that asks for JSON reads what protobuf wrote',
  'secret-bytes-and-service-addresses': 'bytes of Secrets survive and Services get addresses',
  'unauthorized-and-forbidden': 'unknown tokens and users without rights get their own errors',
  'unserved-is-a-clear-error': 'what needs a node answers with a Status',
} as const;

const fairTurnsRounds = Number(process.env.KAPSTAN_FAIR_TURNS ?? 1);
/** What came of each check, in each of its rounds. */
const outcomes = new Map<string, string[]>();
let server: ServeProcess;
let missing: string | undefined;
let program: ChildProcess | undefined;

beforeAll(async () => {
  const programs = await buildGoPrograms();
  if (typeof programs === 'string') {
    missing = programs;
    return;
  }
  server = await startServeProcess({ flags: ['--control-loops=none', '--disable-admission-plugins=ServiceAccount'] });
  const rounds = ['-fair-turns', String(fairTurnsRounds)];
  const args = ['-kubeconfig', server.kubeconfig, '-user-token', server.userToken, ...rounds];
  const child = spawn(programs.peers, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  program = child;
  for await (const line of createInterface({ input: child.stdout })) {
    const [, name, reason] = /^(?:ok|FAIL) ([^ :]+)(?::| \d+ ms)(.*)$/.exec(line) ?? ['', line, line];
    const outcome = line.startsWith('ok ') ? 'ok' : (reason ?? line);
    outcomes.set(name ?? line, [...(outcomes.get(name ?? line) ?? []), outcome]);
  }
}, buildTimeoutMs);

afterAll(async () => {
  program?.kill();
  await server?.close();
});

describe('client-go', () => {
  beforeEach((context) => {
    if (missing !== undefined) context.skip(missing);
  });

  for (const [name, sentence] of Object.entries(sentences))
    it(`${sentence} (${name})`, () => {
      const rounds = name === 'fair-turns' ? fairTurnsRounds : 1;
      expect(outcomes.get(name) ?? 'the program ended before this check').toEqual(Array(rounds).fill('ok'));
    });

  it('makes no check without a sentence here', () => {
    expect([...outcomes.keys()].filter((name) => !Object.hasOwn(sentences, name))).toEqual([]);
  });
});
