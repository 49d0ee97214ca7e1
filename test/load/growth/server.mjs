// The measured server: a control plane from sources in a process of its own, which tells what its main thread has cost. Started
// with source-hooks by growth-server.ts; `begin` and `end` are the marks of one measurement, `heap` collects first.
import { startControlPlane } from '@kapstan/control-plane';
import { threadCpuMs } from '../../../bench/parts/turns.mjs';
import { TurnProfile } from './turn-profile.mjs';

/** Time between two looks: each counts as a turn what came since the one before. */
const lookMs = 1;
/** How long others (writes on their way, answers) may still cost something after the answer, in turns of the event loop. */
const turnsToSettle = 4;

const [dataDir] = process.argv.slice(2);
const controlPlane = await startControlPlane({ dataDir, controlLoops: [], port: 0, bindAddress: '127.0.0.1' });

let last = threadCpuMs();
let began = last;
let turnMs = 0;
let timer;
/** Turns that took as much are printed with what ran in them. It costs some of the time which it measures. */
const leastPrintedMs = Number(process.env.KAPSTAN_GROWTH_PROFILE ?? 0);
const profile = leastPrintedMs > 0 ? new TurnProfile() : undefined;

function look() {
  const now = threadCpuMs();
  turnMs = Math.max(turnMs, now - last);
  profile?.look(now - last);
  last = now;
}

const messages = {
  begin: () => {
    // A young collection: an old one takes longer than most requests.
    globalThis.gc({ type: 'minor' });
    turnMs = 0;
    profile?.start();
    last = threadCpuMs();
    began = last;
    timer = setInterval(look, lookMs);
    return {};
  },
  end: async () => {
    for (let turn = 0; turn < turnsToSettle; turn++) await new Promise((resolve) => setImmediate(resolve));
    look();
    clearInterval(timer);
    profile?.stop(leastPrintedMs);
    return { cpuMs: last - began, turnMs };
  },
  heap: () => {
    globalThis.gc();
    return { heapMb: process.memoryUsage().heapUsed / 1048576, rssMb: process.memoryUsage().rss / 1048576 };
  },
};

process.on('message', async (name) => process.send(await messages[name]()));
process.on('disconnect', () => controlPlane.close().then(() => process.exit()));
const { url, token, caCert } = controlPlane;
process.send({ url, token, caCert });
