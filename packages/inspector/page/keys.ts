// Shows single keys: a search over the keys of a controller, and all data about one of them.
import type {
  KeyDocument,
  KeyList,
  KeySummary,
  RunItem,
  RunWrite,
  WakeCause,
  WakeCauses,
} from '../src/run-documents.ts';
import { byId, h, replace, table } from './dom.ts';
import { count, duration, time } from './format.ts';
import { read } from './stream.ts';

/** Returns a button that opens the data about a key. */
export function keyButton(controller: string, key: string): HTMLElement {
  const open = (): void => void openKey(controller, key);
  return h('button', { class: 'link', type: 'button', click: open, 'data-focus': `${controller} ${key}` }, key);
}

async function openKey(controller: string, key: string): Promise<void> {
  const dialog = byId('key') as HTMLDialogElement;
  byId('key-title').textContent = `${controller}: ${key}`;
  const body = byId('key-body');
  replace(body, h('p', {}, 'Loading …'));
  if (!dialog.open) dialog.showModal();
  try {
    const document = await read<KeyDocument>(`key?${new URLSearchParams({ controller, key })}`);
    replace(body, ...keyParts(document));
  } catch (error) {
    replace(body, h('p', { class: 'bad' }, (error as Error).message));
  }
}

function keyParts({
  state,
  since,
  dueAt,
  failures,
  pending,
  runs,
  controller,
  key,
}: KeyDocument): readonly HTMLElement[] {
  const parts = [h('p', {}, `State: ${state}`)];
  if (since !== undefined) parts.push(h('p', {}, 'Since: ', time(since)));
  if (dueAt !== undefined) parts.push(h('p', {}, 'Comes back: ', time(dueAt)));
  if (failures > 0) parts.push(h('p', { class: 'bad' }, `Failures in a row: ${count(failures)}`));
  if (pending.items.length > 0) parts.push(h('h3', {}, 'Woken by, for the next run'), causeList(pending));
  const runTable = table('Last runs', runs, [
    { title: 'Began', cell: ({ startedAt }) => time(startedAt) },
    { title: 'Took', cell: took, isNumber: true },
    { title: 'Try', cell: ({ attempt }) => count(attempt + 1), isNumber: true },
    { title: 'Result', cell: resultOf },
    { title: 'Woken by', cell: ({ causes }) => causeList(causes) },
    { title: 'Wrote', cell: writeList },
  ]);
  const reload = h(
    'button',
    { type: 'button', click: () => void openKey(controller, key), 'data-focus': 'reload' },
    'Reload',
  );
  return [...parts, runTable, h('p', {}, reload)];
}

function took({ durationMs }: Pick<RunItem, 'durationMs'>): string {
  return durationMs === undefined ? '…' : duration(durationMs);
}

const resultWords: Readonly<Record<RunItem['result'], string>> = {
  running: 'running',
  succeeded: 'succeeded',
  failed: 'failed',
  'gave up': 'gave up until the next change',
};

function resultOf({ result, error }: RunItem): HTMLElement {
  return h(
    'span',
    { class: error === undefined ? undefined : 'bad' },
    error === undefined ? resultWords[result] : `${resultWords[result]}: ${error}`,
  );
}

function list(items: readonly string[], more: number): HTMLElement {
  const shown = more > 0 ? [...items, `and ${count(more)} more`] : items;
  return h('ul', { class: 'plain' }, ...shown.map((item) => h('li', {}, item)));
}

function causeList({ items, more }: WakeCauses): HTMLElement {
  return items.length === 0
    ? h('span', { class: 'soft' }, more > 0 ? `${count(more)}, not kept` : 'not kept')
    : list(items.map(causeText), more);
}

const words: Readonly<Record<WakeCause['type'], string>> = {
  listed: 'was there at the start',
  added: 'added',
  updated: 'updated',
  deleted: 'deleted',
  resync: 'resync',
  trigger: 'a trigger of the program',
  retry: 'retry after a failure',
  requeueAfter: 'the last run asked for it (after a time)',
  requeue: 'the last run asked for it (at once)',
};

function causeText({ type, object }: WakeCause): string {
  if (object === undefined) return words[type];
  const { kind, namespace, name, oldVersion, newVersion, through } = object;
  const place = [namespace, name].filter((part) => part !== '').join('/') || '(no name shown)';
  const versions =
    oldVersion === '' || newVersion === '' ? `version ${newVersion || oldVersion}` : `${oldVersion} → ${newVersion}`;
  return `${kind} ${place} ${words[type]}, ${versions}${through === 'itself' ? '' : `, through its ${through}`}`;
}

function writeList({ writes: { items, more } }: RunItem): HTMLElement {
  // Earlier runs that succeeded keep only the number.
  return items.length === 0
    ? h('span', { class: 'soft' }, more > 0 ? `${count(more)}, not kept` : 'nothing')
    : list(items.map(writeText), more);
}

function writeText({ verb, kind, name, subresource, isDryRun, resourceVersion, error, durationMs }: RunWrite): string {
  const what = `${verb} ${kind}${subresource === undefined ? '' : `/${subresource}`} ${name || '(no name shown)'}`;
  const result =
    error ??
    (durationMs === undefined
      ? 'under way'
      : `ok${resourceVersion === undefined ? '' : `, version ${resourceVersion}`}`);
  return `${what}${isDryRun ? ' (dry run)' : ''}: ${result}`;
}

/** Returns the form that finds keys, with its results. */
export function keySearch(controllers: readonly string[]): HTMLElement {
  const results = h('div', { 'aria-live': 'polite' });
  const controller = h('select', { name: 'controller' }, ...controllers.map((name) => h('option', {}, name)));
  const states = ['any', 'failing', 'running', 'waiting', 'delayed'].map((name) => h('option', {}, name));
  const state = h('select', { name: 'state' }, ...states);
  const search = h('input', { name: 'search', type: 'search', autocomplete: 'off', spellcheck: 'false' });
  const submit = (event: Event): void => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget as HTMLFormElement);
    const query = new URLSearchParams();
    for (const [name, value] of fields) if (value !== '' && value !== 'any') query.set(name, String(value));
    void find(query, results);
  };
  const label = (text: string, field: HTMLElement): HTMLElement => h('label', {}, text, field);
  const fields = [label('Controller', controller), label('State', state), label('Key contains', search)];
  const form = h('form', { class: 'find', submit, role: 'search' }, ...fields, h('button', {}, 'Find keys'));
  return h('div', {}, form, results);
}

async function find(query: URLSearchParams, results: HTMLElement, before: readonly KeySummary[] = []): Promise<void> {
  try {
    const page = await read<KeyList>(`keys?${query}`);
    // The first pages go, so that the table stays short.
    const items = [...before, ...page.items].slice(-200);
    const shown = table(`${count(items.length)} of ${count(page.total)} keys`, items, [
      { title: 'Key', cell: ({ key }) => keyButton(page.controller, key) },
      { title: 'State', cell: (item) => item.state },
      { title: 'Failures in a row', cell: ({ failures }) => count(failures), isNumber: true },
      { title: 'Last run', cell: ({ lastRun }) => time(lastRun?.startedAt) },
      { title: 'Took', cell: ({ lastRun }) => (lastRun === undefined ? '–' : took(lastRun)), isNumber: true },
      { title: 'Result', cell: ({ lastRun }) => (lastRun === undefined ? '–' : resultWords[lastRun.result]) },
    ]);
    const next = new URLSearchParams(query);
    next.set('continue', page.continue ?? '');
    const more = h(
      'button',
      { type: 'button', click: () => void find(next, results, items), 'data-focus': 'more' },
      'More keys',
    );
    replace(results, ...(page.continue === undefined ? [shown] : [shown, more]));
  } catch (error) {
    replace(results, h('p', { class: 'bad' }, (error as Error).message));
  }
}
