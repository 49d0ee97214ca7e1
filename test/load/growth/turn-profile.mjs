// TurnProfile finds the functions that ran in the longest turn of a measurement. server.mjs prints it with
// KAPSTAN_GROWTH_PROFILE=1.
import { Session } from 'node:inspector';

const sampleUs = 200;
/** Frames that took a smaller part of the turn are left out. */
const leastPart = 0.12;

export class TurnProfile {
  #session = new Session();
  #looks = [];

  start() {
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.setSamplingInterval', { interval: sampleUs });
    this.#session.post('Profiler.start');
    this.#looks = [{ atUs: nowUs(), cpuMs: 0 }];
  }

  look(cpuMs) {
    this.#looks.push({ atUs: nowUs(), cpuMs });
  }

  /** Prints the turn if it took more CPU than this, in milliseconds. */
  stop(leastMs) {
    this.#session.post('Profiler.stop', (error, result) => {
      if (error) throw error;
      const longest = this.#looks.reduce(
        (most, look, index) => (look.cpuMs > this.#looks[most].cpuMs ? index : most),
        0,
      );
      const { cpuMs, atUs } = this.#looks[longest];
      if (cpuMs >= leastMs) print(result.profile, { cpuMs, fromUs: this.#looks[longest - 1].atUs, toUs: atUs });
    });
    this.#session.disconnect();
    this.#session = new Session();
  }
}

function nowUs() {
  return Number(process.hrtime.bigint() / 1000n);
}

function print({ nodes, samples, timeDeltas, startTime }, { cpuMs, fromUs, toUs }) {
  const byId = new Map(nodes.map((node) => [node.id, { ...node, us: 0 }]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  let atUs = startTime;
  let wholeUs = 0;
  for (const [index, id] of samples.entries()) {
    atUs += timeDeltas[index];
    if (atUs < fromUs || atUs > toUs) continue;
    const spentUs = timeDeltas[index];
    wholeUs += spentUs;
    for (let at = id; at !== undefined; at = parents.get(at)) byId.get(at).us += spentUs;
  }
  const lines = [`a turn of ${cpuMs.toFixed(0)} ms CPU, ${((toUs - fromUs) / 1000).toFixed(0)} ms in all:`];
  const walk = (id, depth) => {
    const { callFrame, us, children = [] } = byId.get(id);
    if (us < wholeUs * leastPart) return;
    const place = `${callFrame.url.split('/').slice(-2).join('/')}:${callFrame.lineNumber + 1}`;
    lines.push(`${' '.repeat(depth)}${(us / 1000).toFixed(1)} ${callFrame.functionName} ${place}`);
    for (const child of [...children].sort((a, b) => byId.get(b).us - byId.get(a).us)) walk(child, depth + 1);
  };
  walk(nodes[0].id, 0);
  console.log(lines.join('\n'));
}
