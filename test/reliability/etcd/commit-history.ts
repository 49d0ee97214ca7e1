// CommitHistory holds the requests of writers to an engine, their answers, and the observations of readers and
// watchers, and checks that all of it is one history. Filled by commit-load.ts; read by the tests of this folder.

/** A commit and its outcome: acknowledged at a revision, refused, or unknown because no answer came. */
export interface CommitRecord {
  /** A unique id, which is also the value that a put writes. */
  readonly id: string;
  readonly key: string;
  readonly type: 'put' | 'delete';
  readonly expectedRevision: number;
  readonly outcome:
    | { readonly type: 'acknowledged'; readonly revision: number }
    | { readonly type: 'refused' | 'unknown' };
}

/** A change as a watch reports it. */
export interface SeenChange {
  readonly revision: number;
  readonly key: string;
  readonly type: 'put' | 'delete';
  /** Present for a put. */
  readonly id?: string;
  /** Revision of the previous state. 0 = there was none; absent = the store no longer knows. */
  readonly previousRevision?: number;
}

/** The changes that one watch saw after a revision, over all reconnections beneath it. */
export interface WatchRecord {
  readonly name: string;
  readonly after: number;
  readonly seen: readonly SeenChange[];
  /** The error with which the watch ended, if it did. Only the history before it applies. */
  readonly error?: Error;
}

/**
 * A read of one key: the store's revision, the key's state, and the writes that were acknowledged before the read
 * began.
 */
export interface ReadRecord {
  readonly key: string;
  readonly revision: number;
  readonly modRevision: number;
  readonly acknowledgedBefore: number;
}

export interface CommitHistory {
  readonly commits: readonly CommitRecord[];
  readonly watches: readonly WatchRecord[];
  readonly reads: readonly ReadRecord[];
  /** All changes, as a new watch from the beginning reports them when everything is over. */
  readonly log: readonly SeenChange[];
  /** Changes up to this revision may lack their previous state in a watch. Default: none. */
  readonly compactedTo?: number;
}

/**
 * Returns the problems of a history; empty when there are none. An acknowledged commit must be in the log at its
 * revision, a refused one must not be, an unknown one may be. Nothing happens twice, and every compare held. Every read
 * shows a state that existed, and not an outdated one. Every watch saw every revision once, in order.
 */
export function problemsOf(history: CommitHistory): string[] {
  return [
    ...problemsOfLog(history),
    ...problemsOfCommits(history),
    ...history.watches.flatMap((watch) => problemsOfWatch(watch, history)),
    ...problemsOfReads(history),
  ];
}

function problemsOfLog({ log, commits }: CommitHistory): string[] {
  const problems: string[] = [];
  const states = new Map<string, number>();
  const known = new Map(commits.map((commit) => [commit.id, commit]));
  const deletes = new Set(commits.filter(({ outcome }) => outcome.type !== 'refused').map(traceOfCommit));
  let last = 0;
  for (const change of log) {
    const { revision, key, type, id, previousRevision } = change;
    if (revision <= last) problems.push(`revision ${revision} after ${last}`);
    last = revision;
    const before = states.get(key) ?? 0;
    if (previousRevision !== before) problems.push(`${text(change)}: the state before was ${before}`);
    states.set(key, type === 'put' ? revision : 0);
    if (type === 'delete') {
      if (!deletes.has(traceOf(type, key, before))) problems.push(`${text(change)}: nobody deleted it`);
      continue;
    }
    const commit = known.get(id ?? '');
    if (commit === undefined || commit.key !== key) problems.push(`${text(change)}: nobody wrote it`);
    else if (commit.expectedRevision !== before) problems.push(`${text(change)}: written over ${before}`);
  }
  return problems;
}

function problemsOfCommits({ log, commits }: CommitHistory): string[] {
  const traces = new Map<string, number[]>();
  for (const change of log) {
    const name = traceOf(change.type, change.key, change.type === 'put' ? change.id : change.previousRevision);
    traces.set(name, [...(traces.get(name) ?? []), change.revision]);
  }
  const notRefused = new Set(commits.filter(({ outcome }) => outcome.type !== 'refused').map(traceOfCommit));
  return commits.flatMap((commit) => {
    const { id, outcome } = commit;
    const trace = traceOfCommit(commit);
    const revisions = traces.get(trace) ?? [];
    if (revisions.length > 1) return [`${id} happened at ${revisions.join(' and ')}`];
    if (outcome.type === 'acknowledged' && revisions[0] !== outcome.revision) {
      return [`${id} was acknowledged at ${outcome.revision} and is at ${revisions[0] ?? 'no revision'}`];
    }
    // When two deletes of one state were sent, the other one may have succeeded.
    if (outcome.type === 'refused' && revisions.length > 0 && !notRefused.has(trace))
      return [`${id} was refused and happened`];
    return [];
  });
}

/** Identifies a commit: a put by its value, a delete by the state that it ended. */
function traceOfCommit({ type, key, id, expectedRevision }: CommitRecord): string {
  return traceOf(type, key, type === 'put' ? id : expectedRevision);
}

function traceOf(type: 'put' | 'delete', key: string, mark: string | number | undefined): string {
  return `${type} ${key} ${mark}`;
}

function problemsOfWatch({ name, after, seen, error }: WatchRecord, { log, compactedTo = 0 }: CommitHistory): string[] {
  const isTold = (change: SeenChange, told: SeenChange | undefined): boolean => {
    if (change.revision > compactedTo || told?.previousRevision !== undefined) return text(change) === text(told);
    const { previousRevision: _forgotten, ...rest } = change;
    return text(rest) === text(told);
  };
  const due = log.filter(({ revision }) => revision > after);
  const expected = error === undefined ? due : due.slice(0, seen.length);
  const first = expected.findIndex((change, index) => !isTold(change, seen[index]));
  if (first >= 0) return [`${name}: expected ${text(expected[first])}, saw ${text(seen[first])}`];
  return seen.length > expected.length ? [`${name}: saw ${text(seen[expected.length])} beyond the log`] : [];
}

function problemsOfReads({ log, reads }: CommitHistory): string[] {
  const lives = new Map<string, SeenChange[]>();
  for (const change of log) lives.set(change.key, [...(lives.get(change.key) ?? []), change]);
  return reads.flatMap(({ key, revision, modRevision, acknowledgedBefore }) => {
    if (revision < acknowledgedBefore)
      return [`a read of ${key} at ${revision} after ${acknowledgedBefore} was acknowledged`];
    const last = lives.get(key)?.findLast((change) => change.revision <= revision);
    const was = last?.type === 'put' ? last.revision : 0;
    return was === modRevision ? [] : [`a read of ${key} at ${revision} saw ${modRevision}, not ${was}`];
  });
}

function text(change: SeenChange | undefined): string {
  if (change === undefined) return 'nothing';
  const { revision, type, key, id = '', previousRevision = 'what is forgotten' } = change;
  return `${type} ${key} ${id} at ${revision} over ${previousRevision}`;
}
