// The measured server: a control plane from sources in its own process, which reports the CPU cost of its main thread.
// growth-server.ts starts it with source-hooks. `begin` and `end` mark one measurement; `used` collects garbage first.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { schemaResource } from '@kapstan/apiserver';
import { TestIssuer } from '@kapstan/apiserver/testing';
import { admit, startControlPlane } from '@kapstan/control-plane';
import { ControllerRevision } from '@kapstan/kinds/apps/v1';
import { otherThreadsCpuMs, threadCpuMs } from '../../../bench/parts/turns.mjs';
import { TurnProfile } from './turn-profile.mjs';

/** Time between two looks. The CPU between two looks counts as one turn. */
const lookMs = 1;
/** Time between two looks at the other threads, which cost more. */
const lookAtOthersMs = 100;
/** Turns of the event loop for which work may continue after the answer, such as writes and answers under way. */
const turnsToSettle = 4;

const [dataDir, outsideIssuer] = process.argv.slice(2);
const { issuer, key, jwt } = JSON.parse(outsideIssuer);
const issuing = await TestIssuer.start();
issuing.keys = [{ jwk: { ...key, kid: 'growth' } }];
const configFile = join(dataDir, 'authentication.json');
await writeFile(
  configFile,
  JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthenticationConfiguration',
    jwt: [
      {
        issuer: {
          url: issuer,
          audiences: ['growth'],
          discoveryURL: `${issuing.url}/of/${encodeURIComponent(issuer)}`,
          certificateAuthority: issuing.ca,
        },
        ...jwt,
      },
    ],
  }),
);
/** Costs next to nothing, so that the work around it is measured. */
const convert = (object, { toApiVersion }) => ({ ...object, apiVersion: toApiVersion });
/**
 * Records everything in one namespace; recorded answers lose their managed fields, and the largest events are
 * truncated.
 */
const audit = {
  policy: `apiVersion: audit.k8s.io/v1
kind: Policy
omitManagedFields: true
rules: [{level: RequestResponse, namespaces: [recorded]}, {level: None}]`,
  path: join(dataDir, 'audit.log'),
  truncation: { maxEventBytes: 4 * 1024 * 1024, maxBatchBytes: 10 * 1024 * 1024 },
};
const item = {
  type: 'object',
  properties: { n: { type: 'integer', minimum: 0 }, port: { type: 'integer', default: 1 } },
};
/** Its rule costs nothing, because a function of the program runs in one turn. */
const ownKind = schemaResource({
  ...{ group: 'own.growth.example.com', version: 'v1', kind: 'Own', plural: 'owns' },
  schema: {
    type: 'object',
    properties: { spec: { type: 'object', properties: { list: { type: 'array', items: item } } } },
  },
  validate: () => [],
});
const controlPlane = await startControlPlane({
  kinds: [ownKind],
  audit,
  ...{ dataDir, controlLoops: [], port: 0, bindAddress: '127.0.0.1' },
  conversions: { 'converteds.growth.example.com': convert },
  registersApiServices: true,
  authorization: ['Node', 'RBAC'],
  // A function for the objects of one case, which hardly any other case has.
  admission: [admit(ControllerRevision, { mutate: () => undefined, validate: () => undefined })],
  outsideIdentity: { configFile },
});

let last = threadCpuMs();
let began = last;
let othersBegan = new Map();
/** CPU of each other thread since the measurement began. */
let othersMs = new Map();
let turnMs = 0;
let timer;
let othersTimer;
/**
 * Turns that cost at least this much are printed with the functions that ran in them. Printing costs some of the time
 * that it measures.
 */
const leastPrintedMs = Number(process.env.KAPSTAN_GROWTH_PROFILE ?? 0);
const profile = leastPrintedMs > 0 ? new TurnProfile() : undefined;

function look() {
  const now = threadCpuMs();
  turnMs = Math.max(turnMs, now - last);
  profile?.look(now - last);
  last = now;
}

/** Looks at the other threads, of which one may end before the measurement does. */
function lookAtOthers() {
  for (const [thread, ms] of otherThreadsCpuMs())
    othersMs.set(thread, Math.max(othersMs.get(thread) ?? 0, ms - (othersBegan.get(thread) ?? 0)));
}

const messages = {
  begin: () => {
    // A young collection only: an old one takes longer than most requests.
    globalThis.gc({ type: 'minor' });
    turnMs = 0;
    profile?.start();
    othersBegan = otherThreadsCpuMs();
    othersMs = new Map();
    othersTimer = setInterval(lookAtOthers, lookAtOthersMs);
    last = threadCpuMs();
    began = last;
    timer = setInterval(look, lookMs);
    return {};
  },
  end: async () => {
    for (let turn = 0; turn < turnsToSettle; turn++) await new Promise((resolve) => setImmediate(resolve));
    look();
    clearInterval(timer);
    clearInterval(othersTimer);
    lookAtOthers();
    profile?.stop(leastPrintedMs);
    return { cpuMs: last - began, turnMs, otherCpuMs: Math.max(0, ...othersMs.values()) };
  },
  used: () => {
    globalThis.gc();
    const { heapUsed, external } = process.memoryUsage();
    return { usedMb: (heapUsed + external) / 1048576 };
  },
};

process.on('message', async (name) => process.send(await messages[name]()));
process.on('disconnect', () => controlPlane.close().then(() => process.exit()));
const { url, token, caCert } = controlPlane;
process.send({ url, token, caCert });
