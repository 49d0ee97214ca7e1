// Checks docs/parity/*.md against a report of notes-reporter.mjs: which rows name a test that ran and passed. Pure:
// texts in, findings out. Used by parity.mjs and test.mjs; docs/parity/README.md describes the format.

const header = ['Inventory item', 'Our test', 'Note'];
/**
 * Header of docs/parity/pains.md, whose rows are problems reported by users of other libraries, not items of an
 * inventory.
 */
const painsHeader = ['Pain', ...header.slice(1)];
const reasons = ['Go-only', 'by design', 'alpha gate', 'removed upstream', 'other issue'];
const maxRowsPerTest = 3;
/** Largest share of a file's items that may have no test. */
const maxWithout = 0.2;
/** A test function of Go, with the package that a row may put before it. */
const goTest = /(?:[\w./]+ )?\b(?:Run(?:Optional)?)?Test_?\w+/g;

/** Tests that need a program which a machine may lack. Without it they skip or are not even defined. */
const peers = [
  { files: /^packages\/storage-etcd\//, needs: 'etcd (set KAPSTAN_ETCD, or install etcd-server)' },
  { files: /^test\/e2e\//, needs: 'kubectl or Go on the PATH' },
];

const cellsOf = (line) =>
  line
    .replace(/^\||\|\s*$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
const isRule = (cells) => cells.every((cell) => /^:?-+:?$/.test(cell));

function parseTarget(text) {
  const plain = text.replace(/^`(.*)`$/, '$1');
  if (plain.startsWith('n/a')) {
    const reason = /^n\/a: (.*)$/.exec(plain)?.[1] ?? '';
    return reasons.includes(reason)
      ? { reason }
      : { problem: `"${plain}" gives none of the reasons ${reasons.join(', ')}` };
  }
  const [file, name] = [plain.split(' › ', 1)[0], plain.split(' › ').slice(1).join(' › ')];
  if (name === '') return { problem: `"${plain}" is neither "<file> › <test>" nor "n/a: <reason>"` };
  return { file, name };
}

/** Parses one Markdown file into rows and problems. A row is { item, where, file, name } or { item, where, reason }. */
export function parseTable(path, text) {
  const rows = [];
  const problems = [];
  const items = new Set();
  let inTable = false;
  for (const [index, line] of text.split('\n').entries()) {
    const where = `${path}:${index + 1}`;
    const cells = line.startsWith('|') ? cellsOf(line) : undefined;
    if (cells === undefined) inTable = false;
    else if (!inTable) {
      inTable = true;
      if (![header, painsHeader].some((names) => names.join('|') === cells.join('|')))
        problems.push(`${where}: a table begins with | ${header.join(' | ')} |`);
    } else if (!isRule(cells)) readRow(cells, where);
  }
  if (rows.length === 0 && problems.length === 0) problems.push(`${path}: has no rows`);
  return { rows, problems };

  function readRow(cells, where) {
    const [item = '', target = ''] = cells;
    if (cells.length !== header.length) problems.push(`${where}: has ${cells.length} columns, not ${header.length}`);
    else if (item === '') problems.push(`${where}: names no item`);
    else if (items.has(item)) problems.push(`${where}: ${item} has a row already`);
    else {
      items.add(item);
      const { problem, ...parsed } = parseTarget(target);
      if (problem === undefined) rows.push({ item, where, ...parsed });
      else problems.push(`${where}: ${item}: ${problem}`);
    }
  }
}

/**
 * Counts the items of a table. One row may hold several Go tests, and one Go test may have several rows; it is n/a when
 * all of them are.
 */
function countItems(rows) {
  const held = new Set();
  const missing = new Set();
  for (const { item, reason } of rows)
    for (const name of item.match(goTest) ?? [item]) (reason === undefined ? held : missing).add(name);
  const without = [...missing].filter((name) => !held.has(name)).length;
  return { all: held.size + without, without };
}

/** Indexes the report: "file › name" → states in which the test ended, and file → whether any of its tests ran. */
function indexOf(report) {
  const states = new Map();
  const ran = new Map();
  for (const test of report.tests) {
    const file = test.file.replace(/ \[[^\]]*\]$/, '');
    const id = `${file} › ${test.name}`;
    states.set(id, [...(states.get(id) ?? []), test.state]);
    ran.set(file, ran.get(file) === true || test.state !== 'skipped');
  }
  return { states, ran };
}

/** Returns the fault of a row, or the peer that it waits for, or neither when it holds. */
function judge(row, { states, ran }) {
  const seen = states.get(`${row.file} › ${row.name}`) ?? [];
  if (seen.some((state) => state === 'failed')) return { problem: 'failed' };
  if (seen.includes('passed')) return {};
  const peer = peers.find(({ files }) => files.test(row.file));
  // If any test of the file ran, the peer was there, so a test missing from the report does not exist.
  if (peer !== undefined && (seen.length > 0 || ran.get(row.file) === false)) return { waitsFor: peer.needs };
  return { problem: seen.length > 0 ? `did not pass: ${seen.join(', ')}` : 'is not a test of this run' };
}

/**
 * Judges all rows. `files` holds [path, text] of each table, `report` is the output of notes-reporter.mjs. Returns one
 * line per problem, the numbers of rows, and for each missing peer the number of rows that could not be checked.
 */
export function checkParity(files, report) {
  const index = indexOf(report);
  const problems = files.length === 0 ? ['no tables in docs/parity'] : [];
  const counts = { held: 0, without: 0 };
  const unseen = new Map();
  const uses = new Map();
  for (const [path, text] of files) {
    const parsed = parseTable(path, text);
    problems.push(...parsed.problems);
    counts.without += parsed.rows.filter((row) => row.reason !== undefined).length;
    const { all, without } = countItems(parsed.rows);
    if (without > 0 && without >= maxWithout * all)
      problems.push(`${path}: ${without} of ${all} items are n/a; fewer than 20 % may be`);
    for (const row of parsed.rows) if (row.reason === undefined) take(row);
  }
  return { problems, counts, unseen };

  function take(row) {
    const id = `${row.file} › ${row.name}`;
    const rows = (uses.get(id) ?? 0) + 1;
    uses.set(id, rows);
    if (rows > maxRowsPerTest) problems.push(`${row.where}: ${row.item}: ${id} holds ${maxRowsPerTest} rows already`);
    const { problem, waitsFor } = judge(row, index);
    if (problem !== undefined) problems.push(`${row.where}: ${row.item}: ${id}: ${problem}`);
    else if (waitsFor !== undefined) unseen.set(waitsFor, (unseen.get(waitsFor) ?? 0) + 1);
    else counts.held += 1;
  }
}

/** Returns the test files that the tables name. */
export function namedFiles(files) {
  const rows = files.flatMap(([path, text]) => parseTable(path, text).rows);
  return [...new Set(rows.flatMap((row) => (row.file === undefined ? [] : [row.file])))].sort();
}
