// GETs one small object again and again, to measure how long others wait while a load runs. Started by prober.mjs as
// its own process, because the load's event loop is busy.
import { httpCaller } from './http-caller.mjs';

const intervalMs = 20;
const [target, path] = process.argv.slice(2);
const { call, close } = httpCaller(JSON.parse(target), 1);
let latencies = [];
let isOn = false;
let idle = Promise.resolve();

async function probe() {
  while (isOn) {
    const begin = performance.now();
    await call('GET', path);
    latencies.push(performance.now() - begin);
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
  }
}

process.on('message', async (order) => {
  if (order === 'begin') {
    latencies = [];
    isOn = true;
    idle = probe();
    process.send('begun');
    return;
  }
  isOn = false;
  await idle;
  process.send(latencies);
});
process.on('disconnect', close);
await call('GET', path);
process.send('ready');
