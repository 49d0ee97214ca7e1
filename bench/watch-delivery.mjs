// Measures the cost of the watch cache alone, without an engine, HTTP or an SDK: an event for each of its watchers (1,
// 100, 1,000; by node: 1,000 watches of which each event concerns one), and lists of 20,000 objects, now and in the
// past.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { everyField, everyLabel, parseFieldSelector } from '@kapstan/api';
import { Cacher } from '@kapstan/cacher';
import { Stored } from '@kapstan/storage';
import { figure } from './parts/figures.mjs';

const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 5);
const nodes = 1_000;

function getAttributes({ metadata, spec }) {
  const fields = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace,
    'spec.nodeName': spec.nodeName,
  };
  return { labels: metadata.labels ?? {}, fields };
}

function predicate(fields) {
  const selector = fields === undefined ? everyField : parseFieldSelector(fields);
  return { labels: everyLabel, fields: selector, getAttributes, limit: 0, continue: '', allowWatchBookmarks: false };
}

function stored(index, revision) {
  const name = `p${String(index).padStart(6, '0')}`;
  const metadata = { name, namespace: 'default', resourceVersion: String(revision) };
  return new Stored(`/registry/pods/default/${name}`, revision, { metadata, spec: { nodeName: `n${index % nodes}` } });
}

/** Opens a cacher over a storage of pods that only passes its events to the cache. */
async function openCacher(objects) {
  let revision = objects + 1;
  let feed;
  const storage = {
    supportsProgressRequests: true,
    getList: async () => ({
      resourceVersion: String(revision),
      items: Array.from({ length: objects }, (_, index) => stored(index, index + 1)),
      continue: '',
    }),
    watch: (_key, _options, sink) => {
      feed = sink;
      return { close: () => undefined };
    },
    requestWatchProgress: async () => undefined,
    currentResourceVersion: async () => revision,
    compactRevision: () => 0,
  };
  const options = { storage, resourcePrefix: '/pods', getAttributes, indexedFields: ['spec.nodeName'] };
  const cacher = new Cacher({ ...options, consistencyPeriodMs: 0 });
  cacher.start();
  await cacher.waitUntilReady();
  await nextTurn();
  const write = (index) => feed.onEvent({ type: 'MODIFIED', stored: stored(index % objects, ++revision) });
  return { cacher, write, revision: () => revision };
}

/** Waits, because the monitor uses its own timer. */
const settledTimers = () => new Promise((resolve) => setTimeout(resolve, 5));
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

function cpuUs() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** Returns the longest stall of the event loop during the work, in milliseconds. */
async function stallMs(work) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await settledTimers();
  await work();
  await settledTimers();
  delay.disable();
  return delay.max / 1e6;
}

async function deliver({ watchers, writes, fieldsOf, perEvent }) {
  const { cacher, write } = await openCacher(1_000);
  let delivered = 0;
  const sink = {
    onEvent: () => {
      delivered += 1;
    },
    onEnd: (error) => {
      throw error ?? new Error('a watch ended');
    },
  };
  const list = await cacher.getList('/registry/pods', {
    predicate: predicate(),
    recursive: true,
    resourceVersion: '0',
  });
  for (let index = 0; index < watchers; index += 1) {
    const options = { predicate: predicate(fieldsOf?.(index)), recursive: true, resourceVersion: list.resourceVersion };
    cacher.watch('/registry/pods', options, sink);
  }
  while (cacher.inspect().catchingUp > 0 || cacher.inspect().watchers < watchers) await nextTurn();
  await nextTurn();
  // Commits come in groups, so a turn has several events.
  const burst = async (count) => {
    for (let index = 0; index < count; index += 1) {
      write(index);
      if (index % 16 === 15) await nextTurn();
    }
    while (cacher.inspect().backlog > 0) await nextTurn();
  };
  await burst(Math.min(2_000, writes));
  delivered = 0;
  let used = 0;
  const stall = await stallMs(async () => {
    const before = cpuUs();
    await burst(writes);
    used = cpuUs() - before;
  });
  if (delivered !== writes * perEvent) throw new Error(`${delivered} events instead of ${writes * perEvent}`);
  await cacher.close();
  return { perDelivery: used / delivered, perEvent: used / writes, stall };
}

/** Reads all pages of 500 at a past revision. Resolves to the CPU of one page. */
async function pages(cacher, past, objects) {
  let token = '';
  let count = 0;
  let items = 0;
  let used = 0;
  const stall = await stallMs(async () => {
    const before = cpuUs();
    do {
      const at = token === '' ? { resourceVersion: String(past) } : {};
      const call = { predicate: { ...predicate(), limit: 500, continue: token }, recursive: true, ...at };
      const page = await cacher.getList('/registry/pods', call);
      token = page.continue;
      items += page.items.length;
      count += 1;
      await nextTurn();
    } while (token !== '');
    used = cpuUs() - before;
  });
  if (items !== objects) throw new Error(`${items} objects instead of ${objects}`);
  return { name: 'a page of 500, 10,000 changes ago', ms: used / 1_000 / count, stall };
}

async function lists() {
  const objects = 20_000;
  const { cacher, write, revision } = await openCacher(objects);
  const past = revision();
  for (let index = 0; index < 10_000; index += 1) write(index * 2);
  await nextTurn();
  const cases = [
    ['now', { resourceVersion: '0' }, undefined],
    ['by label', { resourceVersion: '0' }, 'metadata.name!=x'],
    ['10,000 changes ago', { resourceVersion: String(past), resourceVersionMatch: 'Exact' }, undefined],
  ];
  const results = [];
  for (const [name, at, fields] of cases) {
    const call = () => cacher.getList('/registry/pods', { predicate: predicate(fields), recursive: true, ...at });
    await call();
    let used = 0;
    const stall = await stallMs(async () => {
      const before = cpuUs();
      const { items } = await call();
      used = cpuUs() - before;
      if (items.length !== objects) throw new Error(`${items.length} objects instead of ${objects}`);
    });
    results.push({ name, ms: used / 1_000, stall });
  }
  results.push(await pages(cacher, past, objects));
  await cacher.close();
  return results;
}

const bench = 'watch-delivery';
const cases = [
  { what: '1 watch', watchers: 1, writes: 50_000, perEvent: 1 },
  { what: '100 watches', watchers: 100, writes: 20_000, perEvent: 100 },
  { what: '1,000 watches', watchers: 1_000, writes: 2_000, perEvent: 1_000 },
  {
    what: '1,000 watches by node',
    watchers: 1_000,
    writes: 50_000,
    perEvent: 1,
    fieldsOf: (i) => `spec.nodeName=n${i}`,
  },
];
for (const { what, ...call } of cases) {
  const results = [];
  for (let run = 0; run < runs; run += 1) results.push(await deliver(call));
  const of = (key) => results.map((one) => one[key]);
  figure({
    bench,
    what: `CPU per delivered event, ${what}, in the cache alone`,
    unit: 'us',
    samples: of('perDelivery'),
  });
  figure({ bench, what: `longest stall, ${what}, in the cache alone`, unit: 'ms', samples: of('stall') });
}
const measured = [];
for (let run = 0; run < runs; run += 1) measured.push(await lists());
for (const [index, { name }] of (measured[0] ?? []).entries()) {
  const samples = (key) => measured.map((one) => one[index][key]);
  figure({ bench, what: `list of 20,000 from the cache alone, ${name}: CPU`, unit: 'ms', samples: samples('ms') });
  figure({
    bench,
    what: `list of 20,000 from the cache alone, ${name}: longest stall`,
    unit: 'ms',
    samples: samples('stall'),
  });
}
