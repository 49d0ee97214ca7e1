// Answers in each form: objects of many members that are read, listed and created as indented JSON, YAML, protobuf and Tables.
import {
  configMap,
  configMaps,
  environment,
  type GrowthCase,
  type GrowthRequest,
  members,
  pod,
  podOfEnv,
  pods,
  times,
} from '../growth-case.ts';

const yaml = 'application/yaml';
const protobuf = 'application/vnd.kubernetes.protobuf';
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';

interface Form {
  readonly name: string;
  readonly accept: string;
  readonly query?: string;
}

const forms: readonly Form[] = [
  { name: 'indented', accept: 'application/json', query: '?pretty=true' },
  { name: 'as YAML', accept: yaml },
  { name: 'as protobuf', accept: protobuf },
  { name: 'as a Table with its objects', accept: table, query: '?includeObject=Object' },
];

interface Shown {
  readonly what: string;
  readonly full: number;
  readonly path: string;
  body(n: number): object;
}

const shown: readonly Shown[] = [
  { what: 'many members', full: 80_000, path: configMaps, body: (n) => configMap({ data: members(n, () => 'x') }) },
  {
    what: 'one long text',
    full: 1_000_000,
    path: configMaps,
    body: (n) => configMap({ data: { k: 'x y\n'.repeat(n / 5) } }),
  },
  {
    ...{ what: 'many variables', full: 45_000, path: pods },
    body: podOfEnv,
  },
  {
    ...{ what: 'many containers with variables', full: 250, path: pods },
    body: (n) => pod({ containers: times(n, (i) => ({ name: `c${i}`, image: 'i', env: environment(160) })) }),
  },
];

function casesOf({ what, full, path, body }: Shown, { name, accept, query = '' }: Form): readonly GrowthCase[] {
  const made = [`${path}/growth`];
  const post = (n: number): GrowthRequest => ({ method: 'POST', path, body: body(n) });
  const reads = (verb: string, from: string): GrowthCase => ({
    ...{ name: `answer: a ${verb} of ${what}, ${name}`, full, made, codes: [200] },
    prepare: (n) => [post(n)],
    request: () => ({ method: 'GET', path: `${from}${query}`, accept }),
  });
  return [
    reads('GET', `${path}/growth`),
    reads('list', path),
    {
      ...{ name: `answer: a create of ${what}, ${name}`, full, made, codes: [201, 422] },
      request: (n) => ({ ...post(n), path: `${path}${query}`, accept }),
    },
  ];
}

export const answerCases: readonly GrowthCase[] = shown.flatMap((each) => forms.flatMap((form) => casesOf(each, form)));
