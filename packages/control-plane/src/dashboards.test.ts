// Compares the dashboards for Grafana with the metrics of a manager and a server. Prometheus' own grammar reads the names and labels in
// their queries.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { silentLogger } from '@kapstan/api';
import { Client } from '@kapstan/client';
import { controller, Manager } from '@kapstan/controller';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { parser } from '@prometheus-io/lezer-promql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startControlPlane } from './control-plane.ts';

interface Dashboard {
  readonly templating: { readonly list: readonly { readonly type: string; readonly query: string }[] };
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
}

const root = fileURLToPath(new URL('../../..', import.meta.url));
// The script is plain JavaScript, because people run it directly.
const script = new URL('../../../scripts/dashboards.mjs', import.meta.url).href;
const { dashboards } = (await import(script)) as {
  readonly dashboards: readonly { readonly file: string; readonly text: string }[];
};
const dashboardOf = (file: string): Dashboard => JSON.parse(readFileSync(join(root, file), 'utf8')) as Dashboard;
/** Labels that Prometheus adds itself. */
const ofTargets = ['job', 'instance'];

interface Selected {
  readonly metric: string;
  readonly labels: readonly string[];
}

/** Returns the metric of a query, and all labels that it names. Throws for text that is not PromQL. */
function selectedBy(expr: string): Selected {
  const query = expr.replaceAll('$__rate_interval', '5m');
  const metrics: string[] = [];
  const labels: string[] = [];
  parser.parse(query).iterate({
    enter: ({ name, type, from, to }) => {
      if (type.isError) throw new SyntaxError(`no PromQL: ${query}`);
      if (name === 'Identifier') metrics.push(query.slice(from, to));
      if (name === 'LabelName') labels.push(query.slice(from, to));
    },
  });
  expect(metrics, query).toHaveLength(1);
  return { metric: metrics[0] ?? '', labels: labels.filter((label) => !ofTargets.includes(label)) };
}

/** Labels of the series of each name in a text for Prometheus. */
function seriesOf(text: string): ReadonlyMap<string, ReadonlySet<string>> {
  const series = new Map<string, Set<string>>();
  for (const line of text.split('\n')) {
    const [, name, labels = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    if (name === undefined) continue;
    const known = series.get(name) ?? new Set();
    for (const [, label = ''] of labels.matchAll(/([a-zA-Z_]\w*)="/g)) known.add(label);
    series.set(name, known);
  }
  return series;
}

const shown = new Map<string, ReadonlyMap<string, ReadonlySet<string>>>();
const [ofControllers, ofServer] = [
  'packages/controller/dashboards/controllers.json',
  'packages/control-plane/dashboards/server.json',
] as const;

beforeAll(async () => {
  const directory = mkdtempSync(join(tmpdir(), 'kapstan-dashboards-'));
  const plane = await startControlPlane({ dataDir: join(directory, 'data') });
  const client = new Client({ server: plane.url, tls: { ca: plane.caCert }, token: plane.token });
  let reconciled: () => void = () => undefined;
  const done = new Promise<void>((resolve) => {
    reconciled = resolve;
  });
  const one = controller(ConfigMap)
    .settings({ onOutcome: () => reconciled() })
    .reconcile(async () => undefined);
  const options = { client, metrics: { port: 0 }, leaderElection: { name: 'one' }, logger: silentLogger };
  const manager = new Manager([one], options);
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  await client.create(ConfigMap, { metadata: { name: 'a', namespace: 'default' } } as never);
  await done;
  const own = await fetch(`http://127.0.0.1:${manager.probePort}/metrics`);
  shown.set(ofControllers, seriesOf(await own.text()));
  shown.set(ofServer, seriesOf((await client.raw({ path: '/metrics' })).body));
  stop.abort();
  await running;
  await client.close();
  await plane.close();
  rmSync(directory, { recursive: true });
}, 60_000);
afterAll(() => shown.clear());

describe('the dashboards', () => {
  it('are what node scripts/dashboards.mjs writes', () => {
    expect(dashboards.map(({ file }) => file)).toEqual([ofControllers, ofServer]);
    for (const { file, text } of dashboards) expect(readFileSync(join(root, file), 'utf8')).toBe(text);
  });

  it.each([ofControllers, ofServer])('ask in %s only for names and labels that are shown', (file) => {
    const { panels, templating } = dashboardOf(file);
    const series = shown.get(file) ?? new Map<string, ReadonlySet<string>>();
    const missing: string[] = [];
    const check = (title: string, { metric, labels }: Selected): void => {
      const present = series.get(metric);
      if (present === undefined) missing.push(`${title}: ${metric}`);
      else
        missing.push(...labels.filter((label) => !present.has(label)).map((label) => `${title}: ${metric}{${label}}`));
    };
    for (const { title, targets = [] } of panels) for (const { expr } of targets) check(title, selectedBy(expr));
    for (const { type, query } of templating.list) {
      const [, metric = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(query) ?? [];
      if (type === 'query') check('a variable', { metric, labels: [label].filter((one) => !ofTargets.includes(one)) });
    }
    expect(missing).toEqual([]);
    expect(panels.flatMap(({ targets = [] }) => targets).length).toBeGreaterThan(15);
  });

  it('would be found wrong with a name, a label or a query that is wrong', () => {
    expect(selectedBy('sum by (verb) (rate(a_bucket{code="1",job="x"}[$__rate_interval]))')).toEqual({
      metric: 'a_bucket',
      labels: ['verb', 'code'],
    });
    expect(() => selectedBy('sum by (verb (a)')).toThrow(SyntaxError);
  });
});
