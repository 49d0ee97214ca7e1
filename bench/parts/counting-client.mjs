// One client of contention.mjs: GETs a ConfigMap, adds one to its number and PUTs it back, over its own connection.
//   argv: {"url","token","ca"} as JSON, path of the ConfigMap, number at which the count ends, pause after a conflict in ms
import { Agent, request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';

const [server, path, total, pauseMs] = [JSON.parse(process.argv[2]), ...process.argv.slice(3)];
const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: server.ca });

function call(method, body) {
  const headers = { authorization: `Bearer ${server.token}`, accept: 'application/json' };
  if (body !== undefined) {
    headers['content-type'] = 'application/json';
    headers['content-length'] = Buffer.byteLength(body);
  }
  return new Promise((resolve, reject) => {
    const sent = request(`${server.url}${path}`, { agent, method, headers }, (answer) => {
      const pieces = [];
      answer.on('data', (piece) => pieces.push(piece));
      answer.on('error', reject);
      answer.on('end', () => resolve({ status: answer.statusCode, text: Buffer.concat(pieces).toString() }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/**
 * Makes one GET and one PUT. Resolves to "won" with the number written, "lost" by a conflict, or "over" when the count
 * has ended.
 */
async function increment() {
  const { status, text } = await call('GET');
  if (status !== 200) throw new Error(`GET: status ${status}: ${text}`);
  const object = JSON.parse(text);
  const count = Number(object.data.count) + 1;
  if (count > Number(total)) return { outcome: 'over' };
  object.data.count = String(count);
  const answer = await call('PUT', JSON.stringify(object));
  if (answer.status === 200) return { outcome: 'won', count };
  if (answer.status !== 409) throw new Error(`PUT: status ${answer.status}: ${answer.text}`);
  return { outcome: 'lost' };
}

async function run() {
  const wins = [];
  let [conflicts, streak, worstStreak] = [0, 0, 0];
  for (;;) {
    const { outcome, count } = await increment();
    if (outcome === 'over') return { wins, conflicts, worstStreak };
    if (outcome === 'won') {
      wins.push(count);
      streak = 0;
      continue;
    }
    conflicts += 1;
    streak += 1;
    worstStreak = Math.max(worstStreak, streak);
    // Wait up to a tenth longer, as client-go's jitter does.
    if (Number(pauseMs) > 0) await sleep(Number(pauseMs) * (1 + Math.random() / 10));
  }
}

// Connect before the race begins.
await call('GET');
process.send({ isReady: true });
process.once('message', async () => {
  process.send(await run());
  process.disconnect();
  agent.destroy();
});
