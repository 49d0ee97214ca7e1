// Replays the recorded transcripts of a real kube-apiserver 1.36 against `kapstan serve` on one store: golden.test.ts
// uses the embedded one, golden.etcd.test.ts an etcd. A file must pass, or be listed in not-yet.json with a reason; a
// listed file that passes must leave the list.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { type ServeProcess, startServeProcess } from '../kapstan/serve-process.ts';

interface ReplayFile {
  readonly file: string;
  readonly skipped?: readonly string[];
  readonly steps: readonly { readonly name: string; readonly ok: boolean; readonly diffs?: readonly string[] }[];
}

/** Name → the reason why it does not pass yet. */
type Reasons = Readonly<Record<string, string>>;

interface NotYet {
  /** Minimum number of steps that must pass, over all files. It is only ever raised. */
  readonly minimumPassedSteps: number;
  /** Scenario files about features that do not exist here at all; they are not even replayed. */
  readonly notRun: Reasons;
  /** Scenario files of which some steps fail. */
  readonly files: Reasons;
  /** Scenario file → the steps of it that fail, by name. All others of the file must pass. */
  readonly steps: Readonly<Record<string, Reasons>>;
}

const golden = fileURLToPath(new URL('golden/', import.meta.url));
const command = fileURLToPath(new URL('../../packages/control-plane/bin/kapstan.js', import.meta.url));
const scenarios = readdirSync(`${golden}scenarios`).filter((name) => name.endsWith('.json'));
const notYet = JSON.parse(readFileSync(new URL('not-yet.json', import.meta.url), 'utf8')) as NotYet;

/**
 * Files that need a separate server: they compact the store, compare versions of bookmarks or lists, which rise with
 * all writes, or have a webhook for everything, which is called for all cluster-scoped objects.
 */
const alone = scenarios.filter((name) =>
  /"compact": ?true|"bookmarks": ?"keep"|"\*\/\*"|\$\{(lrv\d+)\}.*\$\{\1\}/s.test(
    readFileSync(`${golden}scenarios/${name}`, 'utf8'),
  ),
);

// Turns off the lease of APIServerIdentity, whose renewal every 10 s would raise versions that recorded steps compare, and the warnings
// about fields without effect, which a kube-apiserver does not have.
const quiet = ['--control-loops=none', '--feature-gates=APIServerIdentity=false', '--warn-without-effect=false'];

/** Files for a server with plug-ins that the common server is started without, each with the replayer's name for it. */
const otherPlugins: Readonly<Record<string, string>> = {
  'k-service-accounts.json': 'service-account-admission',
  'k-node-restriction.json': 'node-restriction',
};

function replay(server: ServeProcess, scenario: string): Promise<ReplayFile> {
  const args = [`${golden}replay.mjs`, '--server', server.url, '--token', server.adminToken, '--ca', server.caFile];
  args.push('--user-token', server.userToken, '--user-name', 'alice', '--json', `${golden}scenarios/${scenario}`);
  args.push('--compact-cmd', `${process.execPath} ${command} store compact --kubeconfig ${server.kubeconfig}`);
  const ability = otherPlugins[scenario];
  if (ability !== undefined) args.push('--with', ability);
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout) => {
      const line = stdout.trim();
      if (line === '') return reject(error ?? new Error('the replayer said nothing'));
      resolve((JSON.parse(line) as { files: ReplayFile[] }).files[0] as ReplayFile);
    });
  });
}

function titleOf(scenario: string): string {
  return `${scenario} ${scenario in notYet.files || scenario in notYet.notRun ? 'is not green yet' : 'is answered as recorded'}`;
}

function expectAsListed(scenario: string, result: ReplayFile): void {
  expect(result.skipped, 'the replayer skipped the file').toBeUndefined();
  const known = notYet.steps[scenario] ?? {};
  const failed = result.steps.filter((step) => !step.ok);
  const failures = failed
    .filter(({ name }) => !(name in known))
    .map((step) => `${step.name}: ${step.diffs?.slice(0, 3).join(' ; ')}`);
  const green = Object.keys(known).filter((name) => !failed.some((step) => step.name === name));
  expect(green, 'they have turned green: take them off not-yet.json').toEqual([]);
  if (scenario in notYet.files) expect(failures.length, 'it has turned green: take it off not-yet.json').not.toBe(0);
  else expect(failures.join('\n')).toBe('');
}

export interface ReplayStore {
  /** Flags that select the store. */
  readonly flags: readonly string[];
  /** Scenario file → the features that the store lacks for it. Those files are skipped. Default: none. */
  readonly cannot?: ReadonlyMap<string, string>;
}

function stepsOf(scenario: string): number {
  const { steps } = JSON.parse(readFileSync(`${golden}scenarios/${scenario}`, 'utf8')) as { readonly steps: unknown[] };
  return steps.length;
}

/** Registers the tests. `open` is called once, when the server is started. */
export function replayTranscripts(open: () => Promise<ReplayStore>): void {
  let server: ServeProcess;
  let store: ReplayStore;
  const totals = { passed: 0, all: 0, skipped: 0 };
  beforeAll(async () => {
    store = await open();
    const flags = [...quiet, '--disable-admission-plugins=ServiceAccount', ...store.flags];
    server = await startServeProcess({ flags });
  });
  afterAll(() => server?.close());

  const check = async (scenario: string, context: TestContext, at = server): Promise<void> => {
    if (scenario in notYet.notRun) context.skip(notYet.notRun[scenario]);
    const reason = store.cannot?.get(scenario);
    if (reason !== undefined) {
      totals.skipped += stepsOf(scenario);
      context.skip(reason);
    }
    const result = await replay(at, scenario);
    totals.all += result.steps.length;
    totals.passed += result.steps.filter((step) => step.ok).length;
    expectAsListed(scenario, result);
  };

  it('lists only scenarios that exist, each with a reason', () => {
    const steps = Object.entries(notYet.steps).flatMap(([file, reasons]) =>
      Object.values(reasons).map((reason) => [file, reason] as const),
    );
    for (const [file, reason] of [...Object.entries(notYet.notRun), ...Object.entries(notYet.files), ...steps]) {
      expect(scenarios, `${file} is listed in not-yet.json`).toContain(file);
      expect(reason.length, `${file} needs a reason`).toBeGreaterThan(10);
    }
  });

  // Files do not touch each other's objects, and mostly wait for events that must not come.
  describe('side by side', () => {
    for (const scenario of scenarios.filter((name) => !alone.includes(name) && !(name in otherPlugins))) {
      it.concurrent(titleOf(scenario), (context) => check(scenario, context));
    }
  });

  describe('one after the other', () => {
    for (const scenario of alone) it(titleOf(scenario), (context) => check(scenario, context));
  });

  describe('on a server with other plug-ins', () => {
    let other: ServeProcess;
    beforeAll(async () => {
      other = await startServeProcess({
        flags: [...quiet, '--enable-admission-plugins=NodeRestriction', ...store.flags],
      });
    });
    afterAll(() => other?.close());
    for (const scenario of Object.keys(otherPlugins))
      it(titleOf(scenario), (context) => check(scenario, context, other));
  });

  it('passes at least as many steps as it did before', () => {
    console.log(`golden: ${totals.passed} of ${totals.all} steps pass`);
    expect(totals.passed).toBeGreaterThanOrEqual(notYet.minimumPassedSteps - totals.skipped);
  });
}
