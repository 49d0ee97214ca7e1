// Draws the sections of an overview as tables.
import type {
  ElectionSection,
  QueueSection,
  RequestItem,
  RequestSection,
  SectionName,
  Sections,
  Some,
  WatcherSection,
} from '../src/overview.ts';
import { h, table } from './dom.ts';
import { bytes, count, duration, time } from './format.ts';
import { keyButton } from './keys.ts';

export const titles: Readonly<Record<SectionName, string>> = {
  informers: 'Informers',
  queues: 'Controllers',
  ownWrites: 'Own writes not yet seen',
  election: 'Leader election',
  loops: 'Control loops',
  caches: 'Caches',
  watchers: 'Watchers',
  requests: 'Requests',
  store: 'Store',
};

type Drawer<N extends SectionName> = (section: NonNullable<Sections[N]>) => readonly HTMLElement[];

const drawers: { readonly [N in SectionName]: Drawer<N> } = {
  informers: drawInformers,
  queues: ({ items, total }) => [...items.flatMap(drawQueue), ...rest(items, total)],
  ownWrites: drawOwnWrites,
  election: drawElection,
  loops: drawLoops,
  caches: drawCaches,
  watchers: drawWatchers,
  requests: drawRequests,
  store: ({ items }) =>
    items.map(({ name, numbers }) =>
      table(`Store ${name}`, Object.entries(numbers), [
        { title: 'What', cell: ([what]) => what },
        {
          title: 'Value',
          cell: ([what, value]) => (/bytes/i.test(what) ? bytes(value) : count(value)),
          isNumber: true,
        },
      ]),
    ),
};

export function drawSection<N extends SectionName>(name: N, section: NonNullable<Sections[N]>): readonly HTMLElement[] {
  return (drawers[name] as Drawer<N>)(section);
}

function rest(items: readonly unknown[], total: number): readonly HTMLElement[] {
  return total > items.length ? [h('p', { class: 'soft' }, `and ${count(total - items.length)} more`)] : [];
}

function problem(text: string | undefined): HTMLElement {
  return text === undefined ? h('span', {}, '–') : h('span', { class: 'bad' }, text);
}

function drawInformers({ items, total }: NonNullable<Sections['informers']>): readonly HTMLElement[] {
  const shown = table('What the caches follow', items, [
    { title: 'Kind', cell: ({ kind, namespace }) => (namespace === undefined ? kind : `${kind} in ${namespace}`) },
    { title: 'Phase', cell: ({ phase }) => h('span', { class: phase === 'live' ? 'good' : 'bad' }, phase) },
    { title: 'Since', cell: ({ since }) => time(since) },
    { title: 'Objects', cell: ({ objects }) => count(objects), isNumber: true },
    {
      title: 'Size (estimate)',
      cell: ({ estimatedBytes }) => (estimatedBytes === undefined ? '–' : bytes(estimatedBytes)),
      isNumber: true,
    },
    { title: 'Last heard from the server', cell: ({ heardAt }) => time(heardAt) },
    { title: 'Version', cell: ({ resourceVersion }) => resourceVersion },
    { title: 'Relists', cell: ({ relists }) => count(relists), isNumber: true },
    { title: 'Handler errors', cell: ({ handlerErrors }) => count(handlerErrors), isNumber: true },
    { title: 'Last error', cell: ({ lastError }) => problem(lastError) },
  ]);
  return [shown, ...rest(items, total)];
}

function drawQueue(queue: QueueSection): readonly HTMLElement[] {
  const { controller, kind, workers, runs, failures, waiting, running, delayed, failing, hidesKeys } = queue;
  const key = (item: { readonly key: string }): HTMLElement => keyButton(controller, item.key);
  const facts = [
    `${count(running.total)} of ${count(workers)} workers busy`,
    `${count(waiting.total)} waiting`,
    `${count(delayed.total)} to come back`,
    `${count(runs)} runs, ${count(failures)} failed`,
  ];
  const parts = [h('h3', {}, `${controller} (${kind})`), h('p', {}, `${facts.join(', ')}.`)];
  if (failing.total > 0) parts.push(h('p', { class: 'bad' }, `⚠ ${count(failing.total)} keys fail.`));
  if (hidesKeys) return [...parts, h('p', { class: 'soft' }, 'Its keys are names of Secrets, so they are not shown.')];
  const named = (what: string, { items, total }: Some<unknown>): string =>
    `${controller}: ${what}${total > items.length ? ` (${count(items.length)} of ${count(total)})` : ''}`;
  const since = { title: 'Since', cell: (item: { readonly since: number }) => time(item.since) };
  const due = { title: 'Comes back', cell: (item: { readonly dueAt?: number | undefined }) => time(item.dueAt) };
  if (failing.total > 0)
    parts.push(
      table(named('failing keys', failing), failing.items, [
        { title: 'Key', cell: key },
        { title: 'Failures in a row', cell: (item) => count(item.failures), isNumber: true },
        { title: 'Failing since', cell: (item) => time(item.since) },
        due,
        { title: 'Last error', cell: ({ error }) => problem(error) },
      ]),
    );
  if (running.total > 0)
    parts.push(table(named('in work', running), running.items, [{ title: 'Key', cell: key }, since]));
  if (waiting.total > 0)
    parts.push(table(named('waiting', waiting), waiting.items, [{ title: 'Key', cell: key }, since]));
  if (delayed.total > 0)
    parts.push(table(named('to come back', delayed), delayed.items, [{ title: 'Key', cell: key }, due]));
  return parts;
}

function drawOwnWrites({ items, total }: NonNullable<Sections['ownWrites']>): readonly HTMLElement[] {
  const shown = table('Writes that the caches do not show yet', items, [
    { title: 'Written by', cell: ({ writer }) => writer },
    { title: 'Kind', cell: ({ kind }) => kind },
    { title: 'Name', cell: ({ name }) => name || '(no name shown)' },
    { title: 'Version', cell: ({ resourceVersion }) => resourceVersion },
    { title: 'Since', cell: ({ since }) => time(since) },
  ]);
  return [shown, ...rest(items, total)];
}

function drawElection({ lease, identity, leader, isLeader, renewedAt }: ElectionSection): readonly HTMLElement[] {
  const holder = leader === '' ? 'nobody, as far as is known' : leader;
  const parts = [h('p', {}, isLeader ? 'This process leads.' : 'This process does not lead.')];
  parts.push(h('p', {}, `Lease ${lease}, held by ${holder}. This process is ${identity}.`));
  if (renewedAt !== undefined) parts.push(h('p', {}, 'Renewed ', time(renewedAt)));
  return parts;
}

function drawLoops({ items, total }: NonNullable<Sections['loops']>): readonly HTMLElement[] {
  const loops = table('What the server runs by itself', items, [
    { title: 'Loop', cell: ({ name }) => name },
    { title: 'Phase', cell: ({ phase }) => h('span', { class: phase === 'running' ? 'good' : 'bad' }, phase) },
    { title: 'Restarts', cell: ({ restarts }) => count(restarts), isNumber: true },
    { title: 'Last error', cell: ({ lastError }) => problem(lastError) },
  ]);
  const rows = items.flatMap(({ name, queues }) => queues.map((queue) => ({ loop: name, ...queue })));
  const queues = table('Their queues', rows, [
    { title: 'Loop', cell: ({ loop }) => loop },
    { title: 'Queue', cell: ({ name }) => name },
    { title: 'Waiting', cell: ({ waiting }) => count(waiting), isNumber: true },
    { title: 'In work', cell: ({ running }) => count(running), isNumber: true },
    { title: 'Longest run since', cell: ({ runningSince }) => time(runningSince) },
    { title: 'To come back', cell: ({ delayed }) => count(delayed), isNumber: true },
    { title: 'Next comes back', cell: ({ nextDueAt }) => time(nextDueAt) },
    { title: 'Runs', cell: ({ runs }) => count(runs), isNumber: true },
    { title: 'Failed', cell: ({ failures }) => count(failures), isNumber: true },
  ]);
  return [loops, ...rest(items, total), queues];
}

function drawCaches({ items, total }: NonNullable<Sections['caches']>): readonly HTMLElement[] {
  const shown = table('Watch caches by resource, the largest first', items, [
    { title: 'Resource', cell: ({ resource }) => resource },
    { title: 'State', cell: ({ state }) => h('span', { class: state === 'ready' ? 'good' : 'bad' }, state) },
    { title: 'Objects', cell: ({ objects }) => count(objects), isNumber: true },
    { title: 'Stored', cell: ({ storedBytes }) => bytes(storedBytes), isNumber: true },
    { title: 'Revision', cell: ({ revision }) => count(revision), isNumber: true },
    {
      title: 'History',
      cell: ({ history, historyCapacity }) => `${count(history)} of ${count(historyCapacity)}`,
      isNumber: true,
    },
    { title: 'Watchers', cell: ({ watchers }) => count(watchers), isNumber: true },
    { title: 'Catching up', cell: ({ catchingUp }) => count(catchingUp), isNumber: true },
    { title: 'Backlog', cell: ({ backlog }) => count(backlog), isNumber: true },
    { title: 'Waiting reads', cell: ({ waitingReads }) => count(waitingReads), isNumber: true },
    { title: 'Last error', cell: ({ lastError }) => problem(lastError) },
  ]);
  return [shown, ...rest(items, total)];
}

function drawWatchers({ users, behind, ended }: WatcherSection): readonly HTMLElement[] {
  return [
    table('Watches by user', users.items, [
      { title: 'User', cell: ({ user }) => user },
      { title: 'Watches', cell: ({ watches }) => count(watches), isNumber: true },
      { title: 'Events waiting', cell: ({ waitingEvents }) => count(waitingEvents), isNumber: true },
      { title: 'Bytes waiting', cell: ({ waitingBytes }) => bytes(waitingBytes), isNumber: true },
    ]),
    ...rest(users.items, users.total),
    table('Watches that are behind', behind.items, [
      { title: 'User', cell: ({ user }) => user },
      { title: 'Resource', cell: ({ resource }) => resource },
      { title: 'Events waiting', cell: ({ waitingEvents }) => count(waitingEvents), isNumber: true },
      { title: 'Bytes waiting', cell: ({ waitingBytes }) => bytes(waitingBytes), isNumber: true },
      { title: 'Takes nothing since', cell: ({ blockedAt }) => time(blockedAt) },
    ]),
    ...rest(behind.items, behind.total),
    h('p', {}, `${count(ended)} watches were ended because their clients read too slowly.`),
  ];
}

function drawRequests({ underWay, slow }: RequestSection): readonly HTMLElement[] {
  const columns = [
    { title: 'Verb', cell: ({ verb }: RequestItem) => verb },
    { title: 'Resource', cell: ({ resource }: RequestItem) => resource },
    { title: 'Object', cell: ({ namespace, name }: RequestItem) => [namespace, name].filter(Boolean).join('/') || '–' },
    { title: 'User', cell: ({ user }: RequestItem) => user },
    { title: 'Began', cell: ({ startedAt }: RequestItem) => time(startedAt) },
    { title: 'Steps', cell: ({ steps }: RequestItem) => steps.map(stepText).join(', ') },
  ];
  const ended = [
    { title: 'Took', cell: ({ durationMs = 0 }: RequestItem) => duration(durationMs), isNumber: true },
    { title: 'Status', cell: ({ status }: RequestItem) => String(status), isNumber: true },
  ];
  return [
    table('Under way, the longest first', underWay.items, columns),
    ...rest(underWay.items, underWay.total),
    table('Slow ones (half a second or more), the last one first', slow.items, [...columns, ...ended]),
    h('p', { class: 'soft' }, `${count(slow.total)} since the start.`),
  ];
}

function stepText({ step, durationMs }: RequestItem['steps'][number]): string {
  return `${step} ${durationMs === undefined ? '…' : duration(durationMs)}`;
}
