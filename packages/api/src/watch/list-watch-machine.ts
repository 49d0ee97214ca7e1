// The only logic for list, watch, resume, relist and backoff, as a pure function: (state, input, moment) → state and
// effects. It knows no objects, no requests and no clock. Its drivers are informers/reflector over a ListerWatcher and
// cacher/feed over a Storage. Source: client-go tools/cache/reflector.go (ListAndWatchWithContext).

import { isBadRequest } from '../errors/status-error.ts';
import { type Moment, startBackoff, stepBackoff } from '../time/backoff.ts';
import type { ListWatchFailure, ListWatchFailureKind } from './list-watch-failure.ts';
import { type ListWatchOptions, resolveListWatchOptions } from './list-watch-options.ts';
import type {
  ListProgress,
  ListWatchEffect,
  ListWatchInput,
  ListWatchPhase,
  ListWatchState,
  ListWatchStep,
  ListWatchMemory as Memory,
  WatchStream as Stream,
} from './list-watch-state.ts';

type StreamState = Extract<ListWatchState, { stream: Stream }>;
type ListState = Extract<ListWatchState, { list: ListProgress }>;
type WaitState = Extract<ListWatchState, { phase: 'waiting' }>;
const noEffects: readonly ListWatchEffect[] = [];
const defaultPageSize = 500;
const veryShortMs = 1000;
const internalErrorResetMs = 60_000;
const downKinds: ReadonlySet<ListWatchFailureKind> = new Set(['broken', 'unreachable', 'overloaded']);

/** Returns the first state, which needs the input `start`. Throws TypeError on bad options. */
export function createListWatchState(options: ListWatchOptions, nowMs: number): ListWatchState {
  const resolved = resolveListWatchOptions(options);
  const backoff = startBackoff(resolved.backoff, nowMs);
  const memory: Memory = {
    options: resolved,
    isVersionUnavailable: false,
    isPaginated: false,
    backoff,
    isUnanswered: false,
    wakes: 0,
    isWatchRefused: false,
    internalErrors: undefined,
    health: 'syncing',
  };
  return { phase: 'idle', memory, resourceVersion: '' };
}

export function stepListWatch(state: ListWatchState, input: ListWatchInput, moment: Moment): ListWatchStep {
  if (input.type === 'close' && state.phase !== 'closed') return close(state);
  switch (state.phase) {
    case 'watching':
    case 'streaming':
      return stepStream(state, input, moment);
    case 'listing':
      return stepList(state, input, moment);
    case 'waiting':
      return stepWait(state, input, moment);
    case 'idle':
      return input.type === 'start' ? begin(state, moment) : unchanged(state);
    case 'closed':
      return unchanged(state);
  }
}

function stepStream(state: StreamState, input: ListWatchInput, moment: Moment): ListWatchStep {
  switch (input.type) {
    case 'event':
      return advance(state, input, moment);
    case 'bookmark':
      return onBookmark(state, input, moment);
    case 'opened':
      return onOpened(state, moment);
    case 'ended':
      return onEnded(state, moment);
    case 'watchFailed':
      return onStreamFailed(state, input.failure, moment);
    case 'watchdog':
      return onWatchdog(state, moment);
    default:
      return unchanged(state);
  }
}

function stepList(state: ListState, input: ListWatchInput, moment: Moment): ListWatchStep {
  if (input.type === 'listed') return onListed(state, input, moment);
  return input.type === 'listFailed' ? onListFailed(state, input.failure, moment) : unchanged(state);
}

function stepWait(state: WaitState, input: ListWatchInput, moment: Moment): ListWatchStep {
  if (input.type === 'waited') return onWaited(state, moment);
  return input.type === 'reachable' ? onReachable(state, moment) : unchanged(state);
}

function close({ memory, resourceVersion }: ListWatchState): ListWatchStep {
  return { state: { phase: 'closed', memory, resourceVersion }, effects: [{ type: 'stop' }] };
}

const unchanged = (state: ListWatchState): ListWatchStep => ({ state, effects: noEffects });

/** Starts a round with the present state: as a stream if that is enabled, otherwise as a list. */
function begin(state: ListWatchState, moment: Moment): ListWatchStep {
  return state.memory.options.useWatchList ? openStream(state, 'streaming', moment) : beginList(state);
}

// ---- Lists ----

function beginList({ memory, resourceVersion: last }: ListWatchState): ListWatchStep {
  const resourceVersion = memory.isVersionUnavailable ? '' : last === '' ? '0' : last;
  return firstPage(
    { memory, resourceVersion: last },
    { resourceVersion, limit: pageLimit(memory, resourceVersion), isRetry: false, isFull: false },
  );
}

/** A list at a definite version has no limit, because the source can answer it from its cache only without one. */
function pageLimit({ options, isPaginated }: Memory, resourceVersion: string): number {
  if (options.pageSize !== 0) return options.pageSize;
  if (isPaginated || resourceVersion === '' || resourceVersion === '0') return defaultPageSize;
  return 0;
}

function firstPage(
  { memory, resourceVersion }: Pick<ListWatchState, 'memory' | 'resourceVersion'>,
  ask: Pick<ListProgress, 'resourceVersion' | 'limit' | 'isRetry' | 'isFull'>,
): ListWatchStep {
  const limit = ask.isFull ? 0 : ask.limit;
  return {
    state: { phase: 'listing', memory, resourceVersion, list: { ...ask, firstVersion: undefined, pages: 0 } },
    effects: [{ type: 'list', resourceVersion: ask.resourceVersion, limit }],
  };
}

function onListed(state: ListState, input: Extract<ListWatchInput, { type: 'listed' }>, moment: Moment): ListWatchStep {
  const list = {
    ...state.list,
    pages: state.list.pages + 1,
    firstVersion: state.list.firstVersion ?? input.resourceVersion,
  };
  const answered = afterAnswer(state.memory, moment);
  if (input.continue !== undefined && input.continue !== '') {
    // A token contains its version, so sending a version with it is an error.
    return {
      state: { ...state, memory: answered, list },
      effects: [{ type: 'list', resourceVersion: '', limit: list.limit, continue: input.continue }],
    };
  }
  const wasPaged = list.pages > 1 || list.isFull;
  const memory = {
    ...answered,
    isVersionUnavailable: false,
    internalErrors: undefined,
    isPaginated: state.memory.isPaginated || (wasPaged && list.resourceVersion === '0'),
  };
  const replace: ListWatchEffect = { type: 'replace', resourceVersion: list.firstVersion };
  // Without a watch, a list is out of date as soon as it arrives.
  const live = withHealth(memory, memory.isWatchRefused ? memory.health : 'live');
  const watch = openStream(
    { phase: 'idle', memory: live.memory, resourceVersion: list.firstVersion },
    'watching',
    moment,
  );
  return { state: watch.state, effects: [replace, ...live.effects, ...watch.effects] };
}

function onListFailed(state: ListState, failure: ListWatchFailure, moment: Moment): ListWatchStep {
  const { list, memory } = state;
  if (failure.kind === 'expired' && list.pages > 0 && !list.isFull) {
    return firstPage(state, { ...list, isFull: true });
  }
  if (isVersionTrouble(failure) && !list.isRetry) {
    const flagged = { memory: { ...memory, isVersionUnavailable: true }, resourceVersion: state.resourceVersion };
    return firstPage(flagged, { resourceVersion: '', limit: list.limit, isRetry: true, isFull: false });
  }
  return waitFor(state, { next: 'relist', failure, health: healthAfter(failure) }, moment);
}

const isVersionTrouble = ({ kind }: ListWatchFailure): boolean => kind === 'expired' || kind === 'tooLargeVersion';
const healthAfter = ({ kind }: ListWatchFailure): ListWatchPhase => (kind === 'refused' ? 'failed' : 'retrying');

// ---- Streams: the initial state with sendInitialEvents, and the watch proper ----

/**
 * Records that the source answers. If it did not before, pauses start again at the shortest, so trouble during its
 * start costs little.
 */
function afterAnswer(memory: Memory, { nowMs }: Moment): Memory {
  if (!memory.isUnanswered) return memory;
  return { ...memory, isUnanswered: false, wakes: 0, backoff: startBackoff(memory.options.backoff, nowMs) };
}

const afterOpening = (memory: Memory, moment: Moment): Memory =>
  memory.isWatchRefused ? { ...afterAnswer(memory, moment), isWatchRefused: false } : afterAnswer(memory, moment);

function openStream(state: ListWatchState, phase: 'streaming' | 'watching', moment: Moment): ListWatchStep {
  const { memory, resourceVersion: last } = state;
  const { minWatchTimeoutMs, idleTimeoutMs } = memory.options;
  const resourceVersion = phase === 'streaming' && memory.isVersionUnavailable ? '' : last;
  const stream: Stream = {
    openedAtMs: moment.nowMs,
    lastEventAtMs: moment.nowMs,
    events: 0,
    isOpen: false,
    isSynthetic: resourceVersion === '' || resourceVersion === '0',
  };
  // The timeout is random, between the shortest time and twice that, so that many watchers do not reconnect at the same
  // moment. It is in whole seconds.
  const timeoutMs = Math.floor((minWatchTimeoutMs * (1 + moment.random)) / 1000) * 1000;
  const watch: ListWatchEffect = {
    type: 'watch',
    resourceVersion,
    timeoutMs,
    sendInitialEvents: phase === 'streaming',
  };
  return {
    state: { phase, memory, resourceVersion: last, stream },
    effects: idleTimeoutMs === 0 ? [watch] : [watch, { type: 'watchdog', delayMs: idleTimeoutMs }],
  };
}

function onBookmark(
  state: StreamState,
  input: Extract<ListWatchInput, { type: 'bookmark' }>,
  moment: Moment,
): ListWatchStep {
  const { resourceVersion } = input;
  if (state.phase === 'watching' || !input.initialEventsEnd)
    return advance(state, { resourceVersion, isAdded: false }, moment);
  const memory = { ...afterOpening(state.memory, moment), isVersionUnavailable: false, internalErrors: undefined };
  const live = withHealth(memory, 'live');
  const stream = {
    ...state.stream,
    isOpen: true,
    isSynthetic: false,
    events: state.stream.events + 1,
    lastEventAtMs: moment.nowMs,
  };
  return {
    state: { phase: 'watching', memory: live.memory, resourceVersion, stream },
    effects: [{ type: 'replace', resourceVersion }, ...live.effects],
  };
}

/** The hot path: no effect and one new state. While streaming, no version counts before the end marker. */
function advance(
  { phase, memory, resourceVersion, stream }: StreamState,
  event: { readonly resourceVersion: string; readonly isAdded: boolean },
  moment: Moment,
): ListWatchStep {
  const isSynthetic = stream.isSynthetic && event.isAdded;
  const next: Stream = {
    openedAtMs: stream.openedAtMs,
    lastEventAtMs: moment.nowMs,
    events: stream.events + 1,
    isOpen: true,
    isSynthetic,
  };
  const version =
    isSynthetic || phase === 'streaming' || event.resourceVersion === '' ? resourceVersion : event.resourceVersion;
  if (stream.isOpen) return { state: { phase, memory, resourceVersion: version, stream: next }, effects: noEffects };
  const opened = afterOpening(memory, moment);
  const live = phase === 'streaming' ? { memory: opened, effects: noEffects } : withHealth(opened, 'live');
  return { state: { phase, memory: live.memory, resourceVersion: version, stream: next }, effects: live.effects };
}

/** An open watch makes the known state current; a stream of the initial state has yet to. */
function onOpened(state: StreamState, moment: Moment): ListWatchStep {
  const stream = { ...state.stream, isOpen: true };
  const memory = afterOpening(state.memory, moment);
  if (state.phase === 'streaming') return { state: { ...state, memory, stream }, effects: noEffects };
  const live = withHealth(memory, 'live');
  return { state: { ...state, memory: live.memory, stream }, effects: live.effects };
}

const isVeryShort = ({ stream }: StreamState, { nowMs }: Moment): boolean =>
  nowMs - stream.openedAtMs < veryShortMs && stream.events === 0;

function onEnded(state: StreamState, moment: Moment): ListWatchStep {
  if (!isVeryShort(state, moment)) return openStream(state, state.phase, moment);
  const error = new Error(
    'very short watch: Unexpected watch close - watch lasted less than a second and no items received',
  );
  return onStreamFailed(state, { kind: 'other', error }, moment);
}

/** The watch ended unintentionally. Source: apimachinery StreamWatcher.receive, which closes without an error. */
function onBroken(state: StreamState, { error }: ListWatchFailure, moment: Moment): ListWatchStep {
  if (isVeryShort(state, moment)) return onStreamFailed(state, { kind: 'other', error }, moment);
  if (state.phase === 'streaming') return openStream(state, 'streaming', moment);
  const { state: next, effects } = openStream(
    { ...state, memory: { ...state.memory, health: 'stale' } },
    'watching',
    moment,
  );
  return { state: next, effects: [{ type: 'status', phase: 'stale', error }, ...effects] };
}

function onStreamFailed(given: StreamState, failure: ListWatchFailure, moment: Moment): ListWatchStep {
  const state = { ...given, memory: afterStream(given, failure, moment) };
  if (failure.kind === 'broken' && state.stream.isOpen) return onBroken(state, failure, moment);
  const isDown = downKinds.has(failure.kind);
  if (state.phase === 'streaming') {
    if (isDown) return waitFor(state, { next: 'relist', failure, health: 'retrying' }, moment);
    if (!isVersionTrouble(failure) || state.memory.isVersionUnavailable) return beginList(state);
    return openStream({ ...state, memory: { ...state.memory, isVersionUnavailable: true } }, 'streaming', moment);
  }
  if (isDown) return waitFor(state, { next: 'watch', failure, health: 'retrying' }, moment);
  if (failure.kind === 'internal' && state.stream.isOpen) return onInternalError(state, failure, moment);
  const health = failure.kind === 'expired' ? 'stale' : healthAfter(failure);
  return waitFor(state, { next: 'relist', failure, health }, moment);
}

/**
 * A watch that lived as long as the longest pause has already spaced out the attempts, so the next pause is the
 * shortest. client-go resets its pauses only every two minutes.
 */
function afterStream({ phase, memory, stream }: StreamState, failure: ListWatchFailure, { nowMs }: Moment): Memory {
  const { backoff } = memory.options;
  if (!stream.isOpen) {
    // A 400 to an initial stream concerns its parameters, which a plain watch does not use.
    const isRefused = failure.kind === 'refused' && (phase === 'watching' || !isBadRequest(failure.error));
    return isRefused ? { ...memory, isWatchRefused: true } : memory;
  }
  return nowMs - stream.openedAtMs < backoff.maxMs ? memory : { ...memory, backoff: startBackoff(backoff, nowMs) };
}

/** Each new state begins a new window. Source: client-go RetryWithDeadline. */
function onInternalError(state: StreamState, failure: ListWatchFailure, moment: Moment): ListWatchStep {
  const { options, internalErrors: before } = state.memory;
  const { nowMs } = moment;
  const firstMs = before === undefined || nowMs - before.lastMs >= internalErrorResetMs ? nowMs : before.firstMs;
  if (options.internalErrorRetryMs > 0 && nowMs - firstMs <= options.internalErrorRetryMs) {
    const memory = { ...state.memory, internalErrors: { firstMs, lastMs: nowMs } };
    return openStream({ ...state, memory }, 'watching', moment);
  }
  return waitFor(state, { next: 'relist', failure, health: 'retrying' }, moment);
}

/** A silent watch may be a dead connection, so it is replaced from the last version, without a list. */
function onWatchdog(state: StreamState, moment: Moment): ListWatchStep {
  const remainingMs = state.stream.lastEventAtMs + state.memory.options.idleTimeoutMs - moment.nowMs;
  if (remainingMs > 0) return { state, effects: [{ type: 'watchdog', delayMs: remainingMs }] };
  const stale =
    state.phase === 'watching' ? withHealth(state.memory, 'stale') : { memory: state.memory, effects: noEffects };
  const reopened = openStream({ ...state, memory: stale.memory }, state.phase, moment);
  return { state: reopened.state, effects: [{ type: 'closeWatch' }, ...stale.effects, ...reopened.effects] };
}

// ---- Waiting and health ----

function waitFor(
  state: ListWatchState,
  {
    next,
    failure,
    health,
  }: { readonly next: 'relist' | 'watch'; readonly failure: ListWatchFailure; readonly health: ListWatchPhase },
  moment: Moment,
): ListWatchStep {
  const { isUnanswered = false, error } = failure;
  const answered = isUnanswered ? state.memory : afterAnswer(state.memory, moment);
  const { delayMs, state: backoff } = stepBackoff(answered.options.backoff, answered.backoff, moment);
  const memory = { ...answered, isUnanswered, backoff, health };
  const untilMs = moment.nowMs + delayMs;
  return {
    state: { phase: 'waiting', next, memory, resourceVersion: state.resourceVersion, untilMs },
    effects: [
      { type: 'status', phase: health, error },
      isUnanswered ? { type: 'wait', delayMs, untilReachable: true } : { type: 'wait', delayMs },
    ],
  };
}

/**
 * Ends a pause soon, but not at once, because all sources of one client get this signal. The wait grows with each
 * failure, because a source may keep failing this request while it answers others.
 */
function onReachable(state: WaitState, { nowMs, random }: Moment): ListWatchStep {
  const { memory, untilMs } = state;
  if (!memory.isUnanswered) return unchanged(state);
  const { initialMs, maxMs, factor } = memory.options.backoff;
  const longestMs = Math.min(initialMs * factor ** memory.wakes, maxMs);
  const delayMs = Math.max(0, Math.min(untilMs - nowMs, longestMs * random));
  const woken = { ...memory, wakes: memory.wakes + 1 };
  return { state: { ...state, memory: woken, untilMs: nowMs + delayMs }, effects: [{ type: 'wait', delayMs }] };
}

function onWaited(state: WaitState, moment: Moment): ListWatchStep {
  return state.next === 'watch' ? openStream(state, 'watching', moment) : begin(state, moment);
}

function withHealth(
  memory: Memory,
  health: ListWatchPhase,
): { readonly memory: Memory; readonly effects: readonly ListWatchEffect[] } {
  if (memory.health === health) return { memory, effects: noEffects };
  return { memory: { ...memory, health }, effects: [{ type: 'status', phase: health }] };
}
